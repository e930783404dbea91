"""What an inference run learns from and what it is judged by: recorded data, a machine, or a simulation."""

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
from inference.measuring.proxies import CachedMeasurer, RepeatingCache, SecondOpinion
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
    known_schemes,
    measured_alone,
    settled_share,
    simulated_machine,
    spread,
    within_reach,
)
from inference.runs.measurements import RunMeasurements
from inference.runs.request import needed_row
from inference.runs.stages import BOTTLENECK, MIXES, SINGLETONS, Stages, facts_of
from inference.storage.recorded import recorded_shares, selected_schemes
from inference.storage.rows import load_mapping, load_measurements

Row = TypeVar("Row", bound=Model)

JUDGING_MIXES = "five-scheme mixes"
MEASUREMENTS = "measurements"
_BOTTLENECK_EXPERIMENTS = 250  # about
_SPARE = 2  # times as many schemes as wanted are measured alone, should some not settle


@dataclass(frozen=True)
class Subject:
    """The processor in question as a run sees it.

    `held_out` are the results that the mapping is judged by; `judged_on` is the set they are from, None
    where they are a share of the training data. `machine` is what was measured, where that is known.
    `bottleneck` is what was found out about R_max, as JSON. `settled_share` tells how many of the mixes
    that were measured to judge by did settle. `judge` measures mixes when the search is over. `begun`: when
    what is recorded was measured, None where the run measures.
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
    begun: datetime | None = None

    def judged_afterwards(self, schemes: Sequence[str]) -> Subject:
        """With fresh mixes of these schemes to judge by, where it was not known before which they are."""
        if self.judge is None or not schemes:
            return self
        results, judged_on = self.judge(schemes)
        share = settled_share(results) if self.machine is not None else None
        return replace(self, held_out=tuple(results), judged_on=judged_on, settled_share=share)

    def as_stored(self, run: Run) -> Subject:
        """With the run's own mixes as they stand by now: a look for drift may have replaced some of them."""
        if self.judged_on is None or self.judged_on.run_id != run.pk:
            return self
        stored = sorted(load_measurements(self.judged_on), key=lambda each: each.experiment)
        share = None if self.settled_share is None else settled_share(stored)
        return replace(self, held_out=tuple(stored), settled_share=share)


def own_stages(config: InferConfig) -> tuple[str, ...]:
    """The stages of such a run before those of its algorithm."""
    if isinstance(config.source, RecordedSource):
        return ()
    stages = []
    if _is_explored(config):
        stages.append(SINGLETONS)
        if _wants_bottleneck(config):
            stages.append(BOTTLENECK)
    if config.evaluate is None and not ALGORITHMS[config.algorithm].explores:
        stages.append(MIXES)
    return tuple(stages)


def last_stages(config: InferConfig) -> tuple[str, ...]:
    """Those after the stages of its algorithm."""
    fresh = not isinstance(config.source, RecordedSource) and config.evaluate is None
    return (MIXES,) if fresh and ALGORITHMS[config.algorithm].explores else ()


@contextmanager
def open_subject(task: Task, config: InferConfig, stages: Stages) -> Iterator[Subject]:
    """Load the data, or measure what has to be known before the search. Raises `JobError`.

    Its measurer answers as long as the context lasts.
    """
    isa = ISA.objects.get(name=config.isa)
    judged_on = None
    if config.evaluate is not None:
        judged_on = needed_row(ExperimentSet, config.evaluate, "evaluation set")
    if isinstance(config.source, RecordedSource):
        yield _recorded(config, isa, config.source.datasets, judged_on, stages)
    elif isinstance(config.source, MachineSource) and _has_agent(config):
        machine = needed_row(Machine, config.source.machine)
        chosen = chosen_schemes(isa, config.schemes)
        with agent_measurer(task, machine, chosen) as measurer:
            lab = _Laboratory(task, config, isa, machine, measurer, stages)
            able = within_reach(measurer, chosen, stages.log)
            if _is_explored(config):
                yield lab.explored(able, judged_on)
            else:
                yield lab.subject(spread(able, config.sample), judged_on)
    else:
        processor, known, simulated = _processor(config)
        admitted = selected_schemes(isa, config.schemes)
        schemes = sorted(known if admitted is None else known & admitted)
        if not schemes:
            raise JobError("none of the chosen schemes can be measured there")
        lab = _Laboratory(task, config, isa, simulated, processor, stages)
        if _is_explored(config):
            yield lab.explored(schemes, judged_on)
        else:
            yield lab.subject(spread(schemes, config.sample), judged_on)


