"""One package per feature, in rooms: what can be asked, what is read, the run that does it, and its doors.

request.py    what can be asked, as one model for all doors
query.py      what is read: plain values, a bounded number of queries
events.py     what that run tells, one class per kind of event
job.py        the run that does it, if there is one
pages.py, api.py, command.py    thin doors, with the addresses of the pages at the end of their file

What a feature is registered for stands in its `__init__.py`: `KINDS` of runs, `RECORDS` folded out of their
journals, `ORIGINS` of them; `PANELS` on other pages, `MENUS` of other objects, `FINDERS` of the search box,
what is `PUBLISHED`, `DEPENDENTS` of rows; and `OPERATIONS`, the modules of its API with the paths that they
answer below, where these are more than `api.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any

from inference.formats import journal_events
from inference.runs import kinds, record_parts
from inference.web import dependents, finders, menus, origins, panels, publishable
from inference.web.api import registry

FEATURES = {
    "library.schemes": "Instruction sets",
    "library.instruction": "Instruction sets",
    "machines.machines": "Machines",
    "machines.measure": "",
    "library.sets": "Experiment sets",
    "judging.conflicts": "Experiment sets",
    "library.experiments": "Experiments",
    "library.mappings": "Port mappings",
    "judging.comparing": "Port mappings",
    "learning.explained": "Port mappings",
    "judging.doubts": "Port mappings",
    "judging.excess": "Port mappings",
    "judging.congruence": "Port mappings",
    "library.resources": "Resource mappings",
    "judging.evaluations": "Evaluations",
    "learning.latencies": "Latencies",
    "learning.front_end": "Front ends",
    "learning.know": "",
    "learning.core_model": "Core models",
    "learning.scheduler": "Core models",
    "learning.inferring": "Runs",
    "judging.model_check": "Runs",
    "running.runs": "Runs",
    "library.uploads": "Uploads",
    "asking.blocks": "Basic blocks",
    "asking.questions": "Basic blocks",
    "asking.predictors": "Predictors",
    "asking.block_sets": "Basic-block sets",
    "judging.comparisons": "Predictor comparisons",
    "judging.accuracy_checks": "Accuracy checks",
    "judging.llvm_difference": "Port mappings",
    "publishing.exports": "Publishing",
    "publishing.site": "",
    "library.example": "",
    "library.search": "Search",
}
"""Each with the heading of its operations in the reference of the API, whose order this is; "" for none."""

PACKAGES = {f"{__name__}.{name}": heading for name, heading in FEATURES.items()}
"""The same by the names of their packages."""


def addresses(features: Iterable[str]) -> Iterator[Any]:
    """The addresses of all pages of these packages: those in `pages.py` and in files called `…_pages.py`."""
    for feature in features:
        for module in iter_modules(import_module(feature).__path__):
            if module.name == "pages" or module.name.endswith("_pages"):
                yield from getattr(import_module(f"{feature}.{module.name}"), "urlpatterns", ())


def register(features: Mapping[str, str]) -> None:
    """Tell engine, pages and API what these packages have, each given with the heading of its operations."""
    for feature, heading in features.items():
        package = import_module(feature)
        kinds.register(getattr(package, "KINDS", ()))
        panels.register(getattr(package, "PANELS", ()))
        origins.register(getattr(package, "ORIGINS", ()))
        record_parts.register(getattr(package, "RECORDS", {}))
        menus.register(getattr(package, "MENUS", ()))
        finders.register(getattr(package, "FINDERS", ()))
        dependents.register(getattr(package, "DEPENDENTS", {}))
        publishable.register(getattr(package, "PUBLISHED", ()))
        if find_spec(f"{feature}.events") is not None:
            journal_events.register(f"{feature}.events")
        if heading:
            for prefix, module in getattr(package, "OPERATIONS", (("", "api"),)):
                registry.register(prefix, f"{feature}.{module}.router", heading)


def register_all() -> None:
    """Register all features of this app."""
    journal_events.register("inference.runs.events")
    register(PACKAGES)
