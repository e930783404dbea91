"""Runs of kind `know`: other runs are done one after another, and what came of each is summed up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from django.db import transaction
from django.db.models import Model, QuerySet

from inference.core.errors import KEEP, InterruptedRunError
from inference.core.events import Event, Log, PhaseStarted, ResultStored
from inference.core.protocols import Json
from inference.features.learning.know.query import PartOutcome, part_outcomes, parts_of
from inference.features.learning.know.request import INFER, STAGES, KnowConfig, KnowStage, read_config
from inference.features.learning.know.selecting import chosen_mapping
from inference.models import LatencySet, Machine, MeasuredFrontEnd, Run, StoredCoreModel
from inference.runs import lifecycle
from inference.runs.child import RunProcesses
from inference.runs.errors import ConfigError, JobError, RunNameTakenError
from inference.runs.kinds import Job, Store, Task
from inference.runs.parts import Parts
from inference.runs.request import needed_row
from inference.storage.core_models import filled_in
from inference.storage.names import NAME_LIMIT

Made = TypeVar("Made", bound=Model)


class KnowJob(Job):
    """See `KnowConfig`. Parts that have ended before an interruption are not done again."""

    def check(self, config: Json) -> Json:
        return read_config(config).as_json()

    def work(self, task: Task) -> Store:
        """Do the parts; one that fails does not keep the others from being done."""
        config = KnowConfig.stored(task.run.config)
        machine = needed_row(Machine.objects.select_related("isa"), config.machine)
        with RunProcesses() as processes:
            refused, stopped = _do_parts(task, machine, config, Parts(task, processes))
        outcomes = part_outcomes(task.run, refused)
        if not any(outcome.made for outcome in outcomes):
            if stopped:
                raise InterruptedRunError(KEEP)
            raise JobError("; ".join(f"{outcome.label}: {outcome.error}" for outcome in outcomes))
        return partial(_store, task.run, outcomes)


def _do_parts(task: Task, machine: Machine, config: KnowConfig, parts: Parts) -> tuple[dict[str, str], bool]:
    """Which parts were refused and why, and whether somebody stopped the run before its last part."""
    refused: dict[str, str] = {}
    labels = [stage.label for stage in STAGES]
    stopped = False
    for index, stage in enumerate(STAGES, start=1):
        if stopped:
            refused[stage.name] = "stopped before its turn"
            continue
        task.reporter.emit(PhaseStarted(stage.name, index, labels))
        try:
            submitted = partial(_submitted, task.run, machine, config, stage)
            part, stopped = _done(task, stage, parts, submitted, 60 * config.minutes * stage.ends_by)
        except (ConfigError, RunNameTakenError) as error:
            refused[stage.name] = str(error)
            _warn(task, f"{stage.label}: {error}")
            continue
        if part is not None and part.state != Run.State.DONE:
            _warn(task, f"{stage.label}: {part.error or part.get_state_display()}")
        _fill_in(task.run, machine)
    return refused, stopped


def _done(
    task: Task, stage: KnowStage, parts: Parts, submitted: Callable[[], Run], ends_by: float
) -> tuple[Run | None, bool]:
    """The part of this stage when it has ended, and whether no other shall begin after it.

    `ends_by`: seconds of all parts together.
    """
    known = parts_of(task.run)
    spent = sum(part.busy_seconds for name, part in known.items() if name != stage.name)
    if stage.name not in known and spent >= ends_by:
        raise ConfigError("not begun: the parts before it took all the time up to its end")
    try:
        task.reporter.pulse()
        return parts.do(known.get(stage.name), submitted, max(ends_by - spent, 0.0)), False
    except InterruptedRunError as error:
        if error.wanted != KEEP:
            raise
    task.reporter.finish()
    part = parts_of(task.run).get(stage.name)
    return (None if part is None else parts.do(part, submitted)), True


def _submitted(run: Run, machine: Machine, config: KnowConfig, stage: KnowStage) -> Run:
    label = f": {stage.label.lower()}"
    name = lifecycle.unused_name(run.name[: NAME_LIMIT - len(label)] + label)
    described = stage.described(machine, config)
    if stage.completes:
        model = StoredCoreModel.objects.filter(run=run).first()
        if model is None:
            raise ConfigError("no part of the core model is there that it could complete")
        described |= {"core_model": model.pk}
    return lifecycle.submit(stage.kind, described, name, run.created_by, part_of=run)


def _fill_in(run: Run, machine: Machine) -> None:
    """Let the core model have what the parts have made so far; it begins with the first of them."""
    parts = parts_of(run)

    def made(rows: QuerySet[Made], *stages: str) -> Made | None:
        found = (rows.filter(run=parts[stage]).order_by("pk").last() for stage in stages if stage in parts)
        return next((row for row in found if row is not None), None)

    stages = (stage for stage in STAGES if stage.kind == INFER and stage.name in parts)
    chosen = chosen_mapping(run, machine, [(stage.label, parts[stage.name]) for stage in stages])
    others = made(LatencySet.objects.all(), "latencies"), made(MeasuredFrontEnd.objects.all(), "front_end")
    with transaction.atomic():
        found = (chosen.make(), *others)
        if any(row is not None for row in found):
            filled_in(run, machine, *found, chosen.selection)


def _warn(task: Task, text: str) -> None:
    task.reporter.emit(Log("warning", text))


def _store(run: Run, outcomes: Sequence[PartOutcome]) -> tuple[Json, Sequence[Event]]:
    model = StoredCoreModel.objects.filter(run=run).first()
    mapping = None if model is None else model.mapping
    result: Json = {
        "name": run.name,
        "core_model": None if model is None else model.pk,
        "mapping": None if mapping is None else mapping.pk,
        "stages": [outcome.as_json() for outcome in outcomes],
    }
    made = sum(bool(outcome.made) for outcome in outcomes)
    text = f"{made} of {len(outcomes)} parts are done"
    return result, [Log("info", text), ResultStored(result)]
