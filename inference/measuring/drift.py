"""Drift checks: every few minutes some settled results are measured again, to see whether they still hold.

Checks are mixed with a run's own experiments and take a small share of its time. A result that a check
contradicts is measured a second time. Where that agrees with the first number, the check was the outlier;
where it does not, the result is replaced, or counts as unsettled if the two new ones do not agree either.
"""

from __future__ import annotations

import math
import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum

from inference.agent.protocol import Settings
from inference.core.experiment import Experiment, Measured, MeasurementState

CHECK_INTERVAL = 180.0
"""Seconds of measuring between two checks."""

MAX_CHECKS = 8
"""Largest number of results that are measured again at a time."""

MAX_CHECK_SHARE = 0.02
"""Largest share of the experiments since the last check that are measured again."""

MAX_CANDIDATES = 2000
"""Largest number of candidates; above it, a random sample."""

_RELATIVE_TOLERANCE = 0.005  # what settling allows slow experiments (docs/measuring.md)
_READINGS = 2  # both numbers may be off by the tolerance

Measure = Callable[[Iterable[Experiment]], Iterator[Measured]]


class DriftVerdict(StrEnum):
    """Outcome of measuring a result again."""

    AGREES = "agrees"
    DOUBTED = "doubted"  # contradicted once: it is measured again
    WITHSTOOD = "withstood"  # the second time agreed with it
    REPLACED = "replaced"  # contradicted twice by numbers that agree
    UNSETTLED = "unsettled"  # contradicted twice by numbers that do not


@dataclass(frozen=True)
class DriftComparison:
    """A result before and after it was measured again, in cycles."""

    experiment: Experiment
    before: float
    after: tuple[float, ...]
    verdict: DriftVerdict

    @property
    def deviation(self) -> float:
        """The last number divided by the original, minus 1."""
        return self.after[-1] / self.before - 1


@dataclass(frozen=True)
class DriftCheck:
    """One round of checks.

    Attributes:
        unanswered: Number of checks without a number to compare.
        amended: (replaced number, new result) of contradicted results.
    """

    compared: tuple[DriftComparison, ...]
    unanswered: int = 0
    amended: tuple[tuple[float, Measured], ...] = ()


@dataclass
class _Round:
    waiting: int
    compared: list[DriftComparison] = field(default_factory=list)
    unanswered: int = 0
    amended: list[tuple[float, Measured]] = field(default_factory=list)


def allowed_difference(cycles: float, length: int, tolerance: float) -> float:
    """Cycles by which two settled results of an experiment of `length` instructions may differ.

    `tolerance`: of the agent's settings, in cycles per instruction.
    """
    return _READINGS * max(tolerance * length, _RELATIVE_TOLERANCE * cycles)


