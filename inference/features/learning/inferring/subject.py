"""The subject of an inference run, with training and judging experiments: recorded data, a machine, or a
simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TypeVar

from django.db.models import Model

from inference.core.bottleneck import measure_bottleneck
from inference.core.cegar import CegarSettings
from inference.core.experiment import Measured
from inference.core.protocols import Json, Measurer, RepeatingMeasurer
from inference.core.sampling import random_mixes
from inference.features.learning.inferring.algorithms import ALGORITHMS
from inference.features.learning.inferring.core_facts import bottleneck_facts, single_uops
from inference.features.learning.inferring.request import (
    InferConfig,
    MachineSource,
    RecordedSource,
    SimulatedSource,
)
from inference.measuring.proxies import RepeatingCache, SecondOpinion, StoreBackedMeasurer
from inference.measuring.recorded import RecordedMeasurer
from inference.measuring.simulated import SimulatedProcessor
from inference.models import ISA, ExperimentSet, Machine, PortMapping, Run
from inference.models.scheme_search import PROBE_SELECTION
from inference.runs.errors import JobError
from inference.runs.kinds import Task
from inference.runs.machines.facts import documented_r_max
from inference.runs.machines.measurer import (
    agent_measurer,
    chosen_schemes,
    measurable_schemes,
    sample_evenly,
    schemes_with_uops,
    settled_share,
    simulated_machine,
    singleton_cycles,
)
from inference.runs.measurements import RunMeasurements
from inference.runs.request import needed_row
from inference.runs.stages import BOTTLENECK, MIXES, SINGLETONS, Stages, facts_of
from inference.storage.mappings import load_mapping
from inference.storage.recorded import recorded_shares, selected_schemes
from inference.storage.rows import load_measurements

Row = TypeVar("Row", bound=Model)

JUDGING_MIXES = "five-scheme mixes"
MEASUREMENTS = "measurements"
_BOTTLENECK_EXPERIMENTS = 250  # estimate, for the progress
_SINGLETON_FACTOR = 2  # factor of schemes to measure alone, since some may not settle


@dataclass(frozen=True)
class Subject:
    """The processor whose mapping a run infers.

    `held_out` are the measurements that judge the mapping; `judged_on` is their set, None if they are a
    share of the training data. `machine` is None if unknown.

    `judge` measures mixes after the search.

    Attributes:
        bottleneck: The measured R_max as JSON.
        settled_share: Settled share of the mixes measured for judging.
        started: Time of measuring of recorded data, None if the run measures.
    """

    isa: ISA
    schemes: tuple[str, ...]
    measurer: Measurer
    held_out: tuple[Measured, ...]
    judged_on: ExperimentSet | None
    machine: Machine | None
    bottleneck: Json | None = None
    settled_share: float | None = None
    judge: Callable[[Sequence[str]], tuple[list[Measured], ExperimentSet | None]] | None = None
    started: datetime | None = None

    def judged_afterwards(self, schemes: Sequence[str]) -> Subject:
        """A copy judged by fresh mixes of these schemes, if they were unknown before the search."""
        if self.judge is None or not schemes:
            return self
        results, judged_on = self.judge(schemes)
        share = settled_share(results) if self.machine is not None else None
        return replace(self, held_out=tuple(results), judged_on=judged_on, settled_share=share)

    def as_stored(self, run: Run) -> Subject:
        """A copy with the stored results of the run's mixes: a check for drift may have replaced some."""
        if self.judged_on is None or self.judged_on.run_id != run.pk:
            return self
        stored = sorted(load_measurements(self.judged_on), key=lambda result: result.experiment)
        share = None if self.settled_share is None else settled_share(stored)
        return replace(self, held_out=tuple(stored), settled_share=share)


def own_stages(config: InferConfig) -> tuple[str, ...]:
    if isinstance(config.source, RecordedSource):
        return ()
    stages = []
    if _is_explored(config):
        stages.append(SINGLETONS)
        if _measures_bottleneck(config):
            stages.append(BOTTLENECK)
    if config.evaluate is None and not ALGORITHMS[config.algorithm].explores:
        stages.append(MIXES)
    return tuple(stages)


def last_stages(config: InferConfig) -> tuple[str, ...]:
    fresh = not isinstance(config.source, RecordedSource) and config.evaluate is None
    return (MIXES,) if fresh and ALGORITHMS[config.algorithm].explores else ()


