"""The measuring stage: the plan is asked, the usable answers are kept, and R_max is seen in them (§3.2.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from inference.core.bottleneck import Bottleneck, measure_bottleneck, whole_rate
from inference.core.errors import InsufficientDataError, InvalidInputError
from inference.core.events import ExperimentsCounted, Log, Progress
from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.core.pacing import PacedReporter
from inference.core.pmevo import plan
from inference.core.pmevo.adaptive import adaptive
from inference.core.pmevo.congruence import Classes, Likeness, congruent_schemes
from inference.core.pmevo.events import Saved
from inference.core.pmevo.problem import PMEvoProblem
from inference.core.protocols import Measurer

_QUANTILE = 0.99
"""Of the instructions per cycle: beyond it may be measurements that went wrong."""

_NEAR = 0.03  # within this share of it, an experiment is at the ceiling
_LEAST_SHARE = 0.02  # of the experiments must be there,
_LEAST_NUMBER = 20  # and so many in all,
_LEAST_SCHEMES = 0.2  # with this share of the schemes
_STRAY = 3  # readings, or one in a thousand, may be quicker than anything is


def ceiling_of(times: Mapping[Experiment, float], searched: Bottleneck | None = None) -> float | None:
    """Instructions per cycle that nothing exceeds, where many different experiments reach it; else None.

    A processor's ports alone let different mixes through at different rates; that many of them crowd at the
    same highest rate is the mark of a bottleneck that all instructions share. Pairs crowd there without one
    where any two of three units have as many ports: what was `searched` for a higher rate contradicts.
    """
    crowded = _crowded_rate(times)
    if searched is None or (crowded is not None and searched.highest < (1 - _NEAR) * crowded):
        return crowded
    if crowded is not None and searched.highest <= (1 + _NEAR) * crowded:
        return whole_rate(searched.highest)  # of the crowd, only what noise makes quickest was seen
    return searched.r_max


def _crowded_rate(times: Mapping[Experiment, float]) -> float | None:
    if not times:
        return None
    rates = np.array([experiment.length / cycles for experiment, cycles in times.items()])
    highest = float(np.quantile(rates, _QUANTILE))
    near = np.abs(rates / highest - 1) <= _NEAR
    quicker = np.count_nonzero(rates > (1 + _NEAR) * highest)
    if quicker > max(_STRAY, len(rates) / 1000):
        return None
    if near.sum() < max(_LEAST_NUMBER, _LEAST_SHARE * len(rates)):
        return None
    schemes = {scheme for experiment in times for scheme in experiment.schemes}
    there = {
        scheme
        for experiment, reaches in zip(times, near.tolist(), strict=True)
        if reaches
        for scheme in experiment.schemes
    }
    return highest if len(there) >= _LEAST_SCHEMES * len(schemes) else None


Cycles = npt.NDArray[np.float64]
PHASE = "measuring"
UNUSABLE = tuple(state for state in MeasurementState if state is not MeasurementState.SETTLED)


@dataclass(frozen=True)
class Observations:
    """What the search knows: usable cycles per experiment, and a time per scheme that has any evidence.

    `scheme_times`: cycles of the singleton, or where there is none the tightest upper bound that the
    experiments with the scheme give (an experiment never takes less time than a part of it). `exhaustive`:
    how many experiments the paper's plan has for these schemes, None for recorded data. `classes` of
    congruent schemes, and `likeness`, why, where they were found while measuring; None where they still have
    to be. `ceiling`: instructions per cycle of a bottleneck beside the ports, None where nothing shows one.
    """

    times: dict[Experiment, float]
    scheme_times: dict[str, float]
    exhaustive: int | None = None
    classes: Classes | None = None
    likeness: Mapping[str, Likeness] = field(default_factory=dict)
    ceiling: float | None = None


class Observer:
    """Asks a measurer and keeps count; `answered` are the plan's first answers, known from a checkpoint.

    `unusable`: how many of these are none, by state; those that an older checkpoint has forgotten lack.
    What is asked depends on the answers so far: a plan that goes on repeats its decisions with those known.
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
        """Cycles so far in the order of the plan, NaN where there was no usable answer."""
        return np.array(self._answers)

    @property
    def unusable(self) -> dict[str, int]:
        """How many of them are none, by state."""
        return {state.value: count for state, count in self._unusable.items()}

    def observe(self, problem: PMEvoProblem) -> Observations:
        """Run the plan: everything on offer, or singletons, then pairs (§5.1.1), then mixes."""
        wanted = set(problem.schemes)
        self._judging = frozenset(result.experiment for result in problem.held_out)
        offers = self._measurer.offers()
        if offers is not None:
            asked = [e for e in dict.fromkeys(offers) if wanted.issuperset(e.schemes)]
            if not asked:
                raise InsufficientDataError(
                    f"none of the {len(offers)} recorded experiments consists of the {len(wanted)} "
                    "schemes asked for alone"
                )
            self._ask(asked, len(asked))
            if problem.asks_for_ceiling:
                self._ceiling = ceiling_of(self._usable())
        else:
            self._measure(sorted(wanted), problem)
        if len(self._answers) > len(self._experiments):
            raise InvalidInputError(
                f"the checkpoint has {len(self._answers)} answers for {len(self._experiments)} experiments"
            )
        return self._conclude(problem.schemes)

    def _measure(self, schemes: Sequence[str], problem: PMEvoProblem) -> None:
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
            self._ceiling = ceiling_of(self._usable(), self._searched(alone, problem))

    def _searched(self, alone: Mapping[str, float], problem: PMEvoProblem) -> Bottleneck | None:
        """What a search for the highest rate comes to; None where the plan is the paper's."""
        if problem.settings.plan != "adaptive":
            return None
        heads = [members[0] for members in self._classes or () if members[0] in alone]
        executed = [scheme for scheme in heads if scheme in problem.domains]
        return measure_bottleneck(executed or heads, self, self._pace)

    def measure(self, experiments: Iterable[Experiment]) -> list[Measured]:
        """Results of experiments: those that were asked before, and of others but those that judge."""
        experiments, known = list(experiments), self._judging.union(self._experiments)
        fresh = [each for each in experiments if each not in known]
        self._ask(fresh, len(self._experiments) + len(fresh))
        times = self._usable()
        return [
            Measured(each, times[each]) if each in times else Measured(each, None, MeasurementState.FAILED)
            for each in experiments
        ]

    def _adapt(self, alone: Mapping[str, float], problem: PMEvoProblem) -> None:
        """Measure in rounds, each of which depends on the answers to those before it."""
        settings = problem.settings
        rounds = adaptive(
            alone,
            settings.congruence_epsilon,
            settings.congruence_evidence,
            most=settings.most_experiments,
            domains=problem.apart,
        )
        answers: Sequence[float] = ()
        try:
            asked = next(rounds)
            while True:
                self._pace.pulse()
                answers = self._ask(asked, len(self._experiments) + len(asked))
                asked = rounds.send(answers)
        except StopIteration as end:
            found = end.value
        self._classes, self._likeness = found.classes, found.likeness
        assert self._exhaustive is not None, "counted with the times alone"
        saved = Saved(len(self._experiments), self._exhaustive, len(found.classes), found.second_opinions)
        self._pace.emit(saved)
        self._pace.emit(Log("info", saved.text()))

    def _mix(self, alone: Mapping[str, float], problem: PMEvoProblem) -> None:
        """Measure mixes of representatives, for which their classes have to be known."""
        settings = problem.settings
        if self._classes is None:
            self._classes, self._likeness = congruent_schemes(
                sorted(alone), self._usable(), settings, self._pace.pulse, problem.apart
            )
        representatives = [members[0] for members in self._classes]
        known = self._judging.union(self._experiments)
        wanted = round(settings.learnt_mixes * len(representatives))
        mixes = plan.mixes(representatives, wanted, self._seed, known)
        self._ask(mixes, len(self._experiments) + len(mixes))

    def _ask(self, experiments: Sequence[Experiment], total: int) -> list[float]:
        """Cycles of the experiments, NaN for those without a usable answer."""
        begin = len(self._experiments)
        known = max(0, len(self._answers) - begin)
        self._experiments.extend(experiments)
        for result in self._measurer.measure(experiments[known:]):
            self._take(result)
            self._pace.pulse()
            if self._pace.due(PHASE):
                self._tell(total)
            self._save()
        self._tell(total)
        return self._answers[begin : len(self._experiments)]

    def _take(self, result: Measured) -> None:
        usable = result.usable and result.cycles is not None
        self._answers.append(result.cycles if usable and result.cycles is not None else np.nan)
        if not usable:
            self._unusable[result.state] += 1
        self._fresh += 1

    def _tell(self, total: int) -> None:
        asked = len(self._answers)
        done = min(asked, total)  # answers that a checkpoint has to later questions are no part of this
        settled = int(np.count_nonzero(~np.isnan(self._answers)))
        seconds = self._pace.clock() - self._start
        rate = self._fresh / seconds if seconds > 0 else 0.0
        eta = (total - done) / rate if rate > 0 else None
        self._pace.emit(ExperimentsCounted(asked, settled, **self._others(asked - settled)))
        self._pace.emit(Progress(PHASE, done, total, rate, "experiments", eta))

    def _others(self, unusable: int) -> dict[str, int]:
        """The answers without use by state; all are "failed" where some of them are from a checkpoint."""
        if self._unusable.total() < unusable:
            return {MeasurementState.FAILED.value: unusable}
        return {state.value: self._unusable[state] for state in UNUSABLE}

    def _usable(self) -> dict[Experiment, float]:
        return {
            experiment: cycles
            for experiment, cycles in zip(self._experiments, self._answers, strict=False)
            if not np.isnan(cycles)
        }

    def _conclude(self, schemes: Sequence[str]) -> Observations:
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
            shown = "; ".join(missing[:5]) + (" …" if len(missing) > 5 else "")
            self._pace.emit(
                Log("warning", f"{len(missing)} scheme(s) without a usable measurement are left out: {shown}")
            )
        return Observations(
            times,
            bounds | alone,
            self._exhaustive,
            self._completed(schemes, bounds),
            self._likeness,
            self._ceiling,
        )

    def _completed(self, schemes: Sequence[str], seen: Collection[str]) -> Classes | None:
        """The classes with all schemes that were seen: one without a time alone is like no other."""
        if self._classes is None:
            return None
        known = {scheme for members in self._classes for scheme in members}
        return tuple(sorted([*self._classes, *((s,) for s in schemes if s in seen and s not in known)]))