def _recorded(
    config: InferConfig, isa: ISA, datasets: list[int], judged_on: ExperimentSet | None, stages: Stages
) -> Subject:
    sets = list(ExperimentSet.objects.filter(pk__in=datasets))
    if len(sets) < len(datasets):
        raise JobError("an experiment set that this run was to learn from has been deleted")
    share = config.held_out if judged_on is None else 0.0
    shares = recorded_shares(sets, config.schemes, share, config.seed, judged_on, config.never_held_out)
    results = [row.value for row in shares.training]
    if shares.recurring and judged_on is not None:
        if not results:
            raise JobError(
                f"all {shares.recurring:,} experiments to learn from are in {judged_on.name!r} too, which "
                "shall judge: judge on another set, or on a share held out"
            )
        stages.log(
            f"{shares.recurring:,} experiment(s) to learn from are in {judged_on.name!r} too: they judge, "
            "and are not learnt from"
        )
    if not results:
        raise JobError("the experiment sets have no usable measurement of the chosen schemes alone")
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
        begun=min(row.run.created if row.run else row.created for row in sets),
    )


@dataclass(eq=False)
class _Laboratory:
    """Measures for one run, and stores what it measures."""

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
        """The processor measured anew: remembered where measuring takes time."""
        if isinstance(self.measurer, RepeatingMeasurer):
            return self.measurer.again(number)
        store = self._remember(purpose=MEASUREMENTS, repeat=number)
        return CachedMeasurer(self.measurer, store)

    def explored(self, schemes: Sequence[str], judged_on: ExperimentSet | None) -> Subject:
        """Of which something is found out first: what cannot be measured reliably alone is left out.

        A search that is taken up again goes on with the schemes and the bottleneck that it began with.
        """
        if self._earlier:
            self.stages.facts = dict(self._earlier)
        else:
            alone = self._sampled(self._alone(self._sampled(schemes, _SPARE)))
            bottleneck = self._bottleneck(alone) if _wants_bottleneck(self.config) else None
            self.stages.facts = {"schemes": alone, "bottleneck": bottleneck}
        facts = self.stages.facts
        return self.subject(facts["schemes"], judged_on, facts["bottleneck"])

    def _sampled(self, schemes: Sequence[str], factor: int = 1) -> Sequence[str]:
        sample = self.config.sample
        return spread(schemes, None if sample is None else factor * sample)

    def subject(
        self, schemes: Sequence[str], judged_on: ExperimentSet | None, bottleneck: Json | None = None
    ) -> Subject:
        """With mixes to judge by, unless there is a set for that."""
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
        """Exact searches ask few experiments, one by one, and a computer may be disturbed at any of them."""
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
        told = self.stages.told(SINGLETONS, self._for_search(), len(schemes))
        alone = measured_alone(told, schemes, self.stages.log)
        if self.config.schemes != PROBE_SELECTION or not _is_exact(self.config):
            return list(alone)
        single = single_uops(alone, self._epsilon, self.stages.log)
        if not single:
            raise JobError("none of the probes takes as long as a single µop does: choose other schemes")
        return single

    def _bottleneck(self, schemes: Sequence[str]) -> Json:
        self.stages.enter(BOTTLENECK)
        told = self.stages.told(BOTTLENECK, self._cached, _BOTTLENECK_EXPERIMENTS)
        told.guessed = True
        found = measure_bottleneck(schemes, told, self.stages)
        documented = None
        if self.machine is not None and _is_exact(self.config):
            documented = documented_r_max(self.machine)
        return bottleneck_facts(found, documented, self.stages.log)

    def _mixes(self, schemes: Sequence[str]) -> tuple[list[Measured], ExperimentSet | None]:
        store = self._remember(purpose=JUDGING_MIXES)
        if self._earlier and store.experiment_set is not None:
            return load_measurements(store.experiment_set), store.experiment_set
        self.stages.enter(MIXES)
        asked = random_mixes(schemes, self.config.mixes, self.config.seed)
        told = self.stages.told(MIXES, CachedMeasurer(self.measurer, store), len(asked))
        results = list(told.measure(asked))
        settled = sum(result.usable for result in results)
        self.stages.log(
            f"{len(results)} {JUDGING_MIXES} measured to judge the mapping by, {settled} of them usable "
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
    """Whether schemes are measured alone, and the bottleneck is looked for, before the search begins."""
    wanted = (_has_agent(config) or _is_exact(config)) and not ALGORITHMS[config.algorithm].explores
    return not isinstance(config.source, RecordedSource) and wanted


def _wants_bottleneck(config: InferConfig) -> bool:
    return config.bottleneck and getattr(config.settings, "r_max", 0) is None


def _processor(config: InferConfig) -> tuple[SimulatedProcessor, set[str], Machine | None]:
    """Who simulates, the schemes it knows, and the machine it stands for."""
    source = config.source
    if isinstance(source, MachineSource):
        machine = needed_row(Machine, source.machine)
        return *simulated_machine(machine), machine
    assert isinstance(source, SimulatedSource)
    mapping = load_mapping(needed_row(PortMapping, source.simulate))
    noise = source.model_dump(exclude={"simulate"})
    return SimulatedProcessor(mapping, seed=config.seed, **noise), known_schemes(mapping), None
