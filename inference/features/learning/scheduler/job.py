"""Runs of kind `scheduler`: measure experiments, and simulate them under many policies."""

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
    MIN_BLOCKS,
    CoreSchedulerFinding,
    MeasuredBlock,
    MeasuredBody,
    infer_core_scheduler,
)
from inference.core.core_model.simulated_program import dispatch_width
from inference.core.core_model.slot_counting import (
    counted_slots,
    filler_experiments,
    quickest_filler,
    slot_experiments,
)
from inference.core.events import Event, Log, PhaseStarted, Progress, ResultStored
from inference.core.experiment import Experiment, Measured
from inference.core.pacing import PacedReporter
from inference.core.protocols import Json, Measurer
from inference.features.learning.scheduler.query import summary
from inference.formats.scheduler_json import scheduler_record
from inference.isa.blocks import access_reader
from inference.isa.bodies import obstacle_to_blocks
from inference.isa.machine_bodies import DEFAULTS, CannotMeasureError, Options
from inference.isa.targets import code_target
from inference.measuring.blocks import LOOP, BlockOptions
from inference.measuring.proxies import StoreBackedMeasurer
from inference.measuring.remote import RemoteMeasurer
from inference.models import ExperimentSet, Machine, StoredCoreModel
from inference.runs.errors import ConfigError, JobError
from inference.runs.kinds import Job, Store, Task
from inference.runs.machines.blocks import open_block_measurer
from inference.runs.machines.facts import read_machine
from inference.runs.machines.measurer import measurable_schemes, open_measurer, options_for
from inference.runs.measurements import RunMeasurements
from inference.runs.plans import LIMIT_SECONDS
from inference.runs.request import DEFAULT_SEED, RunRequest, Seed, needed_row, read_row
from inference.runs.stages import ProgressMeasurer
from inference.storage.core_models import core_model_of, with_slots
from inference.storage.names import result_name, row_names
from inference.storage.rows import ids_of_schemes, load_measurements

SECONDS, MIN_SECONDS, MAX_SECONDS = 60, 5, 3600
_SLOTS, _MEASURE, _BLOCKS, _SEARCH = _STAGES = (
    "Count slots",
    "Measure mixes",
    "Measure blocks",
    "Simulate policies",
)
_PURPOSE = "scheduler"
_LOG_INTERVAL = 5.0  # seconds
_ROUNDS = 3
"""Measurements of each block: the median counts, the spread tells how much repeating changes."""


class SchedulerConfig(RunRequest):
    """Configuration of an inference of a scheduler.

    `core_model`: id of the model that gets the scheduler. Exactly one of `machine`, which measures the
    experiments, and `experiment_set`, which has them. `seconds`: limit of the search, which then returns the
    best policy so far. `isa` is the core model's.
    """

    noun = "a run over a scheduler"
    core_model: int
    machine: int | None = None
    experiment_set: int | None = None
    isa: str = ""
    seconds: Annotated[int, Field(ge=MIN_SECONDS, le=MAX_SECONDS)] = SECONDS
    seed: Seed = DEFAULT_SEED


def read_config(config_json: Json) -> SchedulerConfig:
    """Validates and completes a configuration. Raises `ConfigError` naming the field."""
    config = SchedulerConfig.read(config_json)
    row = read_row(StoredCoreModel, "core_model", config.core_model)
    if obstacle := obstacle_to_blocks(row.name, row.isa.name):
        raise ConfigError(f"core_model: {obstacle}")
    if core_model_of(row, ()).issues_in_order:
        raise ConfigError(
            f"core_model: {row.name} issues in order: it has no scheduler that could be inferred"
        )
    if (config.machine is None) == (config.experiment_set is None):
        raise ConfigError("give either a machine or an experiment_set")
    if config.machine is not None:
        source: Machine | ExperimentSet = read_machine("", config.machine)
    else:
        source = read_row(ExperimentSet, "experiment_set", config.experiment_set)
    if source.isa_id != row.isa_id:
        raise ConfigError(f"{source.name!r} is for {source.isa.name}, the core model for {row.isa.name}")
    return config.model_copy(update={"isa": row.isa.name})


