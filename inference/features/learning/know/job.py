"""Runs of kind `know`: profiles of a core, which execute other runs as their parts and summarise the
outcomes.
"""

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
from inference.features.learning.know.reusing import reusable_runs
from inference.features.learning.know.selecting import choose_mapping
from inference.models import LatencySet, Machine, MeasuredFrontEnd, Run, StoredCoreModel
from inference.runs import lifecycle
from inference.runs.child import RunProcesses
from inference.runs.errors import ConfigError, DuplicateRunNameError, JobError
from inference.runs.kinds import Job, Store, Task
from inference.runs.parts import Parts
from inference.runs.request import needed_row
from inference.storage.core_models import store_run_core_model
from inference.storage.names import processor_name, result_name

CORE_MODEL = "core model"
"""Method of a profile's default name, which its core model gets too."""

ModelRow = TypeVar("ModelRow", bound=Model)


class KnowJob(Job):
    """See `KnowConfig`. After an interruption, finished parts are not repeated.

    Parts whose result is there already are reused, see `reusable_runs`.
    """

    def check(self, config: Json) -> Json:
        complete = read_config(config)
        machine = Machine.objects.select_related("isa").get(pk=complete.machine)
        return complete.model_copy(update={"reused": reusable_runs(machine, complete)}).as_json()

    def default_name(self, config: Json) -> str:
        return result_name(processor_name(config["machine"]), CORE_MODEL)

    def work(self, task: Task) -> Store:
        """Executes all parts; a failed part does not prevent the others."""
        config = KnowConfig.from_stored(task.run.config)
        machine = needed_row(Machine.objects.select_related("isa"), config.machine)
        with RunProcesses() as processes:
            refused, stopped = _run_parts(task, machine, config, Parts(task, processes))
        outcomes = part_outcomes(task.run, refused)
        if not any(outcome.result_name for outcome in outcomes):
            if stopped:
                raise InterruptedRunError(KEEP)
            raise JobError("; ".join(f"{outcome.label}: {outcome.error}" for outcome in outcomes))
        return partial(_store, task.run, outcomes)


def _run_parts(task: Task, machine: Machine, config: KnowConfig, parts: Parts) -> tuple[dict[str, str], bool]:
    """({stage: why it could not start}, whether the user stopped the run before its last part)."""
    refused: dict[str, str] = {}
    labels = [stage.label for stage in STAGES]
    stopped = False
    for index, stage in enumerate(STAGES, start=1):
        if stopped:
            refused[stage.name] = "stopped before its turn"
            continue
        task.reporter.emit(PhaseStarted(stage.name, index, labels))
        part = parts_of(task.run).get(stage.name)
        if part is not None and part.part_of_id != task.run.pk:
            text = f"{stage.label}: reused from {part.name}, measured {part.finished:%Y-%m-%d %H:%M} UTC"
            task.reporter.emit(Log("info", text))
            _update_core_model(task.run, machine)
            continue
        try:
            submitted = partial(_submit, task.run, machine, config, stage)
            part, stopped = _run_part(task, stage, parts, submitted, 60 * config.minutes * stage.ends_by)
        except (ConfigError, DuplicateRunNameError) as error:
            refused[stage.name] = str(error)
            _warn(task, f"{stage.label}: {error}")
            continue
        if part is not None and part.state != Run.State.DONE:
            _warn(task, f"{stage.label}: {part.error or part.get_state_display()}")
        _update_core_model(task.run, machine)
    return refused, stopped


def _run_part(
    task: Task, stage: KnowStage, parts: Parts, submitted: Callable[[], Run], ends_by: float
) -> tuple[Run | None, bool]:
    """The ended part of this stage, and whether the user stopped the run.

    Args:
        ends_by: Seconds of work of all parts together after which the part must end.
    """
    parts_by_stage = parts_of(task.run)
    elapsed = sum(
        part.busy_seconds
        for name, part in parts_by_stage.items()
        if name != stage.name and part.part_of_id == task.run.pk
    )
    if stage.name not in parts_by_stage and elapsed >= ends_by:
        raise ConfigError("not started: earlier parts took all the time")
    try:
        task.reporter.pulse()
        return parts.execute(parts_by_stage.get(stage.name), submitted, max(ends_by - elapsed, 0.0)), False
    except InterruptedRunError as error:
        if error.request != KEEP:
            raise
    task.reporter.finish()
    part = parts_of(task.run).get(stage.name)
    return (None if part is None else parts.execute(part, submitted)), True


def _submit(run: Run, machine: Machine, config: KnowConfig, stage: KnowStage) -> Run:
    has_default_name = run.name.startswith(result_name(processor_name(machine), CORE_MODEL))
    name = "" if has_default_name else lifecycle.unused_name(result_name(run.name, stage.label.lower()))
    config_of_part = stage.config_of(machine, config)
    if stage.completes:
        model = StoredCoreModel.objects.filter(run=run).first()
        if model is None:
            raise ConfigError("no earlier part has created a core model")
        config_of_part |= {"core_model": model.pk}
    return lifecycle.submit(stage.kind, config_of_part, name, run.created_by, part_of=run)


def _update_core_model(run: Run, machine: Machine) -> None:
    """Stores the parts' results so far in the core model, which the first result creates."""
    parts = parts_of(run)

    def last(rows: QuerySet[ModelRow], *stages: str) -> ModelRow | None:
        results = (rows.filter(run=parts[stage]).order_by("pk").last() for stage in stages if stage in parts)
        return next((row for row in results if row is not None), None)

    stages = (stage for stage in STAGES if stage.kind == INFER and stage.name in parts)
    choice = choose_mapping(run, machine, [(stage.label, parts[stage.name]) for stage in stages])
    measured = (
        last(LatencySet.objects.all(), "latencies"),
        last(MeasuredFrontEnd.objects.all(), "front_end"),
    )
    with transaction.atomic():
        parts_of_model = (choice.make(), *measured)
        if any(row is not None for row in parts_of_model):
            store_run_core_model(run, machine, *parts_of_model, choice.selection)


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
    completed = sum(bool(outcome.result_name) for outcome in outcomes)
    text = f"{completed} of {len(outcomes)} parts are complete"
    return result, [Log("info", text), ResultStored(result)]


JOBS = {"know": KnowJob}
