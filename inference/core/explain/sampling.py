"""Repeated measurements of experiments, as many as a small difference requires.

A measurer returns the same result for the same experiment, so that none is measured twice by accident. To
take another sample, a `RepeatingMeasurer` is asked for its next repetition. Medians count (§6.3).
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

MIN_SAMPLES = 7
"""Samples from which stability is judged."""

_MIN_PAIRS = 20
"""Pairs of samples that are needed to decide whether noise grows with the time."""

NOT_RECORDED = "not among the recorded experiments"

MIN_NOISE = 2e-4
"""Cycles per instruction: no clock is more exact, and with a noise of 0 any sample would be unstable."""


@dataclass(frozen=True)
class SampledCycles:
    """The median of an experiment's samples; `cycles` is None where none is usable, and `note` is the
    reason.

    Attributes:
        samples: Number of usable ones.
        counters: {name: median per execution of the experiment}.
    """

    experiment: Experiment
    cycles: float | None
    samples: int
    counters: Mapping[str, float] = field(default_factory=dict)
    note: str = ""


class MeasurementSampler:
    """Samples of a measurer's results, at most `most` of each experiment.

    `noise`: standard deviation of a sample in cycles per instruction, `MIN_NOISE` before `learn_noise`;
    `relative_noise`: the same as a share of the time where it grows with that, else 0.
    """

    def __init__(self, measurer: Measurer, pace: PacedReporter, max_samples: int) -> None:
        self._measurer = measurer
        self._pace = pace
        self._most = max_samples if isinstance(measurer, RepeatingMeasurer) else 1
        offers = measurer.offers()
        self.offers = offers
        self._offered = None if offers is None else frozenset(offers)
        self._floods = _floods(offers or ())
        self._samples: dict[Experiment, list[Measured]] = {}
        self._first: dict[Experiment, int] = {}  # {experiment: number of forgotten samples}
        self.noise = MIN_NOISE
        self.relative_noise = 0.0
        self.measurements = 0

    @property
    def distinct(self) -> int:
        """Number of different experiments so far."""
        return len(self._samples)

    @property
    def identity(self) -> Json:
        return self._measurer.identity

    def has(self, experiment: Experiment) -> bool:
        """Whether it can be measured: always on a machine, else where it was recorded."""
        return self._offered is None or experiment in self._offered

    def mixes_of(self, schemes: Collection[str]) -> list[Experiment]:
        """The sampled experiments of exactly two of these schemes."""
        return [
            experiment
            for experiment in self._samples
            if len(experiment.terms) == 2 and all(s in schemes for s, _ in experiment.terms)
        ]

    def recorded(self) -> Iterator[Measured]:
        """All recorded measurements; none on a machine."""
        return iter(()) if self.offers is None else self._measurer.measure(self.offers)

    def floods(self, blocker: str, scheme: str) -> Sequence[int]:
        """Numbers of copies of a blocking instruction recorded beside a scheme; empty on a machine."""
        return self._floods.get(blocker, {}).get(scheme, ())

    def partners(self, scheme: str) -> list[str]:
        """Schemes recorded in a pair with this one; none on a machine."""
        return [partner for partner, copies in self._floods.get(scheme, {}).items() if 1 in copies]

    def copies(self, blocker: str, scheme: str, preferred: int) -> int:
        """Number of copies of a blocking instruction to use beside a scheme.

        `preferred`; of recorded data that lack it, the largest number recorded.
        """
        recorded = self.floods(blocker, scheme)
        return max(recorded) if recorded and preferred not in recorded else preferred

    def recorded_partners(self, blocker: str) -> int:
        """Number of schemes that were recorded beside copies of this one; 0 on a machine."""
        return len(self._floods.get(blocker, ()))

    @property
    def repeats(self) -> bool:
        """Whether experiments can be measured more than once."""
        return self._most > 1

    def sample(self, samples: Mapping[Experiment, int]) -> None:
        """Take samples until `samples[e]` of each experiment count, as far as the measurer repeats."""
        pending = {e: min(number, self._most) for e, number in samples.items()}
        while pending := {e: number for e, number in pending.items() if self.count(e) < number}:
            counts = {experiment: len(self._samples.get(experiment, ())) for experiment in pending}
            fewest = min(counts.values())
            self._measure([experiment for experiment, number in counts.items() if number == fewest], fewest)

    def forget(self, experiments: Iterable[Experiment]) -> None:
        """Discard the samples of experiments, if the measurer repeats."""
        if self.repeats:
            self._first |= {experiment: len(self._samples.get(experiment, ())) for experiment in experiments}

    def _current_samples(self, experiment: Experiment) -> Sequence[Measured]:
        return self._samples.get(experiment, [])[self._first.get(experiment, 0) :]

    def _measure(self, experiments: Sequence[Experiment], number: int) -> None:
        """Take sample `number`, from 0, of each experiment; recorded data have only the first."""
        measurer = self._measurer
        if number and isinstance(measurer, RepeatingMeasurer):
            measurer = measurer.repetition(number)
        offered = [e for e in experiments if self.has(e)]
        for experiment in experiments:
            if not self.has(experiment):
                failed = Measured(experiment, None, MeasurementState.FAILED, note=NOT_RECORDED)
                self._samples.setdefault(experiment, []).append(failed)
        for measured in measurer.measure(offered):
            self._samples.setdefault(measured.experiment, []).append(measured)
            self.measurements += 1
            self._pace.pulse()

    def count(self, experiment: Experiment) -> int:
        """Number of samples that count, usable or not."""
        return len(self._current_samples(experiment))

    def reading(self, experiment: Experiment, since: int = 0) -> SampledCycles:
        """The median of the samples from number `since` on."""
        samples = self._current_samples(experiment)
        usable = [sample for sample in samples[since:] if sample.usable]
        if not usable:
            return SampledCycles(experiment, None, 0, note=_why(samples))
        times = [sample.cycles for sample in usable if sample.cycles is not None]
        return SampledCycles(experiment, statistics.median(times), len(times), _counters(usable))

    def is_unstable(self, experiment: Experiment, off: float) -> bool:
        """Whether a quarter of the samples, and at least two, are `off` cycles or more from the median.

        Single samples are disturbed at times; code with two speeds shows each of them often. False with fewer
        than `MIN_SAMPLES` samples.
        """
        times = self._times(experiment)
        if len(times) < MIN_SAMPLES:
            return False
        middle = statistics.median(times)
        stray = sum(abs(time - middle) >= off for time in times)
        return stray >= max(2, len(times) / 4)

    def is_suspicious(self, experiment: Experiment, off: float) -> bool:
        """Whether samples differ by `off` cycles or more, and are too few to call the experiment unstable."""
        times = self._times(experiment)
        return 2 <= len(times) < MIN_SAMPLES and max(times) - min(times) >= off

    def _times(self, experiment: Experiment) -> list[float]:
        return [e.cycles for e in self._current_samples(experiment) if e.usable and e.cycles is not None]

    def n_samples(self, experiment: Experiment, error: float, min_samples: int) -> int:
        """Number of samples, at least `min_samples`, for a standard error of the median of `error` cycles."""
        if error <= 0:
            return min_samples
        single_error = MEDIAN_LOSS * self.deviation(experiment, self._serial(experiment)) / error
        return min(self._most, max(min_samples, math.ceil(single_error * single_error)))

    def deviation(self, experiment: Experiment, cycles: float | None) -> float:
        """The usual standard deviation of a sample, in cycles; `cycles`: the experiment's time, if known."""
        if not self.relative_noise or cycles is None:
            return self.noise * experiment.length
        return max(MIN_NOISE * experiment.length, self.relative_noise * cycles)

    def _serial(self, experiment: Experiment) -> float | None:
        """Cycles of an experiment if its instructions run one after the other, as in a flood, if known."""
        if not self.relative_noise:
            return None
        total = 0.0
        for scheme, count in experiment.terms:
            samples = self._samples.get(Experiment.of([scheme]), ())
            cycles = next((sample.cycles for sample in samples if sample.usable), None)
            if cycles is None:
                return None
            total += count * cycles
        return total

    def error(self, reading: SampledCycles) -> float:
        """Standard error of the median in cycles, from the usual noise."""
        single_error = self.deviation(reading.experiment, reading.cycles)
        return (
            single_error if reading.samples < 2 else MEDIAN_LOSS * single_error / math.sqrt(reading.samples)
        )

    def learn_noise(self, experiments: Iterable[Experiment]) -> None:
        """Estimate the usual noise from the first two samples of each experiment, robustly.

        It counts as growing with the time where the slower half of the experiments scatters more than the
        quicker half, by more than the geometric mean of what either kind of noise implies.
        """
        pairs = []
        for experiment in experiments:
            usable = [sample.cycles for sample in self._samples.get(experiment, ())[:2] if sample.usable]
            if len(usable) == 2 and usable[0] is not None and usable[1] is not None:
                pairs.append((usable[0] / experiment.length, usable[1] / experiment.length))
        if pairs:
            self.noise = max(MIN_NOISE, _deviation(pairs))
        if len(pairs) >= _MIN_PAIRS:
            pairs.sort(key=sum)
            quick, slow = pairs[: len(pairs) // 2], pairs[len(pairs) // 2 :]
            slower = statistics.median(map(sum, slow)) / statistics.median(map(sum, quick))
            if _deviation(slow) > math.sqrt(slower) * _deviation(quick):
                self.relative_noise = _deviation([(1.0, second / first) for first, second in pairs])


def _floods(offers: Iterable[Experiment]) -> dict[str, dict[str, list[int]]]:
    """{blocking instruction: {scheme: numbers of copies beside one of it}} in recorded data."""
    floods: dict[str, dict[str, list[int]]] = {}
    for experiment in offers:
        if len(experiment.terms) == 2:
            for (blocker, copies), (scheme, count) in itertools.permutations(experiment.terms):
                if count == 1:
                    floods.setdefault(blocker, {}).setdefault(scheme, []).append(copies)
    return floods


class Medians:
    """A measurer that answers with medians whose standard error is at most `error` cycles/instruction."""

    def __init__(self, sampler: MeasurementSampler, min_samples: int, error: float) -> None:
        self._sampler = sampler
        self._least = min_samples
        self._error = error

    @property
    def identity(self) -> Json:
        return self._sampler.identity

    def offers(self) -> Sequence[Experiment] | None:
        return self._sampler.offers

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        """One result per experiment, in order."""
        batch = list(experiments)
        self._sampler.sample(
            {e: self._sampler.n_samples(e, self._error * e.length, self._least) for e in batch}
        )
        for experiment in batch:
            reading = self._sampler.reading(experiment)
            if reading.cycles is None:
                yield Measured(experiment, None, MeasurementState.FAILED, note=reading.note)
            else:
                yield Measured(experiment, reading.cycles, passes=reading.samples)


def _deviation(pairs: Iterable[tuple[float, float]]) -> float:
    """Standard deviation of samples from pairs of them, by a median, which a few outliers do not change."""
    squares = ((first - second) ** 2 / 2 for first, second in pairs)
    return math.sqrt(statistics.median(squares) / _VARIANCE_OF_TWO)


def _counters(samples: Sequence[Measured]) -> dict[str, float]:
    names = set.intersection(*(set(sample.counters) for sample in samples))
    return {name: statistics.median(sample.counters[name] for sample in samples) for name in sorted(names)}


def _why(samples: Sequence[Measured]) -> str:
    notes = [sample.note or sample.state.value for sample in samples]
    return notes[-1] if notes else "not measured"