class DriftWatch:
    """Adds checks to the experiments of a measurer, and reports their outcome.

    `report` is called at the end of every round. `seed` determines which results are measured again.
    """

    def __init__(
        self,
        settings: Settings,
        report: Callable[[DriftCheck], None],
        *,
        seed: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tolerance = settings.tolerance
        self._report = report
        self._random = random.Random(seed)  # noqa: S311  a sample, not a secret
        self._clock = clock
        self._settled: list[Measured] = []
        self._n_settled = 0
        self._n_since_check = 0
        self._measuring = 0.0
        self._round: _Round | None = None
        self._doubts: dict[Experiment, tuple[Measured, float]] = {}
        self._under_check: dict[Experiment, Measured] = {}

    def over(self, measure: Measure, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        """The results of `measure` for the experiments, in order, without those of the added checks."""
        checks: deque[bool] = deque()

        def with_checks() -> Iterator[Experiment]:
            for experiment in experiments:
                for pending in self._due():
                    checks.append(True)
                    yield pending
                checks.append(False)
                yield experiment

        since = self._clock()
        try:
            for result in measure(with_checks()):
                self._measuring += self._clock() - since
                if checks.popleft():
                    self._compare(result)
                else:
                    self._remember(result)
                    yield result
                since = self._clock()
            while doubtful := self._second_checks():
                for result in measure(doubtful):
                    self._compare(result)
        except GeneratorExit:  # the consumer is gone: nothing can be reported
            self._round = None
            raise
        finally:
            self._end_round()

    def _remember(self, result: Measured) -> None:
        """Add a settled result to the candidates.

        All results so far are candidates with the same probability.
        """
        if not result.usable:
            return
        self._n_since_check += 1
        self._n_settled += 1
        if len(self._settled) < MAX_CANDIDATES:
            self._settled.append(result)
        elif (place := self._random.randrange(self._n_settled)) < MAX_CANDIDATES:
            self._settled[place] = result

    def _due(self) -> list[Experiment]:
        """The experiments to measure again now: second checks, and every few minutes a new round."""
        if second := self._second_checks():
            return second
        number = min(MAX_CHECKS, math.floor(MAX_CHECK_SHARE * self._n_since_check))
        if self._round is not None or self._measuring < CHECK_INTERVAL or number < 1:
            return []
        sample = {result.experiment: result for result in self._random.sample(self._settled, number)}
        self._round = _Round(len(sample))
        self._under_check |= sample
        self._measuring = 0.0
        self._n_since_check = 0
        return list(sample)

    def _second_checks(self) -> list[Experiment]:
        """Contradicted results that have not been measured a second time."""
        doubtful = [experiment for experiment in self._doubts if experiment not in self._under_check]
        self._under_check |= {experiment: self._doubts[experiment][0] for experiment in doubtful}
        if doubtful:
            self._round = self._round or _Round(0)
            self._round.waiting += len(doubtful)
        return doubtful

    def _compare(self, result: Measured) -> None:
        """Take the result of an added check into account; a doubtful one was measured again."""
        before = self._under_check.pop(result.experiment, None)
        round_ = self._round
        if before is None or round_ is None:  # its round was over: the consumer is gone
            return
        round_.waiting -= 1
        doubt = self._doubts.pop(result.experiment, None)
        if result.cycles is None or not result.usable:
            round_.unanswered += 1
        elif doubt is None:
            self._record_first(round_, before, result.cycles)
        else:
            self._record_second(round_, before, doubt[1], result)
        if not round_.waiting:
            self._end_round()

    def _end_round(self) -> None:
        """Report the round; checks without a result are abandoned."""
        round_, self._round = self._round, None
        self._under_check.clear()
        if round_ is not None and (round_.compared or round_.unanswered):
            self._report(DriftCheck(tuple(round_.compared), round_.unanswered, tuple(round_.amended)))

    def _record_first(self, round_: _Round, before: Measured, now: float) -> None:
        assert before.cycles is not None
        agrees = self._agree(before.experiment, before.cycles, now)
        verdict = DriftVerdict.AGREES if agrees else DriftVerdict.DOUBTED
        round_.compared.append(DriftComparison(before.experiment, before.cycles, (now,), verdict))
        if not agrees:
            self._doubts[before.experiment] = (before, now)

    def _record_second(self, round_: _Round, before: Measured, first: float, result: Measured) -> None:
        """Decide a doubt by a second reading: the old result holds, is replaced, or counts as unsettled."""
        assert before.cycles is not None
        assert result.cycles is not None
        experiment, second = before.experiment, result.cycles
        if self._agree(experiment, before.cycles, second):
            verdict = DriftVerdict.WITHSTOOD
        else:
            agree = self._agree(experiment, first, second)
            verdict = DriftVerdict.REPLACED if agree else DriftVerdict.UNSETTLED
            readings = f"{first:.4g} and {second:.4g}"
            note = f"drift check: {before.cycles:.4g} cycles before, measured again as {readings}"
            state = MeasurementState.SETTLED if agree else MeasurementState.UNSETTLED
            round_.amended.append((before.cycles, replace(result, state=state, note=note)))
            self._settled = [row for row in self._settled if row.experiment != experiment]
            if agree:
                self._settled.append(result)
        round_.compared.append(DriftComparison(experiment, before.cycles, (first, second), verdict))

    def _agree(self, experiment: Experiment, before: float, now: float) -> bool:
        return abs(now - before) <= allowed_difference(min(before, now), experiment.length, self._tolerance)
