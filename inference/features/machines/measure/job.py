"""Runs of kind `measure`, which measure experiments on a machine into an experiment set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Annotated

from pydantic import Field

from inference.core.errors import KEEP, InterruptedRunError, UnknownSchemeError
from inference.core.events import Event, Log, PhaseStarted, ResultStored
from inference.core.experiment import Measured
from inference.core.measured_slots import padding_of
from inference.core.pmevo import PMEvoSettings, plan
from inference.core.protocols import Json, Measurer, RepeatingMeasurer
from inference.core.sampling import MIX_LENGTH, random_mixes
from inference.features.machines.measure.request import (
    DEFAULT_MIXES,
    LISTED,
    MAX_REPEATS,
    RepeatingMeasurements,
    estimate_effort,
    ids_of_schemes,
    listed_experiments,
    read_listed,
)
from inference.isa.machine_bodies import DEFAULTS, MAX_BODY_LENGTH, MIN_BODY_LENGTH, VALUES, Options
from inference.measuring.proxies import RepeatingCache, StoreBackedMeasurer
from inference.measuring.remote import RemoteMeasurer
from inference.models import ExperimentSet, Machine
from inference.runs.errors import ConfigError, JobError
from inference.runs.kinds import Job, Store, Task
from inference.runs.machines.facts import read_machine
from inference.runs.machines.measurer import log_breakers, measurable_schemes, open_measurer, settled_share
from inference.runs.measurements import RunMeasurements
from inference.runs.request import (
    DEFAULT_SEED,
    MAX_MIXES,
    AllowedTexts,
    RunRequest,
    Schemes,
    Seed,
    needed_row,
)
from inference.runs.stages import ProgressMeasurer
from inference.storage.names import processor_name, result_name, selection_name
from inference.storage.rows import load_measurements

PLANS = ("singletons", "pairs", "mixes", "slots", LISTED)
"""Every scheme alone; PMEvo's plan (§5.1.1): alone and in pairs; random mixes; each scheme among instructions
that need only issue slots; listed experiments."""

MAX_INSTRUCTIONS = 50  # in a mix, which must fit into a loop body twice

_STAGE = "measuring"
_PURPOSE = "measurements"


class MeasureConfig(RunRequest):
    """The description of a run of kind `measure`.

    `machine`: id. `schemes` is a selection by word or a list of scheme ids, `scheme_filter` the
    search text that those ids came from. `plan` is one of `PLANS`; with "mixes", `mixes` of them with
    `length` instructions each, chosen by `seed`; with "listed", `experiments` as texts, each measured
    `repeats` times, and `schemes` are those that occur in them. `unroll`, `breaking` and `values` say how
    loop bodies are made (`isa.body_options.Options`).
    """

    noun = "a measuring run"
    machine: int
    isa: str = ""
    schemes: Schemes = "starter"
    scheme_filter: str = ""
    plan: Annotated[str, AllowedTexts(PLANS)] = "pairs"
    mixes: Annotated[int, Field(ge=1, le=MAX_MIXES)] = DEFAULT_MIXES
    length: Annotated[int, Field(ge=1, le=MAX_INSTRUCTIONS)] = MIX_LENGTH
    seed: Seed = DEFAULT_SEED
    experiments: list[str] = []
    repeats: Annotated[int, Field(ge=1, le=MAX_REPEATS)] = 1
    unroll: Annotated[int, Field(ge=MIN_BODY_LENGTH, le=MAX_BODY_LENGTH)] = DEFAULTS.instructions
    breaking: bool = DEFAULTS.breaking
    values: Annotated[str, AllowedTexts(VALUES)] = DEFAULTS.values

    @property
    def options(self) -> Options:
        return Options(self.unroll, self.breaking, self.values)

    @property
    def measurement_count(self) -> int:
        """The number of measurements of the plans `listed` and `mixes`, which does not depend on the
        schemes."""
        return len(self.experiments) * self.repeats if self.plan == LISTED else self.mixes


def read_config(description: Json) -> MeasureConfig:
    """Check and complete a description. Raises `ConfigError` naming the field."""
    config = MeasureConfig.read(description)
    machine = read_machine("", config.machine, config.isa)
    if config.plan != LISTED:
        if config.experiments:
            raise ConfigError(f"experiments go with the plan {LISTED!r}, not with {config.plan!r}")
        if config.repeats > 1:
            raise ConfigError(f"repeats go with the plan {LISTED!r}, not with {config.plan!r}")
        listed: Json = {}
    else:
        experiments = read_listed(machine.isa, config.experiments)
        schemes = ids_of_schemes(machine.isa, experiments)
        listed = {"schemes": schemes, "scheme_filter": "", "experiments": experiments}
    return config.model_copy(update={"isa": machine.isa.name, **listed})


class MeasureJob(Job):
    """Runs of kind `measure`; `MeasureConfig` is their description.

    Its experiment set is stored while it measures and remains if the run is cancelled. A run that is stopped
    with its results kept ends with the set as its result.
    """

    def check(self, config: Json) -> Json:
        return read_config(config).as_json()

    def default_name(self, config: Json) -> str:
        request = MeasureConfig.from_stored(config)
        processor = processor_name(request.machine)
        if request.plan == LISTED:
            count = len(request.experiments)
            subject = request.experiments[0] if count == 1 else f"{count:,} experiments"
            return result_name(processor, subject)
        plan_name = {
            "singletons": "each alone",
            "pairs": "alone and in pairs",
            "mixes": f"{request.mixes:,} mixes of {request.length}",
            "slots": "issue slots",
        }[request.plan]
        return result_name(processor, selection_name(request.schemes, request.scheme_filter), plan_name)

    def work(self, task: Task) -> Store:
        config = MeasureConfig.from_stored(task.run.config)
        machine = needed_row(Machine.objects.select_related("isa"), config.machine)
        label = f"Measure on {machine.name}"
        task.reporter.emit(PhaseStarted(_STAGE, 1, [label]))
        with _open_measurer(task, config, machine) as (measurer, schemes):
            cached, store = _with_cache(task, machine, measurer)
            expected = estimate_effort(
                machine, len(schemes), config.plan, config.measurement_count
            ).experiments
            try:
                if config.plan == LISTED:
                    progress_measurer = ProgressMeasurer(
                        RepeatingMeasurements(cached.repetition), task.reporter, _STAGE, expected
                    )
                    results = _measure_listed(progress_measurer, schemes, config)
                else:
                    results = _measure_plan(
                        ProgressMeasurer(cached, task.reporter, _STAGE, expected), schemes, config
                    )
            except InterruptedRunError as error:
                if error.request != KEEP or store.experiment_set is None:
                    raise
                results = load_measurements(store.experiment_set)
                task.reporter.emit(Log("info", "stopped; the measurements so far are kept"))
        if store.experiment_set is None:
            raise JobError("no experiment was measured")
        return partial(_store, store.experiment_set, results)


def _with_cache(task: Task, machine: Machine, measurer: Measurer) -> tuple[RepeatingCache, RunMeasurements]:
    """(measurer with a cache per repetition, store of the first repetition)."""
    remember = partial(
        RunMeasurements, task.lease, machine.isa, measurer.identity, _PURPOSE, machine, named_after_run=True
    )
    store = remember()

    def repetition(number: int) -> Measurer:
        anew = measurer.repetition(number) if isinstance(measurer, RepeatingMeasurer) else measurer
        return StoreBackedMeasurer(anew, remember(repeat=number))

    return RepeatingCache(measurer, store, repetition), store


@contextmanager
def _open_measurer(
    task: Task, config: MeasureConfig, machine: Machine
) -> Iterator[tuple[Measurer, Sequence[str]]]:
    """Open the measurer of the machine; yields it with the schemes that it can measure."""

    def log(text: str, level: str) -> None:
        task.reporter.emit(Log(level, text))

    with open_measurer(task, machine, config.schemes, config.options) as (measurer, schemes):
        measurable = schemes
        if isinstance(measurer, RemoteMeasurer):
            measurable = measurable_schemes(measurer, schemes, log)
            log_breakers(measurer, measurable, log)
        yield measurer, measurable


def _measure_listed(
    measurer: ProgressMeasurer, schemes: Sequence[str], config: MeasureConfig
) -> list[Measured]:
    """Measure every listed experiment that the machine can execute, `repeats` times."""
    measurable = set(schemes)
    experiments = [
        experiment
        for experiment in listed_experiments(config.experiments)
        if measurable.issuperset(experiment.schemes)
    ]
    if not experiments:
        raise JobError("the machine can measure none of the listed experiments")
    measurer.expected = len(experiments) * config.repeats
    return [result for _ in range(config.repeats) for result in measurer.measure(experiments)]


def _measure_plan(
    measurer: ProgressMeasurer, schemes: Sequence[str], config: MeasureConfig
) -> list[Measured]:
    if config.plan == "mixes":
        mixes = random_mixes(schemes, config.mixes, config.seed, config.length)
        measurer.expected = len(mixes)
        return list(measurer.measure(mixes))
    if config.plan == "slots":
        return _measure_slots(measurer, schemes, config)
    results = list(measurer.measure(plan.singletons(schemes)))
    if config.plan == "pairs":
        times = {r.experiment.schemes[0]: r.cycles for r in results if r.usable and r.cycles is not None}
        pairs = list(plan.pairs(times, PMEvoSettings().congruence_epsilon))
        measurer.expected = len(results) + len(pairs)
        results += measurer.measure(pairs)
    return results


def _measure_slots(
    measurer: ProgressMeasurer, schemes: Sequence[str], config: MeasureConfig
) -> list[Measured]:
    """Measure the padding by itself, then each scheme alone and among it."""
    padding = padding_of(config.isa)
    if padding is None:
        raise JobError(f"issue slots cannot be counted for {config.isa}: it has no padding instructions")
    try:
        results = list(measurer.measure(padding.calibration()))
    except UnknownSchemeError as error:
        raise JobError(f"{error}: counting issue slots needs {padding.move!r} and the like") from error
    if not any(result.usable for result in results):
        raise JobError(f"the machine cannot measure {padding.move!r}, which counting issue slots needs")
    experiments = plan.singletons(schemes) + [
        experiment for scheme in schemes for experiment in padding.around(scheme)
    ]
    measurer.expected = len(results) + len(experiments)
    return [*results, *measurer.measure(experiments)]


def _store(experiment_set: ExperimentSet, results: Sequence[Measured]) -> tuple[Json, Sequence[Event]]:
    settled = sum(result.usable for result in results)
    result: Json = {
        "experiment_set": experiment_set.pk,
        "name": experiment_set.name,
        "url": f"/sets/{experiment_set.pk}/",  # no `reverse`: a faulty URL pattern must not lose a result
        "experiments": len(results),
        "settled": settled,
        "settled_share": round(settled_share(results), 4),
    }
    text = f"{len(results)} experiments measured, {settled} of them usable"
    return result, [Log("info", text), ResultStored(result)]


JOBS = {"measure": MeasureJob}