@contextmanager
def open_subject(task: Task, config: InferConfig, stages: Stages) -> Iterator[Subject]:
    """Loads the data, or measures what the search needs beforehand. Raises `JobError`.

    The measurer works until the context ends.
    """
    isa = ISA.objects.get(name=config.isa)
    judged_on = None
    if config.evaluate is not None:
        judged_on = needed_row(ExperimentSet, config.evaluate, "evaluation set")
    if isinstance(config.source, RecordedSource):
        yield _recorded_subject(config, isa, config.source.datasets, judged_on, stages)
    elif isinstance(config.source, MachineSource) and _has_agent(config):
        machine = needed_row(Machine, config.source.machine)
        selection = chosen_schemes(isa, config.schemes)
        with agent_measurer(task, machine, selection) as measurer:
            lab = _RunMeasurer(task, config, isa, machine, measurer, stages)
            measurable = measurable_schemes(measurer, selection, stages.log)
            if _is_explored(config):
                yield lab.explored(measurable, judged_on)
            else:
                yield lab.subject(sample_evenly(measurable, config.sample), judged_on)
    else:
        processor, simulated_schemes, simulated = _processor(config)
        selected = selected_schemes(isa, config.schemes)
        schemes = sorted(simulated_schemes if selected is None else simulated_schemes & selected)
        if not schemes:
            raise JobError("the machine can measure none of the selected schemes")
        lab = _RunMeasurer(task, config, isa, simulated, processor, stages)
        if _is_explored(config):
            yield lab.explored(schemes, judged_on)
        else:
            yield lab.subject(sample_evenly(schemes, config.sample), judged_on)


def _recorded_subject(
    config: InferConfig, isa: ISA, datasets: list[int], judged_on: ExperimentSet | None, stages: Stages
) -> Subject:
    sets = list(ExperimentSet.objects.filter(pk__in=datasets))
    if len(sets) < len(datasets):
        raise JobError("an experiment set of this run's source was deleted")
    share = config.held_out if judged_on is None else 0.0
    shares = recorded_shares(sets, config.schemes, share, config.seed, judged_on, config.never_held_out)
    results = [row.value for row in shares.training]
    if shares.recurring and judged_on is not None:
        if not results:
            raise JobError(
                f"all {shares.recurring:,} experiments to learn from are in {judged_on.name!r} too, which "
                "judges: judge on another set, or on a held-out share"
            )
        stages.log(
            f"{shares.recurring:,} experiment(s) to learn from are in {judged_on.name!r} too: they only judge"
        )
    if not results:
        raise JobError("the experiment sets have no usable measurement of only selected schemes")
    if judged_on is None:
        held_out = tuple(row.value for row in shares.held_out)
    else:
        held_out = tuple(load_measurements(judged_on))
    machines = {row.machine for row in sets}
    return Subject(
        isa=isa,
        schemes=tuple(sorted({scheme for result in results for scheme in result.experiment.schemes})),
        measurer=RecordedMeasurer(results),
        held_out=held_out,
        judged_on=judged_on,
        machine=machines.pop() if len(machines) == 1 else None,
        started=min(row.run.created if row.run else row.created for row in sets),
    )