class SchedulerJob(Job):
    """See `SchedulerConfig`. Measurements from before an interruption are reused."""

    def check(self, config: Json) -> Json:
        return read_config(config).as_json()

    def default_name(self, config: Json) -> str:
        return result_name(*row_names(StoredCoreModel, [config["core_model"]]), "scheduler")

    def work(self, task: Task) -> Store:
        config = SchedulerConfig.from_stored(task.run.config)
        row = needed_row(StoredCoreModel.objects.select_related("isa"), config.core_model)
        model = core_model_of(row)
        if model.mapping is None:
            raise JobError("the core model has no ports: infer a port mapping first")
        slots = _slots(task, config, model)
        model = with_slots(model, row.isa.name, slots)
        assert model.mapping is not None, "slots are those of the same mapping"
        schemes = [*filter(None, map(code_target(row.isa.name).schemes.scheme_of, model.mapping.usage))]
        kinds = operation_kinds(model, schemes)
        source, results = _results(task, config, kinds)
        bodies = _bodies(row.isa.name, results, _body_options(task, config))
        blocks, obstacle = _measure_blocks(task, config, model, kinds)
        finding = _infer(task, config, model, kinds, bodies, blocks)
        record = scheduler_record(finding, model.mapping.ports, source, obstacle, slots)
        return partial(_store, row.pk, record)


Kinds = Mapping[str, OperationKind]
Results = Sequence[tuple[GroupedExperiment, float]]
"""Experiments with their cycles per execution."""


def _slots(task: Task, config: SchedulerConfig, model: CoreModel) -> dict[str, int] | None:
    """{scheme: slots} of schemes that take several; None where nothing shows them."""
    machine = Machine.objects.filter(pk=config.machine or 0).select_related("isa").first()
    width = dispatch_width(model)
    if machine is None or width is None or model.mapping is None:
        return None
    _enter_stage(task, _SLOTS)
    described = {*model.mapping.usage, *model.moves}
    ids = sorted(ids_of_schemes(machine.isa_id, described).values())
    with open_measurer(task, machine, ids) as (measurer, schemes):
        cached, texts = _stored_measurer(task, machine, measurer, schemes)
        filler = quickest_filler(_usable_cycles(cached.measure(filler_experiments(model, texts))), width)
        if filler is None:
            text = "slots are not counted: no instruction without a port is as quick as dispatch"
            task.reporter.emit(Log("info", text))
            return None
        experiments = slot_experiments(model, filler[0], texts)
        meter = ProgressMeasurer(cached, task.reporter, _SLOTS, len(experiments))
        return counted_slots(experiments, _usable_cycles(meter.measure([*experiments.values()])), filler[1])


def _stored_measurer(
    task: Task, machine: Machine, measurer: Measurer, schemes: Sequence[str]
) -> tuple[StoreBackedMeasurer, Sequence[str]]:
    """The measurer behind the run's store, and the schemes that it can measure."""

    def log(text: str, level: str) -> None:
        task.reporter.emit(Log(level, text))

    if isinstance(measurer, RemoteMeasurer):
        schemes = measurable_schemes(measurer, schemes, log)
    store = RunMeasurements(task.lease, machine.isa, measurer.identity, _PURPOSE, machine)
    return StoreBackedMeasurer(measurer, store), schemes


def _results(task: Task, config: SchedulerConfig, kinds: Kinds) -> tuple[str, Results]:
    """(name of the machine or set, experiments with their cycles)."""
    _enter_stage(task, _MEASURE)
    if config.experiment_set is not None:
        stored_set = needed_row(ExperimentSet, config.experiment_set)
        measured = load_measurements(stored_set)
        usable = usable_experiments([result.experiment for result in measured], kinds)
        return stored_set.name, _with_cycles(usable, measured)
    machine = needed_row(Machine.objects.select_related("isa"), config.machine)
    return machine.name, _measure(task, machine, kinds)


def _enter_stage(task: Task, stage: str) -> None:
    index = _STAGES.index(stage) + 1
    task.reporter.emit(PhaseStarted(stage, index, [*_STAGES]))


def _measure(task: Task, machine: Machine, kinds: Kinds) -> Results:
    if not kinds:
        return []

    ids = sorted(ids_of_schemes(machine.isa_id, kinds).values())
    with open_measurer(task, machine, ids) as (measurer, schemes):
        cached, usable = _stored_measurer(task, machine, measurer, schemes)
        experiments = scheduler_experiments({text: kinds[text] for text in usable if text in kinds})
        meter = ProgressMeasurer(cached, task.reporter, _MEASURE, len(experiments))
        return _with_cycles(experiments, meter.measure([grouped.experiment for grouped in experiments]))


