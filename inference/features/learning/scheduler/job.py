"""Runs of kind `scheduler`: a few experiments are measured, and simulated under many policies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated

from pydantic import Field

from inference.core.core_model import CoreModel
from inference.core.core_model.scheduler_experiments import (
    GroupedExperiment,
    OperationKind,
    dependent_blocks,
    operation_kinds,
    scheduler_experiments,
    usable_experiments,
)
from inference.core.core_model.scheduler_inference import (
    FEWEST_BLOCKS,
    CoreSchedulerFinding,
    MeasuredBlock,
    MeasuredBody,
    infer_core_scheduler,
)
from inference.core.events import Event, Log, PhaseStarted, Progress, ResultStored
from inference.core.experiment import Experiment, Measured
from inference.core.pacing import PacedReporter
from inference.core.protocols import Json
from inference.features.learning.scheduler.query import summary
from inference.formats.scheduler_json import scheduler_record
from inference.isa.blocks.accesses import access_reader
from inference.isa.bodies import obstacle_to_blocks
from inference.isa.body_options import DEFAULTS, Options
from inference.isa.targets import code_target
from inference.isa.unrolling import CannotMeasureError
from inference.measuring.blocks import LOOP, BlockOptions
from inference.measuring.proxies import CachedMeasurer
from inference.measuring.remote import RemoteMeasurer
from inference.models import ExperimentSet, Machine, StoredCoreModel
from inference.runs.errors import ConfigError, JobError
from inference.runs.kinds import Job, Store, Task
from inference.runs.machines.blocks import measuring_blocks
from inference.runs.machines.facts import read_machine
from inference.runs.machines.measurer import opened, suited_options, within_reach
from inference.runs.measurements import RunMeasurements
from inference.runs.request import DEFAULT_SEED, RunRequest, Seed, needed_row, read_row
from inference.runs.stages import ProgressMeasurer
from inference.storage.core_models import core_model_of
from inference.storage.rows import ids_of_schemes, load_measurements

SECONDS, LEAST_SECONDS, MOST_SECONDS = 60, 5, 3600
_MEASURE, _BLOCKS, _SEARCH = _STAGES = ("Measure mixes", "Measure blocks", "Simulate policies")
_PURPOSE = "scheduler"
_TELL_EVERY = 5.0
_ROUNDS = 3
"""Measurements of each block, whose median counts; the longest says what repeating changes."""


class SchedulerConfig(RunRequest):
    """`core_model`: id of the core model that gets the scheduler. Its experiments are measured on `machine`,
    or read from `experiment_set`; one of the two. `seconds`: after which the search ends with the best policy
    so far. `isa` is that of the core model.
    """

    noun = "a run over a scheduler"
    core_model: int
    machine: int | None = None
    experiment_set: int | None = None
    isa: str = ""
    seconds: Annotated[int, Field(ge=LEAST_SECONDS, le=MOST_SECONDS)] = SECONDS
    seed: Seed = DEFAULT_SEED


def read_config(given: Json) -> SchedulerConfig:
    """Check and complete a description. Raises `ConfigError` naming the field."""
    config = SchedulerConfig.read(given)
    row = read_row(StoredCoreModel, "core_model", config.core_model)
    if obstacle := obstacle_to_blocks(row.name, row.isa.name):
        raise ConfigError(f"core_model: {obstacle}")
    if (config.machine is None) == (config.experiment_set is None):
        raise ConfigError("name either a machine, which measures, or an experiment_set; one of them")
    if config.machine is not None:
        source: Machine | ExperimentSet = read_machine("", config.machine)
    else:
        source = read_row(ExperimentSet, "experiment_set", config.experiment_set)
    if source.isa_id != row.isa_id:
        raise ConfigError(f"{source.name!r} is for {source.isa.name}, the core model for {row.isa.name}")
    return config.model_copy(update={"isa": row.isa.name})


class SchedulerJob(Job):
    """See `SchedulerConfig`. What was measured before an interruption is not measured again."""

    def check(self, config: Json) -> Json:
        return read_config(config).as_json()

    def work(self, task: Task) -> Store:
        """Measure or read experiments, and look for a policy."""
        config = SchedulerConfig.stored(task.run.config)
        row = needed_row(StoredCoreModel.objects.select_related("isa"), config.core_model)
        model = core_model_of(row)
        if model.mapping is None:
            raise JobError("the core model has no ports: infer a port mapping first")
        schemes = [*filter(None, map(code_target(row.isa.name).schemes.scheme_of, model.mapping.usage))]
        kinds = operation_kinds(model, schemes)
        source, results = _results(task, config, kinds)
        bodies = _bodies(row.isa.name, results, _body_options(task, config))
        blocks, obstacle = _measured_blocks(task, config, model, kinds)
        finding = _inferred(task, config, model, kinds, bodies, blocks)
        record = scheduler_record(finding, model.mapping.ports, source, obstacle)
        return partial(_store, row.pk, record)


Kinds = Mapping[str, OperationKind]
Results = Sequence[tuple[GroupedExperiment, float]]
"""Experiments with their cycles per execution."""


def _results(task: Task, config: SchedulerConfig, kinds: Kinds) -> tuple[str, Results]:
    """What measured, by name, and what came of it."""
    _tell_phase(task, _MEASURE)
    if config.experiment_set is not None:
        found = needed_row(ExperimentSet, config.experiment_set)
        measured = load_measurements(found)
        usable = usable_experiments([one.experiment for one in measured], kinds)
        return found.name, _settled(usable, measured)
    machine = needed_row(Machine.objects.select_related("isa"), config.machine)
    return machine.name, _measured(task, machine, kinds)


def _tell_phase(task: Task, stage: str) -> None:
    index = _STAGES.index(stage) + 1
    task.reporter.emit(PhaseStarted(stage, index, [*_STAGES]))


def _measured(task: Task, machine: Machine, kinds: Kinds) -> Results:
    if not kinds:
        return []

    def log(text: str, level: str) -> None:
        task.reporter.emit(Log(level, text))

    ids = sorted(ids_of_schemes(machine.isa_id, kinds).values())
    with opened(task, machine, ids) as (measurer, schemes):
        able = within_reach(measurer, schemes, log) if isinstance(measurer, RemoteMeasurer) else schemes
        chosen = scheduler_experiments({text: kinds[text] for text in able if text in kinds})
        store = RunMeasurements(task.lease, machine.isa, measurer.identity, _PURPOSE, machine)
        cached = CachedMeasurer(measurer, store)
        told = ProgressMeasurer(cached, task.reporter, _MEASURE, len(chosen))
        return _settled(chosen, told.measure([one.experiment for one in chosen]))


def _settled(chosen: Iterable[GroupedExperiment], measured: Iterable[Measured]) -> Results:
    cycles: dict[Experiment, float] = {}
    for result in measured:
        if result.usable and result.cycles:
            cycles.setdefault(result.experiment, result.cycles)
    return [(one, cycles[one.experiment]) for one in chosen if one.experiment in cycles]


def _measured_blocks(
    task: Task, config: SchedulerConfig, model: CoreModel, kinds: Kinds
) -> tuple[list[MeasuredBlock], str]:
    """Blocks with dependences in loops; without any, why there are none."""
    machine = Machine.objects.filter(pk=config.machine or 0).select_related("isa").first()
    if machine is None:
        return [], "a set has no such code"
    if machine.is_simulated:
        return [], f"{machine.name} is simulated without dependences"
    if not machine.facts.get("blocks"):
        return [], f"the agent of {machine.name} is too old for basic blocks"
    _tell_phase(task, _BLOCKS)
    blocks = dependent_blocks(config.isa, model, kinds, config.seed)
    readings: list[list[float]] = [[] for _ in blocks]
    reporter = PacedReporter(task.reporter)
    done, total = 0, _ROUNDS * len(blocks)
    with measuring_blocks(task, machine, BlockOptions(LOOP)) as (_, measure):
        for repeat in range(_ROUNDS):
            for index, result in measure(blocks, repeat=repeat):
                done += 1
                reporter.pulse()
                if reporter.due("blocks") or done == total:
                    reporter.emit(Progress(_BLOCKS, done, total, 0.0, "blocks", None))
                if result.state == "settled" and result.cycles:
                    readings[index].append(result.cycles)
    repeated = [MeasuredBlock(*pair) for pair in zip(blocks, readings, strict=True) if len(pair[1]) > 1]
    enough = len(repeated) >= FEWEST_BLOCKS
    return repeated, "" if enough else f"{len(repeated)} of {len(blocks)} such blocks settled"


def _body_options(task: Task, config: SchedulerConfig) -> Options:
    """Those that the experiments were measured with."""
    if config.experiment_set is None:
        machine, begun = Machine.objects.filter(pk=config.machine or 0).first(), task.run.created
    else:
        found = ExperimentSet.objects.select_related("machine", "run").get(pk=config.experiment_set)
        machine, begun = found.machine, found.run.created if found.run else found.created
    return DEFAULTS if machine is None else suited_options(machine, begun)


def _bodies(isa: str, results: Results, options: Options) -> list[MeasuredBody]:
    bodies, reader = [], access_reader(isa)
    for one, cycles in results:
        try:
            body = reader.loop_body(one.experiment.terms, options)
        except CannotMeasureError:  # measured elsewhere, with other code
            continue
        bodies.append(MeasuredBody(one.experiment, body.instructions, body.copies, cycles, one.group))
    return bodies


def _inferred(
    task: Task,
    config: SchedulerConfig,
    model: CoreModel,
    kinds: Kinds,
    bodies: Sequence[MeasuredBody],
    blocks: Sequence[MeasuredBlock],
) -> CoreSchedulerFinding:
    _tell_phase(task, _SEARCH)
    reporter = PacedReporter(task.reporter)
    began = reporter.clock()

    def pulse() -> bool:
        reporter.pulse()
        return reporter.clock() - began < config.seconds

    def progress(tried: int, error: float) -> None:
        spent = reporter.clock() - began
        if reporter.due("policies"):
            rate = round(tried / max(spent, 1e-3), 1)
            left = max(config.seconds - spent, 0.0)
            done = min(int(spent), config.seconds)
            reporter.emit(Progress(_SEARCH, done, config.seconds, rate, "policies", left))
        if reporter.due("closest", _TELL_EVERY):
            text = f"{tried} policies simulated; the closest is {error:.1%} off"
            task.reporter.emit(Log("info", text))

    return infer_core_scheduler(model, bodies, kinds, pulse, progress, config.seed, blocks)


def _store(pk: int, record: Json) -> tuple[Json, Sequence[Event]]:
    row = needed_row(StoredCoreModel.objects.select_for_update(), pk)
    row.scheduler = record
    row.save(update_fields=["scheduler"])
    result: Json = {
        "core_model": row.pk,
        "name": row.name,
        "url": f"/core-models/{row.pk}/",  # not looked up: a fault in a page must not cost a result
        **{key: record[key] for key in ("reason", "error", "error_without", "tried", "finished")},
        "found": record["scheduler"] is not None,
        "experiments": len(record["experiments"]),
    }
    return result, [Log("info", summary(record)), ResultStored(result)]