@dataclass(eq=False)
class _RunMeasurer:
    """Measures for a run, and stores the results."""

    task: Task
    config: InferConfig
    isa: ISA
    machine: Machine | None
    measurer: Measurer
    stages: Stages

    def __post_init__(self) -> None:
        self._earlier = facts_of(self.task.checkpoint)
        self._remember = partial(
            RunMeasurements, self.task.lease, self.isa, self.measurer.identity, machine=self.machine
        )
        self._cached = RepeatingCache(self.measurer, self._remember(purpose=MEASUREMENTS), self._repetition)

    def _repetition(self, number: int) -> Measurer:
        """A measurer that repeats measurements; cached if measuring takes time."""
        if isinstance(self.measurer, RepeatingMeasurer):
            return self.measurer.repetition(number)
        store = self._remember(purpose=MEASUREMENTS, repeat=number)
        return StoreBackedMeasurer(self.measurer, store)

    def explored(self, schemes: Sequence[str], judged_on: ExperimentSet | None) -> Subject:
        """The subject after measuring schemes alone, without the unreliable ones, and the bottleneck.

        A resumed run continues with the schemes and bottleneck of its checkpoint.
        """
        if self._earlier:
            self.stages.facts = dict(self._earlier)
        else:
            alone = self._sample_schemes(self._alone(self._sample_schemes(schemes, _SINGLETON_FACTOR)))
            bottleneck = self._bottleneck(alone) if _measures_bottleneck(self.config) else None
            self.stages.facts = {"schemes": alone, "bottleneck": bottleneck}
        facts = self.stages.facts
        return self.subject(facts["schemes"], judged_on, facts["bottleneck"])

    def _sample_schemes(self, schemes: Sequence[str], factor: int = 1) -> Sequence[str]:
        sample = self.config.sample
        return sample_evenly(schemes, None if sample is None else factor * sample)

    def subject(
        self, schemes: Sequence[str], judged_on: ExperimentSet | None, bottleneck: Json | None = None
    ) -> Subject:
        """The subject, judged by fresh mixes unless there is a set."""
        share = None
        results: list[Measured] = []
        later = judged_on is None and ALGORITHMS[self.config.algorithm].explores
        if judged_on is not None:
            results = load_measurements(judged_on)
        elif not later:
            results, judged_on = self._mixes(schemes)
            share = settled_share(results)
        return Subject(
            isa=self.isa,
            schemes=tuple(schemes),
            measurer=self._for_search(),
            held_out=tuple(results),
            judged_on=judged_on,
            machine=self.machine,
            bottleneck=bottleneck,
            settled_share=share if _has_agent(self.config) else None,
            judge=self._mixes if later else None,
        )

    def _for_search(self) -> Measurer:
        """Exact searches measure few experiments, and noise may disturb any: they get a second opinion."""
        if not (_is_exact(self.config) and _has_agent(self.config)):
            return self._cached
        return SecondOpinion(self._cached, self._epsilon / 2)

    @property
    def _epsilon(self) -> float:
        settings = self.config.settings
        assert isinstance(settings, CegarSettings)
        return settings.epsilon

    def _alone(self, schemes: Sequence[str]) -> list[str]:
        self.stages.enter(SINGLETONS)
        measurer = self.stages.with_progress(SINGLETONS, self._for_search(), len(schemes))
        alone = singleton_cycles(measurer, schemes, self.stages.log)
        if self.config.schemes != PROBE_SELECTION or not _is_exact(self.config):
            return list(alone)
        single = single_uops(alone, self._epsilon, self.stages.log)
        if not single:
            raise JobError("none of the probes has the time of a single µop: select other schemes")
        return single

    def _bottleneck(self, schemes: Sequence[str]) -> Json:
        self.stages.enter(BOTTLENECK)
        measurer = self.stages.with_progress(BOTTLENECK, self._cached, _BOTTLENECK_EXPERIMENTS)
        measurer.is_estimate = True
        bottleneck = measure_bottleneck(schemes, measurer, self.stages)
        documented = None
        if self.machine is not None and _is_exact(self.config):
            documented = documented_r_max(self.machine)
        return bottleneck_facts(bottleneck, documented, self.stages.log)

    def _mixes(self, schemes: Sequence[str]) -> tuple[list[Measured], ExperimentSet | None]:
        store = self._remember(purpose=JUDGING_MIXES)
        if self._earlier and store.experiment_set is not None:
            return load_measurements(store.experiment_set), store.experiment_set
        self.stages.enter(MIXES)
        mixes = random_mixes(schemes, self.config.mixes, self.config.seed)
        measurer = self.stages.with_progress(MIXES, StoreBackedMeasurer(self.measurer, store), len(mixes))
        results = list(measurer.measure(mixes))
        settled = sum(result.usable for result in results)
        self.stages.log(
            f"{len(results)} {JUDGING_MIXES} measured for judging, {settled} of them usable "
            f"({100 * settled_share(results):.0f} % settled)"
        )
        return results, store.experiment_set


def _has_agent(config: InferConfig) -> bool:
    return (
        isinstance(config.source, MachineSource)
        and Machine.objects.filter(pk=config.source.machine, kind=Machine.Kind.AGENT).exists()
    )


def _is_exact(config: InferConfig) -> bool:
    return ALGORITHMS[config.algorithm].exact


def _is_explored(config: InferConfig) -> bool:
    """Whether the run measures schemes alone, and the bottleneck, before the search."""
    if isinstance(config.source, RecordedSource) or ALGORITHMS[config.algorithm].explores:
        return False
    return _has_agent(config) or _is_exact(config)


def _measures_bottleneck(config: InferConfig) -> bool:
    return config.bottleneck and getattr(config.settings, "r_max", 0) is None


def _processor(config: InferConfig) -> tuple[SimulatedProcessor, set[str], Machine | None]:
    """(simulator, its schemes, the simulated machine or None)."""
    source = config.source
    if isinstance(source, MachineSource):
        machine = needed_row(Machine, source.machine)
        return *simulated_machine(machine), machine
    assert isinstance(source, SimulatedSource)
    mapping = load_mapping(needed_row(PortMapping, source.simulate))
    noise = source.model_dump(exclude={"simulate"})
    return SimulatedProcessor(mapping, seed=config.seed, **noise), schemes_with_uops(mapping), None
