"""One package per feature, in rooms: what can be asked, what is read, the run that does it, and its doors.

request.py    what can be asked, as one model for all doors
query.py      what is read: plain values, a bounded number of queries
events.py     what that run tells, one class per kind of event
job.py        the run that does it, if there is one
pages.py, api.py, command.py    thin doors, with the addresses of the pages at the end of their file

`__init__.py` has what every process needs: `KINDS` of runs, `IMPORTERS` and `WRITERS` of files, whose
functions import the rest when called. Pages, API and events are found by their files' names. At the end of
pages or queries stands what the feature adds to pages of others: `PRESENTATIONS` of its runs, `RECORDS`
folded out of their journals, `ORIGINS` of them; `PANELS`, `MENUS` of other objects, `FINDERS` of the search
box, `BLOCK_NOTES`, what is `PUBLISHED`, `DEPENDENTS` of rows.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING, Any

from inference.features.asking import block_files, block_sets, blocks, loop, predictors, questions
from inference.features.judging import (
    accuracy_checks,
    column_accuracy,
    comparing,
    engine,
    evaluations,
    findings,
)
from inference.features.learning import (
    completing,
    core_model,
    explained,
    front_end,
    inferring,
    know,
    latencies,
    scheduler,
)
from inference.features.library import (
    example,
    experiments,
    instruction,
    mappings,
    resources,
    schemes,
    search,
    sets,
    uploads,
)
from inference.features.machines import machines as machine_list
from inference.features.machines import measure
from inference.features.publishing import exports, site
from inference.features.running import runs
from inference.features.running.runs import kind_presentation
from inference.formats import journal_events, other_formats
from inference.runs import events as run_events
from inference.runs import kinds
from inference.web import contributions

if TYPE_CHECKING:
    from ninja import Router

FEATURES = {
    schemes: "Instruction sets",
    instruction: "Instruction sets",
    machine_list: "Machines",
    measure: "",
    sets: "Experiment sets",
    experiments: "Experiments",
    mappings: "Port mappings",
    comparing: "Port mappings",
    explained: "Port mappings",
    findings: "Findings",
    resources: "Resource mappings",
    evaluations: "Evaluations",
    completing: "",
    latencies: "Latencies",
    front_end: "Front ends",
    know: "",
    core_model: "Core models",
    scheduler: "Core models",
    inferring: "Runs",
    runs: "Runs",
    uploads: "Uploads",
    loop: "Basic blocks",
    blocks: "Basic blocks",
    questions: "Basic blocks",
    predictors: "Predictors",
    block_sets: "Basic-block sets",
    column_accuracy: "Basic-block sets",
    block_files: "Basic-block sets",
    engine: "Comparisons",
    accuracy_checks: "Accuracy checks",
    exports: "Publishing",
    site: "",
    example: "",
    search: "Search",
}
"""Each with the heading of its operations in the reference of the API, whose order this is; "" for none."""

REGISTRIES: Mapping[str, Callable[[Any], None]] = {
    "IMPORTERS": other_formats.register,
    "WRITERS": other_formats.register_writers,
}
"""What takes each constant of a feature's `__init__.py`."""


def addresses(features: Iterable[ModuleType]) -> Iterator[Any]:
    """The addresses of all pages of these packages."""
    for feature in features:
        for module in _page_modules(feature):
            yield from getattr(module, "urlpatterns", ())


def register(features: Mapping[ModuleType, str]) -> None:
    """Tell engine, pages and API what these packages have, each given with the heading of its operations."""
    for feature in features:
        for name, add in REGISTRIES.items():
            if hasattr(feature, name):
                add(getattr(feature, name))
        journal_events.register(partial(_modules, feature, "events"))
        page_modules = partial(_page_modules, feature)
        contributions.PAGE_MODULES.append(page_modules)
        run_events.register(page_modules)
        run_kinds = [replace(kind, job=partial(_job, feature, kind.name)) for kind in _kinds(feature)]
        kinds.register(run_kinds)
        kind_presentation.register(run_kinds, page_modules)
    contributions.ROUTERS.append(partial(_routers, features))


def register_all() -> None:
    journal_events.register(lambda: [run_events])
    register(FEATURES)


def _routers(features: Mapping[ModuleType, str]) -> Iterator[tuple[Router, str]]:
    for feature, heading in features.items():
        for module in _modules(feature, "api"):
            yield module.router, heading


def _kinds(feature: ModuleType) -> Sequence[kinds.RunKind]:
    """The kinds of runs that the feature begins; none where it has no `KINDS`."""
    return getattr(feature, "KINDS", ())


def _job(feature: ModuleType, kind: str) -> kinds.Job:
    """The job of a kind of run, from `JOBS` of `job.py` or of a file called `…_job.py` or `…_jobs.py`."""
    modules = _modules(feature, "job", "_job", "_jobs")
    classes: ChainMap[str, type[kinds.Job]] = ChainMap(*(getattr(module, "JOBS", {}) for module in modules))
    return classes[kind]()


def _page_modules(feature: ModuleType) -> Sequence[ModuleType]:
    """`pages.py`, files called `…_pages.py`, and what else may declare contributions to pages of others."""
    return _modules(feature, "pages", "query", "panel", "_pages")


@cache
def _modules(feature: ModuleType, *names: str) -> Sequence[ModuleType]:
    """The modules of a package with such names, or with such endings if these begin with `_`, imported."""
    endings = tuple(name for name in names if name.startswith("_"))
    matching = (
        module.name
        for module in iter_modules(feature.__path__)
        if module.name in names or module.name.endswith(endings)
    )
    return [import_module(f"{feature.__name__}.{name}") for name in matching]
