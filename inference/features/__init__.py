"""One package per feature: what can be asked, what is read, the run that does it, page, API and shell.

request.py    what can be asked, as one model for all doors
query.py      what is read: plain values, a bounded number of queries
events.py     what that run tells, one class per kind of event
job.py        the run that does it, if there is one; `KINDS` in `__init__.py` says what runs of it are
pages.py, api.py, command.py    thin doors, with the addresses of the pages at the end of their file
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from inference.formats import journal_events
from inference.runs import kinds
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
    "publishing.exports": "Publishing",
    "publishing.site": "",
    "library.example": "",
    "library.search": "Search",
}
"""Each with the heading of its operations in the reference of the API, whose order this is; "" for none."""


def modules(name: str) -> list[ModuleType]:
    """The modules of this name of those features that have one, imported."""
    paths = (f"{__name__}.{feature}.{name}" for feature in FEATURES)
    return [import_module(path) for path in paths if find_spec(path) is not None]


def register_events(feature: str) -> None:
    """Those that a feature has in its `events.py`."""
    if find_spec(f"{feature}.events") is not None:
        journal_events.register(f"{feature}.events")


def register_all() -> None:
    """Tell the engine which kinds of runs and of events there are, and the API which operations."""
    journal_events.register("inference.runs.events")
    for feature, heading in FEATURES.items():
        kinds.register(getattr(import_module(f"{__name__}.{feature}"), "KINDS", ()))
        register_events(f"{__name__}.{feature}")
        if heading:
            registry.register("", f"{__name__}.{feature}.api.router", heading, place=0)
