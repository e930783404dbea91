"""Measuring runs: experiments on a machine, kept as an experiment set."""

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
    MOST_REPEATS,
    Turns,
    effort,
    ids_of_schemes,
    listed_experiments,
    read_listed,
)
from inference.isa.body_options import DEFAULTS, FEWEST, MOST, VALUES, Options
from inference.measuring.proxies import CachedMeasurer, RepeatingCache
from inference.measuring.remote import RemoteMeasurer
from inference.models import ExperimentSet, Machine
from inference.runs.errors import ConfigError, JobError
from inference.runs.kinds import Job, Store, Task
from inference.runs.machines.facts import read_machine
from inference.runs.machines.measurer import log_breakers, opened, settled_share, within_reach
from inference.runs.measurements import RunMeasurements
from inference.runs.request import DEFAULT_SEED, MOST_MIXES, OneOf, RunRequest, Schemes, Seed, needed_row
from inference.runs.stages import ProgressMeasurer
from inference.storage.rows import load_measurements

PLANS = ("singletons", "pairs", "mixes", "slots", LISTED)
"""Every scheme alone; PMEvo's plan (§5.1.1): alone, and in pairs; random mixes; each scheme among what needs
issue slots alone; experiments one by one."""

MOST_INSTRUCTIONS = 50  # in a mix: as many as a loop body takes at least twice

_STAGE = "measuring"
_PURPOSE = "measurements"


