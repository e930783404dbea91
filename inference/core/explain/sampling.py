"""Measuring the same experiment again and again, as often as a small difference needs.

A measurer answers the same question with the same number, so that nothing is measured twice by accident. To
measure anew on purpose, a `RepeatingMeasurer` is asked for its next repetition. Medians count (§6.3).
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.core.pacing import PacedReporter
from inference.core.protocols import Json, Measurer, RepeatingMeasurer

MEDIAN_LOSS = math.sqrt(math.pi / 2)
"""Standard error of a median of Gaussian samples, relative to that of their mean."""

_VARIANCE_OF_TWO = 0.4549
"""The median of a χ² distribution with one degree of freedom."""

LEAST_TO_JUDGE = 7
"""Samples from which stability is judged."""

_LEAST_PAIRS = 20
"""Pairs of samples that tell whether noise grows with the time."""

NOT_RECORDED = "not among the recorded experiments"

LEAST_NOISE = 2e-4
"""Cycles per instruction: no clock is better, and a recorded 0 would make everything unstable."""


@dataclass(frozen=True)
class SampledCycles:
    """The median of an experiment's samples; `cycles` is None where none is usable, and `note` says why.

    `samples` are those that count. `counters`: medians of what was counted, per execution of the experiment.
    """

    experiment: Experiment
    cycles: float | None
    samples: int
    counters: Mapping[str, float] = field(default_factory=dict)
    note: str = ""


class MeasurementSampler:
    """Samples of a measurer's answers.

    `noise` is the standard deviation of a sample in cycles per instruction, as far as is known;
    `relative_noise` the same as a share of the time where it grows with that, else 0.
    """

    def __init__(self, measurer: Measurer, pace: PacedReporter, most: int) -> None:
        self._measurer = measurer
        self._pace = pace
        self._most = most if isinstance(measurer, RepeatingMeasurer) else 1
        offers = measurer.offers()
        self.offers = offers
        self._offered = None if offers is None else frozenset(offers)
        self._floods = _floods(offers or ())
        self._samples: dict[Experiment, list[Measured]] = {}
        self._first: dict[Experiment, int] = {}
        self.noise = LEAST_NOISE
        self.relative_noise = 0.0
        self.measurements = 0

    @property
    def distinct(self) -> int:
        """Different experiments asked so far."""
        return len(self._samples)

    @property
    def identity(self) -> Json:
        return self._measurer.identity

    def has(self, experiment: Experiment) -> bool:
        """Whether it can be asked at all."""
        return self._offered is None or experiment in self._offered

    def mixes_of(self, schemes: Collection[str]) -> list[Experiment]:
        """Experiments of two of these schemes and no other that were asked."""
        return [
            each
            for each in self._samples
            if len(each.terms) == 2 and all(s in schemes for s, _ in each.terms)
        ]

    def recorded(self) -> Iterator[Measured]:
        """All recorded data; nothing where anything can be measured."""
        return iter(()) if self.offers is None else self._measurer.measure(self.offers)

    def floods(self, blocker: str, scheme: str) -> Sequence[int]:
        """How many copies of a blocking instruction were recorded beside a scheme."""
        return self._floods.get(blocker, {}).get(scheme, ())

    def partners(self, scheme: str) -> list[str]:
        """Schemes of which one was recorded beside one of this; none where anything can be measured."""
        return [partner for partner, copies in self._floods.get(scheme, {}).items() if 1 in copies]

    def copies(self, blocker: str, scheme: str, wanted: int) -> int:
        """So many copies of a blocking instruction as can be asked beside a scheme: of recorded data, the
        most that there are where `wanted` were not recorded."""
        recorded = self.floods(blocker, scheme)
        return max(recorded) if recorded and wanted not in recorded else wanted

    def beside(self, blocker: str) -> int:
        """How many schemes were recorded beside copies of this one; 0 where anything can be measured."""
        return len(self._floods.get(blocker, ()))

    @property
    def repeats(self) -> bool:
        """Whether anything can be measured more than once."""
        return self._most > 1

    def ask(self, wanted: Mapping[Experiment, int]) -> None:
        """See to it that so many samples of each experiment count, as far as the measurer repeats."""
        pending = {e: min(number, self._most) for e, number in wanted.items()}
        while pending := {e: number for e, number in pending.items() if self.count(e) < number}:
            taken = {experiment: len(self._samples.get(experiment, ())) for experiment in pending}
            least = min(taken.values())
            self._measure([experiment for experiment, number in taken.items() if number == least], least)

    def forget(self, experiments: Iterable[Experiment]) -> None:
        """Let the samples that there are no longer count, where others can be taken."""
        if self.repeats:
            self._first |= {each: len(self._samples.get(each, ())) for each in experiments}

    def _counting(self, experiment: Experiment) -> Sequence[Measured]:
        return self._samples.get(experiment, [])[self._first.get(experiment, 0) :]

    def _measure(self, experiments: Sequence[Experiment], number: int) -> None:
        measurer = self._measurer
        if isinstance(measurer, RepeatingMeasurer) and number:
            measurer = measurer.again(number)
        asked = [e for e in experiments if self.has(e)]
        for experiment in experiments:
            if not self.has(experiment):
                failed = Measured(experiment, None, MeasurementState.FAILED, note=NOT_RECORDED)
                self._samples.setdefault(experiment, []).append(failed)
        for measured in measurer.measure(asked):
            self._samples.setdefault(measured.experiment, []).append(measured)
            self.measurements += 1
            self._pace.pulse()

    def count(self, experiment: Experiment) -> int:
        """Samples that count, usable or not."""
        return len(self._counting(experiment))

    def reading(self, experiment: Experiment, since: int = 0) -> SampledCycles:
        """What the samples say, from the one with that number on."""
        samples = self._counting(experiment)
        usable = [each for each in samples[since:] if each.usable]
        if not usable:
            return SampledCycles(experiment, None, 0, note=_why(samples))
        times = [each.cycles for each in usable if each.cycles is not None]
        return SampledCycles(experiment, statistics.median(times), len(times), _counters(usable))

    def is_unstable(self, experiment: Experiment, off: float) -> bool:
        """Whether a quarter of the samples, and at least two, are `off` cycles or more from the median.

        One sample in many is disturbed now and then; what has two speeds shows either of them often.
        """
        times = self._times(experiment)
        if len(times) < LEAST_TO_JUDGE:
            return False
        middle = statistics.median(times)
        stray = sum(abs(time - middle) >= off for time in times)
        return stray >= max(2, len(times) / 4)

    def is_suspicious(self, experiment: Experiment, off: float) -> bool:
        """Whether some samples differ so much that more of them should be asked for."""
        times = self._times(experiment)
        return 2 <= len(times) < LEAST_TO_JUDGE and max(times) - min(times) >= off

    def _times(self, experiment: Experiment) -> list[float]:
        return [e.cycles for e in self._counting(experiment) if e.usable and e.cycles is not None]

    def enough(self, experiment: Experiment, error: float, least: int) -> int:
        """How many samples make the median's standard error at most `error` cycles."""
        if error <= 0:
            return least
        one = MEDIAN_LOSS * self.deviation(experiment, self._serial(experiment)) / error
        return min(self._most, max(least, math.ceil(one * one)))

    def deviation(self, experiment: Experiment, cycles: float | None) -> float:
        """The usual standard deviation of a sample, in cycles; `cycles`: about what it takes."""
        if not self.relative_noise or cycles is None:
            return self.noise * experiment.length
        return max(LEAST_NOISE * experiment.length, self.relative_noise * cycles)

    def _serial(self, experiment: Experiment) -> float | None:
        """What an experiment takes if its instructions run one after the other, as in a flood."""
        if not self.relative_noise:
            return None
        total = 0.0
        for scheme, count in experiment.terms:
            samples = self._samples.get(Experiment.of([scheme]), ())
            cycles = next((each.cycles for each in samples if each.usable), None)
            if cycles is None:
                return None
            total += count * cycles
        return total

    def error(self, reading: SampledCycles) -> float:
        """The median's standard error in cycles, by the usual noise."""
        one = self.deviation(reading.experiment, reading.cycles)
        return one if reading.samples < 2 else MEDIAN_LOSS * one / math.sqrt(reading.samples)

    def learn_noise(self, experiments: Iterable[Experiment]) -> None:
        """Take the usual noise from pairs of samples of these; what is not typical plays no part.

        It grows with the time where the slower half of them scatters more than the quicker one, by more than
        the geometric mean of what either kind of noise would show.
        """
        pairs = []
        for experiment in experiments:
            usable = [each.cycles for each in self._samples.get(experiment, ())[:2] if each.usable]
            if len(usable) == 2 and usable[0] is not None and usable[1] is not None:
                pairs.append((usable[0] / experiment.length, usable[1] / experiment.length))
        if pairs:
            self.noise = max(LEAST_NOISE, _deviation(pairs))
        if len(pairs) >= _LEAST_PAIRS:
            pairs.sort(key=sum)
            quick, slow = pairs[: len(pairs) // 2], pairs[len(pairs) // 2 :]
            slower = statistics.median(map(sum, slow)) / statistics.median(map(sum, quick))
            if _deviation(slow) > math.sqrt(slower) * _deviation(quick):
                self.relative_noise = _deviation([(1.0, second / first) for first, second in pairs])


def _floods(offers: Iterable[Experiment]) -> dict[str, dict[str, list[int]]]:
    """{blocking instruction: {scheme: [copies beside one of it]}}, of recorded data."""
    found: dict[str, dict[str, list[int]]] = {}
    for experiment in offers:
        if len(experiment.terms) == 2:
            for (blocker, copies), (scheme, count) in itertools.permutations(experiment.terms):
                if count == 1:
                    found.setdefault(blocker, {}).setdefault(scheme, []).append(copies)
    return found


class Medians:
    """A measurer that answers with medians whose standard error is at most `error` cycles/instruction."""

    def __init__(self, sampler: MeasurementSampler, least: int, error: float) -> None:
        self._sampler = sampler
        self._least = least
        self._error = error

    @property
    def identity(self) -> Json:
        """That of the measurer behind."""
        return self._sampler.identity

    def offers(self) -> Sequence[Experiment] | None:
        """Those of the measurer behind."""
        return self._sampler.offers

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        """One result per experiment, in order."""
        asked = list(experiments)
        self._sampler.ask({e: self._sampler.enough(e, self._error * e.length, self._least) for e in asked})
        for experiment in asked:
            reading = self._sampler.reading(experiment)
            if reading.cycles is None:
                yield Measured(experiment, None, MeasurementState.FAILED, note=reading.note)
            else:
                yield Measured(experiment, reading.cycles, passes=reading.samples)


def _deviation(pairs: Iterable[tuple[float, float]]) -> float:
    """The standard deviation of samples, from pairs of them; that of a median, lest a few stray."""
    squares = ((first - second) ** 2 / 2 for first, second in pairs)
    return math.sqrt(statistics.median(squares) / _VARIANCE_OF_TWO)


def _counters(samples: Sequence[Measured]) -> dict[str, float]:
    names = set.intersection(*(set(each.counters) for each in samples))
    return {name: statistics.median(each.counters[name] for each in samples) for name in sorted(names)}


def _why(samples: Sequence[Measured]) -> str:
    notes = [each.note or each.state.value for each in samples]
    return notes[-1] if notes else "not measured"