def _with_cycles(experiments: Iterable[GroupedExperiment], measured: Iterable[Measured]) -> Results:
    cycles = _usable_cycles(measured)
    return [(grouped, cycles[grouped.experiment]) for grouped in experiments if grouped.experiment in cycles]


def _usable_cycles(measured: Iterable[Measured]) -> dict[Experiment, float]:
    cycles: dict[Experiment, float] = {}
    for result in measured:
        if result.usable and result.cycles:
            cycles.setdefault(result.experiment, result.cycles)
    return cycles


def _measure_blocks(
    task: Task, config: SchedulerConfig, model: CoreModel, kinds: Kinds
) -> tuple[list[MeasuredBlock], str]:
    """Loops with dependencies and their cycles; if there are too few, also the reason."""
    machine = Machine.objects.filter(pk=config.machine or 0).select_related("isa").first()
    if machine is None:
        return [], "a set has no such code"
    if not machine.executes_code:
        return [], f"{machine.name} is simulated without dependences"
    if not machine.facts.get("blocks"):
        return [], f"the agent of {machine.name} is too old for basic blocks"
    _enter_stage(task, _BLOCKS)
    blocks = dependent_blocks(config.isa, model, kinds, config.seed)
    readings: list[list[float]] = [[] for _ in blocks]
    reporter = PacedReporter(task.reporter)
    done, total = 0, _ROUNDS * len(blocks)
    with open_block_measurer(task, machine, BlockOptions(LOOP)) as (_, measure):
        for repeat in range(_ROUNDS):
            for index, result in measure(blocks, repeat=repeat):
                done += 1
                reporter.pulse()
                if reporter.due("blocks") or done == total:
                    reporter.emit(Progress(_BLOCKS, done, total, 0.0, "blocks", None))
                if result.state == "settled" and result.cycles:
                    readings[index].append(result.cycles)
    repeated = [MeasuredBlock(*pair) for pair in zip(blocks, readings, strict=True) if len(pair[1]) > 1]
    enough = len(repeated) >= MIN_BLOCKS
    return repeated, "" if enough else f"{len(repeated)} of {len(blocks)} such blocks settled"


def _body_options(task: Task, config: SchedulerConfig) -> Options:
    """The harness options of the experiments' measurements."""
    if config.experiment_set is None:
        machine, start_time = Machine.objects.filter(pk=config.machine or 0).first(), task.run.created
    else:
        source = ExperimentSet.objects.select_related("machine", "run").get(pk=config.experiment_set)
        machine, start_time = (source.machine, source.run.created if source.run else source.created)
    return DEFAULTS if machine is None else options_for(machine, start_time)


def _bodies(isa: str, results: Results, options: Options) -> list[MeasuredBody]:
    bodies, reader = [], access_reader(isa)
    for grouped, cycles in results:
        try:
            body = reader.loop_body(grouped.experiment.terms, options)
        except CannotMeasureError:  # measured elsewhere, with other code
            continue
        bodies.append(MeasuredBody(grouped.experiment, body.instructions, body.copies, cycles, grouped.group))
    return bodies


def _infer(
    task: Task,
    config: SchedulerConfig,
    model: CoreModel,
    kinds: Kinds,
    bodies: Sequence[MeasuredBody],
    blocks: Sequence[MeasuredBlock],
) -> CoreSchedulerFinding:
    _enter_stage(task, _SEARCH)
    reporter = PacedReporter(task.reporter)
    reporter.limit(config.seconds)

    def pulse() -> bool:
        reporter.pulse()
        return reporter.elapsed < 1

    def progress(tried: int, error: float) -> None:
        if reporter.due("policies"):
            done = min(int(reporter.elapsed * config.seconds), config.seconds)
            reporter.emit(Progress(_SEARCH, done, config.seconds, 0.0, LIMIT_SECONDS, None))
        if reporter.due("closest", _LOG_INTERVAL):
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
        "url": f"/core-models/{row.pk}/",  # no reverse(): an error in the pages must not lose the result
        **{key: record[key] for key in ("reason", "error", "error_without", "tried", "finished")},
        "found": record["scheduler"] is not None,
        "experiments": len(record["experiments"]),
    }
    return result, [Log("info", summary(record)), ResultStored(result)]


JOBS = {"scheduler": SchedulerJob}