class MeasureConfig(RunRequest):
    """What is measured where.

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
    plan: Annotated[str, OneOf(PLANS)] = "pairs"
    mixes: Annotated[int, Field(ge=1, le=MOST_MIXES)] = DEFAULT_MIXES
    length: Annotated[int, Field(ge=1, le=MOST_INSTRUCTIONS)] = MIX_LENGTH
    seed: Seed = DEFAULT_SEED
    experiments: list[str] = []
    repeats: Annotated[int, Field(ge=1, le=MOST_REPEATS)] = 1
    unroll: Annotated[int, Field(ge=FEWEST, le=MOST)] = DEFAULTS.instructions
    breaking: bool = DEFAULTS.breaking
    values: Annotated[str, OneOf(VALUES)] = DEFAULTS.values

    @property
    def options(self) -> Options:
        """How loop bodies are made."""
        return Options(self.unroll, self.breaking, self.values)

    @property
    def given(self) -> int:
        """How many measurements are asked for where that does not depend on the schemes."""
        return len(self.experiments) * self.repeats if self.plan == LISTED else self.mixes


def read_config(given: Json) -> MeasureConfig:
    """Check and complete a description. Raises `ConfigError` naming the field."""
    config = MeasureConfig.read(given)
    machine = read_machine("", config.machine, config.isa)
    if config.plan != LISTED:
        if config.experiments:
            raise ConfigError(f"experiments go with the plan {LISTED!r}, not with {config.plan!r}")
        if config.repeats > 1:
            raise ConfigError(f"repeats go with the plan {LISTED!r}, not with {config.plan!r}")
        found: Json = {}
    else:
        experiments = read_listed(machine.isa, config.experiments)
        schemes = ids_of_schemes(machine.isa, experiments)
        found = {"schemes": schemes, "scheme_filter": "", "experiments": experiments}
    return config.model_copy(update={"isa": machine.isa.name, **found})


class MeasureJob(Job):
    """Runs of kind `measure`; `MeasureConfig` is their description.

    What has been measured stays when the run is cancelled: its experiment set grows with it. Stopped to keep
    that, the run ends with the set as its result.
    """

    def check(self, config: Json) -> Json:
        return read_config(config).as_json()

    def work(self, task: Task) -> Store:
        config = MeasureConfig.stored(task.run.config)
        machine = needed_row(Machine.objects.select_related("isa"), config.machine)
        label = f"Measure on {machine.name}"
        task.reporter.emit(PhaseStarted(_STAGE, 1, [label]))
        with _opened(task, config, machine) as (measurer, schemes):
            cached, store = _remembered(task, machine, measurer)
            asked = effort(machine, len(schemes), config.plan, config.given).experiments
            try:
                if config.plan == LISTED:
                    told = ProgressMeasurer(Turns(cached.again), task.reporter, _STAGE, asked)
                    results = _listed(told, schemes, config)
                else:
                    results = _asked(ProgressMeasurer(cached, task.reporter, _STAGE, asked), schemes, config)
            except InterruptedRunError as error:
                if error.wanted != KEEP or store.experiment_set is None:
                    raise
                results = load_measurements(store.experiment_set)
                task.reporter.emit(Log("info", "stopped; what was measured is kept"))
        if store.experiment_set is None:
            raise JobError("there was nothing to measure")
        return partial(_store, store.experiment_set, results)


def _remembered(task: Task, machine: Machine, measurer: Measurer) -> tuple[RepeatingCache, RunMeasurements]:
    """The measurer with a memory for every repetition, and the memory of the first."""
    remember = partial(
        RunMeasurements, task.lease, machine.isa, measurer.identity, _PURPOSE, machine, named_after_run=True
    )
    store = remember()

    def repetition(number: int) -> Measurer:
        anew = measurer.again(number) if isinstance(measurer, RepeatingMeasurer) else measurer
        return CachedMeasurer(anew, remember(repeat=number))

    return RepeatingCache(measurer, store, repetition), store


@contextmanager
def _opened(task: Task, config: MeasureConfig, machine: Machine) -> Iterator[tuple[Measurer, Sequence[str]]]:
    """Who measures, and the schemes that can be measured there."""

    def log(text: str, level: str) -> None:
        task.reporter.emit(Log(level, text))

    with opened(task, machine, config.schemes, config.options) as (measurer, chosen):
        able = chosen
        if isinstance(measurer, RemoteMeasurer):
            able = within_reach(measurer, chosen, log)
            log_breakers(measurer, able, log)
        yield measurer, able


def _listed(told: ProgressMeasurer, schemes: Sequence[str], config: MeasureConfig) -> list[Measured]:
    """Every experiment of the list that can be measured, again and again."""
    able = set(schemes)
    experiments = [each for each in listed_experiments(config.experiments) if able.issuperset(each.schemes)]
    if not experiments:
        raise JobError("none of the listed experiments can be measured there")
    told.expected = len(experiments) * config.repeats
    return [result for _ in range(config.repeats) for result in told.measure(experiments)]


def _asked(told: ProgressMeasurer, schemes: Sequence[str], config: MeasureConfig) -> list[Measured]:
    """All results of the plan."""
    if config.plan == "mixes":
        mixes = random_mixes(schemes, config.mixes, config.seed, config.length)
        told.expected = len(mixes)
        return list(told.measure(mixes))
    if config.plan == "slots":
        return _among_padding(told, schemes, config)
    results = list(told.measure(plan.singletons(schemes)))
    if config.plan == "pairs":
        times = {r.experiment.schemes[0]: r.cycles for r in results if r.usable and r.cycles is not None}
        pairs = list(plan.pairs(times, PMEvoSettings().congruence_epsilon))
        told.expected = len(results) + len(pairs)
        results += told.measure(pairs)
    return results


def _among_padding(told: ProgressMeasurer, schemes: Sequence[str], config: MeasureConfig) -> list[Measured]:
    """The padding by itself, then each scheme alone and among it."""
    padding = padding_of(config.isa)
    if padding is None:
        raise JobError(f"nothing is known that slots could be counted with in {config.isa}")
    try:
        results = list(told.measure(padding.calibration()))
    except UnknownSchemeError as error:
        raise JobError(f"{error}: slots are counted with {padding.move!r} and the like") from error
    if not any(result.usable for result in results):
        raise JobError(f"{padding.move!r} cannot be measured there, and slots are counted with it")
    asked = plan.singletons(schemes) + [each for scheme in schemes for each in padding.around(scheme)]
    told.expected = len(results) + len(asked)
    return [*results, *told.measure(asked)]


def _store(made: ExperimentSet, results: Sequence[Measured]) -> tuple[Json, Sequence[Event]]:
    settled = sum(result.usable for result in results)
    result: Json = {
        "experiment_set": made.pk,
        "name": made.name,
        "url": f"/sets/{made.pk}/",  # not looked up: a fault in a page must not cost a result
        "experiments": len(results),
        "settled": settled,
        "settled_share": round(settled_share(results), 4),
    }
    text = f"{len(results)} experiments measured, {settled} of them usable"
    return result, [Log("info", text), ResultStored(result)]
