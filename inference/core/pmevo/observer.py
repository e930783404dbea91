"""The measuring stage: it measures the plan's experiments, and infers R_max from them (§3.2.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from inference.core.bottleneck import Bottleneck, measure_bottleneck, rounded_rate
from inference.core.errors import InsufficientDataError, InvalidInputError
from inference.core.events import ExperimentsCounted, Log, Progress
from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.core.pacing import PacedReporter
from inference.core.pmevo import plan
from inference.core.pmevo.adaptive import adaptive
from inference.core.pmevo.congruence import Classes, Likeness, congruent_schemes
from inference.core.pmevo.events import PlanSavings
from inference.core.pmevo.problem import PMEvoProblem
from inference.core.protocols import Measurer

_QUANTILE = 0.99
"""Quantile of the rates that is taken as the highest: beyond it are faulty measurements."""

_NEAR = 0.03  # an experiment within this share of the highest rate is at the ceiling
_MIN_SHARE = 0.02  # of the experiments must be at the ceiling
_MIN_EXPERIMENTS = 20  # experiments must be there at least
_MIN_SCHEMES = 0.2  # of the schemes must occur in them
_STRAY = 3  # measurements, or one in a thousand, may be quicker


def ceiling_of(times: Mapping[Experiment, float], searched: Bottleneck | None = None) -> float | None:
    """The highest rate in instructions per cycle, where many different experiments reach it; else None.

    With ports alone, different mixes have different rates; many mixes at the same highest rate show a
    bottleneck that all instructions share. Pairs can also have equal rates without one, where any two of
    three units have equally many ports. Then mixes `searched` for a higher rate exceed it.
    """
    crowded = _crowded_rate(times)
    if searched is None or (crowded is not None and searched.highest < (1 - _NEAR) * crowded):
        return crowded
    if crowded is not None and searched.highest <= (1 + _NEAR) * crowded:
        return rounded_rate(searched.highest)  # of the crowd, only what noise makes quickest was seen
    return searched.r_max


def _crowded_rate(times: Mapping[Experiment, float]) -> float | None:
    """The highest rate, where enough experiments of enough schemes reach it and hardly any exceeds it."""
    if not times:
        return None
    rates = np.array([experiment.length / cycles for experiment, cycles in times.items()])
    highest = float(np.quantile(rates, _QUANTILE))
    near = np.abs(rates / highest - 1) <= _NEAR
    quicker = np.count_nonzero(rates > (1 + _NEAR) * highest)
    if quicker > max(_STRAY, len(rates) / 1000):
        return None
    if near.sum() < max(_MIN_EXPERIMENTS, _MIN_SHARE * len(rates)):
        return None
    schemes = {scheme for experiment in times for scheme in experiment.schemes}
    schemes_near = {
        scheme
        for experiment, reaches in zip(times, near.tolist(), strict=True)
        if reaches
        for scheme in experiment.schemes
    }
    return highest if len(schemes_near) >= _MIN_SCHEMES * len(schemes) else None


Cycles = npt.NDArray[np.float64]
PHASE = "measuring"
UNUSABLE = tuple(state for state in MeasurementState if state is not MeasurementState.SETTLED)


@dataclass(frozen=True)
class Observations:
    """The usable measurements, and a time for each scheme with any of them.

    `classes` of congruent schemes, with the `likeness` of their members, if the plan finds them; else None.

    Attributes:
        scheme_times: Cycles of the singleton, or without one the tightest upper bound from experiments with
            the scheme (an experiment never takes less time than a part of it).
        exhaustive: Number of experiments of the paper's plan for these schemes, None for recorded data.
        ceiling: R_max in instructions per cycle, None where the data show none.
    """

    times: dict[Experiment, float]
    scheme_times: dict[str, float]
    exhaustive: int | None = None
    classes: Classes | None = None
    likeness: Mapping[str, Likeness] = field(default_factory=dict)
    ceiling: float | None = None


class Observer:
    """Measures the plan's experiments, and counts results.

    Args:
        answered: Results of the plan's first experiments from a checkpoint, in cycles, NaN for unusable
            ones.
        unusable: {state: number of these}; older checkpoints lack some. The plan depends on results so far,
            so that a resumed one repeats its decisions with those in the checkpoint.
    """

    def __init__(
        self,
        measurer: Measurer,
        pace: PacedReporter,
        seed: int,
        answered: Cycles,
        unusable: Mapping[str, int],
        save: Callable[[], None],
    ) -> None:
        self._measurer = measurer
        self._pace = pace
        self._seed = seed
        self._answers: list[float] = answered.tolist()
        self._experiments: list[Experiment] = []
        self._save = save
        self._start = pace.clock()
        self._fresh = 0
        self._unusable = Counter({MeasurementState(state): n for state, n in unusable.items()})
        self._exhaustive: int | None = None
        self._classes: Classes | None = None
        self._likeness: Mapping[str, Likeness] = {}
        self._ceiling: float | None = None
        self._judging: frozenset[Experiment] = frozenset()

    @property
    def answers(self) -> Cycles:
        """Cycles so far in the order of the plan, NaN for unusable results."""
        return np.array(self._answers)

    @property
    def unusable(self) -> dict[str, int]:
        """{state: number of unusable results}."""
        return {state.value: count for state, count in self._unusable.items()}

    def observe(self, problem: PMEvoProblem) -> Observations:
        """Run the plan: all recorded experiments, or else singletons, then pairs (§5.1.1), then mixes.

        Raises:
            InsufficientDataError: No recorded experiment has only these schemes, or no result is usable.
            InvalidInputError: The checkpoint has more results than the plan has experiments.
        """
        schemes = set(problem.schemes)
        self._judging = frozenset(result.experiment for result in problem.held_out)
        offers = self._measurer.offers()
        if offers is not None:
            experiments = [e for e in dict.fromkeys(offers) if schemes.issuperset(e.schemes)]
            if not experiments:
                raise InsufficientDataError(
                    f"none of the {len(offers)} recorded experiments consists only of the {len(schemes)} "
                    "schemes of this run"
                )
            self._ask(experiments, len(experiments))
            if problem.asks_for_ceiling:
                self._ceiling = ceiling_of(self._usable())
        else:
            self._measure(sorted(schemes), problem)
        if len(self._answers) > len(self._experiments):
            raise InvalidInputError(
                f"the checkpoint has {len(self._answers)} answers for {len(self._experiments)} experiments"
            )
        return self._build_observations(problem.schemes)

    def _measure(self, schemes: Sequence[str], problem: PMEvoProblem) -> None:
        """Run the plan on a machine. Every step asks for what the answers before it require."""
        settings = problem.settings
        singletons = plan.singletons(schemes)
        self._ask(singletons, len(singletons))
        alone = {e.schemes[0]: cycles for e, cycles in self._usable().items()}
        self._exhaustive = len(schemes) - len(alone) + plan.exhaustive(alone, settings.congruence_epsilon)
        if settings.plan == "adaptive":
            self._adapt(alone, problem)
        else:
            self._ask(list(plan.pairs(alone, settings.congruence_epsilon)), self._exhaustive)
        if settings.learnt_mixes and alone:
            self._mix(alone, problem)
        if problem.asks_for_ceiling:
            self._ceiling = ceiling_of(self._usable(), self._search_highest_rate(alone, problem))

    def _search_highest_rate(self, alone: Mapping[str, float], problem: PMEvoProblem) -> Bottleneck | None:
        """The result of a search for the highest rate; None for the paper's plan."""
        if problem.settings.plan != "adaptive":
            return None
        heads = [members[0] for members in self._classes or () if members[0] in alone]
        executed = [scheme for scheme in heads if scheme in problem.domains]
        return measure_bottleneck(executed or heads, self, self._pace)

    def measure(self, experiments: Iterable[Experiment]) -> list[Measured]:
        """Results of experiments, without measuring held-out ones; those fail."""
        experiments, observed = list(experiments), self._judging.union(self._experiments)
        fresh = [e for e in experiments if e not in observed]
        self._ask(fresh, len(self._experiments) + len(fresh))
        times = self._usable()
        return [
            Measured(e, times[e]) if e in times else Measured(e, None, MeasurementState.FAILED)
            for e in experiments
        ]

    def _adapt(self, alone: Mapping[str, float], problem: PMEvoProblem) -> None:
        """Measure in rounds, each of which depends on the results of those before it."""
        settings = problem.settings
        rounds = adaptive(
            alone,
            settings.congruence_epsilon,
            settings.congruence_evidence,
            max_questions=settings.most_experiments,
            domains=problem.apart,
        )
        answers: Sequence[float] = ()
        try:
            experiments = next(rounds)
            while True:
                self._pace.pulse()
                answers = self._ask(experiments, len(self._experiments) + len(experiments))
                experiments = rounds.send(answers)
        except StopIteration as end:
            congruence = end.value
        self._classes, self._likeness = congruence.classes, congruence.likeness
        assert self._exhaustive is not None, "counted with the times alone"
        saved = PlanSavings(
            len(self._experiments), self._exhaustive, len(congruence.classes), congruence.second_opinions
        )
        self._pace.emit(saved)
        self._pace.emit(Log("info", saved.text()))

    def _mix(self, alone: Mapping[str, float], problem: PMEvoProblem) -> None:
        """Measure random mixes of representatives; finds the classes where the plan did not."""
        settings = problem.settings
        if self._classes is None:
            self._classes, self._likeness = congruent_schemes(
                sorted(alone), self._usable(), settings, self._pace.pulse, problem.apart
            )
        representatives = [members[0] for members in self._classes]
        observed = self._judging.union(self._experiments)
        n_mixes = round(settings.learnt_mixes * len(representatives))
        mixes = plan.mixes(representatives, n_mixes, self._seed, observed)
        self._ask(mixes, len(self._experiments) + len(mixes))

    def _ask(self, experiments: Sequence[Experiment], total: int) -> list[float]:
        """Cycles of the experiments, NaN for unusable results.

        Those that the checkpoint has results of are not measured: the plan asks in the same order as before.
        """
        begin = len(self._experiments)
        n_known = max(0, len(self._answers) - begin)
        self._experiments.extend(experiments)
        for result in self._measurer.measure(experiments[n_known:]):
            self._record(result)
            self._pace.pulse()
            if self._pace.due(PHASE):
                self._report_progress(total)
            self._save()
        self._report_progress(total)
        return self._answers[begin : len(self._experiments)]

    def _record(self, result: Measured) -> None:
        usable = result.usable and result.cycles is not None
        self._answers.append(result.cycles if usable and result.cycles is not None else np.nan)
        if not usable:
            self._unusable[result.state] += 1
        self._fresh += 1

    def _report_progress(self, total: int) -> None:
        n_answers = len(self._answers)
        done = min(n_answers, total)  # a checkpoint may have results of later experiments, too
        settled = int(np.count_nonzero(~np.isnan(self._answers)))
        seconds = self._pace.clock() - self._start
        rate = self._fresh / seconds if seconds > 0 else 0.0
        eta = (total - done) / rate if rate > 0 else None
        self._pace.emit(ExperimentsCounted(n_answers, settled, **self._unusable_counts(n_answers - settled)))
        self._pace.emit(Progress(PHASE, done, total, rate, "experiments", eta))

    def _unusable_counts(self, unusable: int) -> dict[str, int]:
        """{state: number of unusable results}; all "failed" where an older checkpoint lacks their states."""
        if self._unusable.total() < unusable:
            return {MeasurementState.FAILED.value: unusable}
        return {state.value: self._unusable[state] for state in UNUSABLE}

    def _usable(self) -> dict[Experiment, float]:
        return {
            experiment: cycles
            for experiment, cycles in zip(self._experiments, self._answers, strict=False)
            if not np.isnan(cycles)
        }

    def _build_observations(self, schemes: Sequence[str]) -> Observations:
        """The results of the plan; a scheme without any usable measurement is missing, with a warning."""
        times = self._usable()
        bounds: dict[str, float] = {}
        alone: dict[str, float] = {}
        for experiment, cycles in times.items():
            for scheme, count in experiment.terms:
                bounds[scheme] = min(bounds.get(scheme, np.inf), cycles / count)
            if experiment.is_singleton:
                alone[experiment.schemes[0]] = cycles
        if not times:
            raise InsufficientDataError(f"none of {len(self._answers)} experiments has a usable measurement")
        missing = sorted(set(schemes) - set(bounds))
        if missing:
            names = "; ".join(missing[:5]) + (" …" if len(missing) > 5 else "")
            self._pace.emit(
                Log("warning", f"{len(missing)} scheme(s) without a usable measurement are excluded: {names}")
            )
        return Observations(
            times,
            bounds | alone,
            self._exhaustive,
            self._complete_classes(schemes, bounds),
            self._likeness,
            self._ceiling,
        )

    def _complete_classes(self, schemes: Sequence[str], measured: Collection[str]) -> Classes | None:
        """The classes with a class of its own for each measured scheme without a time alone."""
        if self._classes is None:
            return None
        scheme_set = {scheme for members in self._classes for scheme in members}
        return tuple(
            sorted([*self._classes, *((s,) for s in schemes if s in measured and s not in scheme_set)])
        )
