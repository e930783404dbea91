"""What pages, API and shell read of runs over a whole core: their parts, and what came of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from inference.core.protocols import Json
from inference.features.learning.know.request import STAGES
from inference.models import Run


@dataclass(frozen=True)
class PartOutcome:
    """A part: its run, None before its turn; what it `made`, "" so far; why it failed, and what is `kept`."""

    name: str
    label: str
    run: Run | None
    made: str
    url: str
    error: str
    kept: tuple[str, ...]

    def as_json(self) -> Json:
        return {
            "stage": self.name,
            "label": self.label,
            "run": None if self.run is None else self.run.pk,
            "state": "" if self.run is None else str(self.run.state),
            "made": self.made or None,
            "url": self.url,
            "error": self.error,
            "kept": list(self.kept),
        }


def parts_of(run: Run) -> dict[str, Run]:
    """{name of a stage: the run that does it}, of those whose turn has come."""
    parts = list(run.parts.order_by("pk"))
    found = ((stage.name, next(filter(stage.is_done_by, parts), None)) for stage in STAGES)
    return {name: part for name, part in found if part is not None}


def part_outcomes(run: Run, refused: Mapping[str, str] | None = None) -> list[PartOutcome]:
    """All stages in their order. `refused`: {stage: why it could not even be submitted}."""
    parts = parts_of(run)
    return [
        _outcome(stage.name, stage.label, parts.get(stage.name), (refused or {}).get(stage.name, ""))
        for stage in STAGES
    ]


def _outcome(name: str, label: str, part: Run | None, refused: str) -> PartOutcome:
    if part is None:
        return PartOutcome(name, label, None, "", "", refused, ())
    ended_badly = part.state in (Run.State.FAILED, Run.State.CANCELLED)
    error = (part.error or part.get_state_display()) if ended_badly else ""
    kept = tuple(part.experiment_sets.order_by("pk").values_list("name", flat=True)) if ended_badly else ()
    made = part.result if part.state == Run.State.DONE else {}
    return PartOutcome(name, label, part, made.get("name", ""), made.get("url", ""), error, kept)
