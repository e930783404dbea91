"""Parts of a profile and their outcomes, for pages, API and shell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from inference.core.protocols import Json
from inference.features.learning.know.request import STAGES
from inference.models import Run


@dataclass(frozen=True)
class PartOutcome:
    """A part of a profile.

    `run` is None before its turn. `result_name` is that of its result, "" without one; `error` why it failed;
    `set_names` the names of the experiment sets of a failed part.
    """

    name: str
    label: str
    run: Run | None
    result_name: str
    url: str
    error: str
    set_names: tuple[str, ...]

    def as_json(self) -> Json:
        return {
            "stage": self.name,
            "label": self.label,
            "run": None if self.run is None else self.run.pk,
            "state": "" if self.run is None else str(self.run.state),
            "made": self.result_name or None,
            "url": self.url,
            "error": self.error,
            "kept": list(self.set_names),
        }


def parts_of(run: Run) -> dict[str, Run]:
    """{stage: its run}, for the stages that have started."""
    parts = list(run.parts.order_by("pk"))
    candidates = ((stage.name, next(filter(stage.is_done_by, parts), None)) for stage in STAGES)
    return {name: part for name, part in candidates if part is not None}


def part_outcomes(run: Run, refused: Mapping[str, str] | None = None) -> list[PartOutcome]:
    """The outcomes of all stages in order. `refused`: {stage: why it could not start}."""
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
    sets = tuple(part.experiment_sets.order_by("pk").values_list("name", flat=True)) if ended_badly else ()
    result = part.result if part.state == Run.State.DONE else {}
    return PartOutcome(name, label, part, result.get("name", ""), result.get("url", ""), error, sets)
