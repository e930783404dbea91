"""One package per feature, in rooms: what can be asked, what is read, the run that does it, and its doors.

request.py    what can be asked, as one model for all doors
query.py      what is read: plain values, a bounded number of queries
events.py     what that run tells, one class per kind of event
job.py        the run that does it, if there is one
pages.py, api.py, command.py    thin doors, with the addresses of the pages at the end of their file

What a feature is registered for stands in its `__init__.py`: `KINDS` of runs, their `PRESENTATIONS`,
`RECORDS` folded out of their journals, `ORIGINS` of them; `PANELS` on other pages, `MENUS` of other objects,
`FINDERS` of the search box, what is `PUBLISHED`, `DEPENDENTS` of rows; `IMPORTERS` and `WRITERS` of files of
its own. These functions import the rest when called. Pages, API and events are found by their files' names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
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
from inference.runs import events, kinds
from inference.runs import events as run_events
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
    "KINDS": kinds.register,
    "PRESENTATIONS": kind_presentation.register,
    "PANELS": contributions.PANELS.extend,
    "ORIGINS": contributions.ORIGINS.extend,
    "RECORDS": events.register,
    "MENUS": contributions.MENUS.extend,
    "FINDERS": contributions.FINDERS.extend,
    "DEPENDENTS": contributions.DEPENDENTS.update,
    "BLOCK_NOTES": contributions.BLOCK_NOTES.extend,
    "PUBLISHED": contributions.PUBLISHABLE.extend,
    "IMPORTERS": other_formats.register,
    "WRITERS": other_formats.register_writers,
}
"""What takes each constant of a feature."""


def addresses(features: Iterable[ModuleType]) -> Iterator[Any]:
    """The addresses of all pages of these packages: those in `pages.py` and in files called `…_pages.py`."""
    for feature in features:
        for module in _modules(feature, "pages", "_pages"):
            yield from getattr(module, "urlpatterns", ())


def register(features: Mapping[ModuleType, str]) -> None:
    """Tell engine, pages and API what these packages have, each given with the heading of its operations."""
    for feature in features:
        for name, add in REGISTRIES.items():
            if hasattr(feature, name):
                add(getattr(feature, name))
        journal_events.register(partial(_modules, feature, "events"))
    contributions.ROUTERS.append(partial(_routers, features))


def register_all() -> None:
    journal_events.register(lambda: [run_events])
    register(FEATURES)


def _routers(features: Mapping[ModuleType, str]) -> Iterator[tuple[Router, str]]:
    for feature, heading in features.items():
        for module in _modules(feature, "api"):
            yield module.router, heading


def _modules(feature: ModuleType, name: str, *endings: str) -> Iterator[ModuleType]:
    """The modules of a package that are called so, or whose names end so, imported."""
    for module in iter_modules(feature.__path__):
        if module.name == name or module.name.endswith(endings):
            yield import_module(f"{feature.__name__}.{module.name}")
