"""Parts of a profile and their outcomes, for pages, API and shell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from inference.core.protocols import Json
from inference.features.learning.know.request import STAGES, KnowConfig, KnowStage
from inference.models import Machine, Run
from inference.runs.estimates import completed
from inference.runs.kinds import PlannedPart


@dataclass(frozen=True)
class PartOutcome:
    """A part of a profile.

    `run` is None before its turn; that of an earlier profile where its result `is_reused`. `result_name` is
    that of its result, "" without one; `error` why it failed; `set_names` the names of the experiment sets of
    a failed part.
    """

    name: str
    label: str
    run: Run | None
    result_name: str
    url: str
    error: str
    set_names: tuple[str, ...]
    is_reused: bool = False

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
            "reused": self.is_reused,
        }


def parts_of(run: Run) -> dict[str, Run]:
    """{stage: its run}, for the stages that have started; earlier runs take the place of reused stages."""
    parts = list(run.parts.order_by("pk"))
    places = _reused_runs(run.config)
    candidates = (
        (stage.name, places.get(stage.name) or next(filter(stage.is_done_by, parts), None))
        for stage in STAGES
    )
    return {name: part for name, part in candidates if part is not None}


def _reused_runs(config: Json) -> dict[str, Run]:
    """{stage: earlier run that takes its place}, without deleted ones."""
    ids = config.get("reused", {})
    rows = Run.objects.filter(state=Run.State.DONE).in_bulk(ids.values()) if ids else {}
    return {stage: rows[pk] for stage, pk in ids.items() if pk in rows}


def planned_parts(config: Json, run: Run | None) -> list[PlannedPart]:
    """The parts of a profile with this description; [] where its machine is deleted."""
    profile = KnowConfig.from_stored(config)
    machine = Machine.objects.select_related("isa").filter(pk=profile.machine).first()
    if machine is None:
        return []
    begun = _reused_runs(config) if run is None or run._state.adding else parts_of(run)
    return [
        PlannedPart(
            stage.label,
            stage.kind,
            complete_config(machine, profile, stage),
            60 * profile.minutes * stage.ends_by,
            begun.get(stage.name),
            stage.name in profile.reused and stage.name in begun,
        )
        for stage in STAGES
    ]


def complete_config(machine: Machine, profile: KnowConfig, stage: KnowStage) -> Json:
    """The description of a stage's run, completed with defaults unless something prevents that run."""
    config = stage.config_of(machine, profile)
    return config if stage.completes else completed(stage.kind, config)


def part_outcomes(run: Run, refused: Mapping[str, str] | None = None) -> list[PartOutcome]:
    """The outcomes of all stages in order. `refused`: {stage: why it could not start}."""
    parts = parts_of(run)
    return [
        replace(
            _outcome(stage.name, stage.label, part, (refused or {}).get(stage.name, "")),
            is_reused=part is not None and part.part_of_id != run.pk,
        )
        for stage, part in ((stage, parts.get(stage.name)) for stage in STAGES)
    ]


def _outcome(name: str, label: str, part: Run | None, refused: str) -> PartOutcome:
    if part is None:
        return PartOutcome(name, label, None, "", "", refused, ())
    ended_badly = part.state in (Run.State.FAILED, Run.State.CANCELLED)
    error = (part.error or part.get_state_display()) if ended_badly else ""
    sets = tuple(part.experiment_sets.order_by("pk").values_list("name", flat=True)) if ended_badly else ()
    result = part.result if part.state == Run.State.DONE else {}
    return PartOutcome(name, label, part, result.get("name", ""), result.get("url", ""), error, sets)
