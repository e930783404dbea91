"""Stages and progress of a run that measures before and after its algorithm."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from inference.core.events import Event, ExperimentsCounted, Log, PhaseStarted, Progress
from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.core.protocols import Checkpoint, Json, Measurer
from inference.runs.reporter import JournalReporter

SINGLETONS = "singletons"
BOTTLENECK = "bottleneck"
MIXES = "mixes"
RANDOM_MIXES = "random mixes"
ORDERS = "orders"
LABELS = {
    SINGLETONS: "Measure single instructions",
    BOTTLENECK: "Find the bottleneck rate",
    MIXES: "Measure mixes to test on",
    RANDOM_MIXES: "Measure random mixes",
    ORDERS: "Measure other orders",
}

_FACTS = "subject"
_RATE_WINDOW = 20.0  # seconds over which a rate is taken: recent, but longer than a batch
_REPORT_INTERVAL = 0.3  # seconds

Clock = Callable[[], float]


@dataclass(eq=False)
class Stages:
    """A `Reporter` for the algorithm that places its stages between the run's own stages.

    Attributes:
        reporter: Reporter of the run.
        first: Names of the stages before the algorithm, keys of `LABELS`.
        algorithm: Labels of the algorithm's stages.
        last: Names of the stages after the algorithm.
        clock: Seconds, monotonic.
        facts: Results of the first stages; saved with every checkpoint, so that a resumed run has them.
    """

    reporter: JournalReporter
    first: Sequence[str]
    algorithm: Sequence[str]
    last: Sequence[str] = ()
    clock: Clock = time.monotonic
    facts: Json = field(default_factory=dict)

    def enter(self, stage: str) -> None:
        """Begin the stage `stage` of `first` or `last`; raises what `pulse` raises."""
        labels = [LABELS[s] for s in self.first] + list(self.algorithm) + [LABELS[s] for s in self.last]
        if stage in self.first:
            index = self.first.index(stage) + 1
        else:
            index = len(self.first) + len(self.algorithm) + self.last.index(stage) + 1
        self.reporter.emit(PhaseStarted(stage, index, labels))
        self.reporter.pulse()

    def log(self, text: str, level: str = "info") -> None:
        self.reporter.emit(Log(level, text))

    def emit(self, event: Event) -> None:
        """Forward an event of the algorithm; its stages get numbers after the first ones."""
        if isinstance(event, PhaseStarted) and (self.first or self.last):
            first, last = ([LABELS[name] for name in names] for names in (self.first, self.last))
            labels = (*first, *event.labels, *last)
            event = PhaseStarted(event.name, len(self.first) + event.index, labels)
        self.reporter.emit(event)

    def save(self, checkpoint: Checkpoint) -> None:
        """Forward a checkpoint of the algorithm with the facts."""
        if self.facts:
            checkpoint = Checkpoint({**checkpoint.meta, _FACTS: self.facts}, checkpoint.arrays)
        self.reporter.save(checkpoint)

    def pulse(self) -> None:
        """Raises `InterruptedRunError` if a transition was requested."""
        self.reporter.pulse()

    def with_progress(self, stage: str, measurer: Measurer, expected: int) -> ProgressMeasurer:
        """A measurer that reports how many experiments it has answered.

        Args:
            stage: Under which progress is reported.
            measurer: Answers.
            expected: Number of experiments in all.
        """
        return ProgressMeasurer(measurer, self.reporter, stage, expected, self.clock)


@dataclass(eq=False)
class ProgressMeasurer:
    """A measurer that reports progress, rate, remaining time, and counts of results by state.

    `expected` may be changed meanwhile. With `is_estimate` it is uncertain, and no remaining time is
    reported.
    """

    measurer: Measurer
    reporter: JournalReporter
    stage: str
    expected: int
    clock: Clock = time.monotonic
    is_estimate: bool = False

    def __post_init__(self) -> None:
        self._answered = 0
        self._states: Counter[MeasurementState] = Counter()
        self._recent: deque[tuple[float, int]] = deque()  # from the first answer on: answers come in batches
        self._next_report = 0.0

    @property
    def identity(self) -> Json:
        return self.measurer.identity

    def offers(self) -> Sequence[Experiment] | None:
        return self.measurer.offers()

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        """Measure, and report at most every `_REPORT_INTERVAL` seconds and at the end."""
        for result in self.measurer.measure(experiments):
            self._answered += 1
            self._states[result.state] += 1
            self._report()
            self.reporter.pulse()
            yield result
        self._report(now=True)

    def _report(self, *, now: bool = False) -> None:
        at = self.clock()
        if at < self._next_report and not now:
            return
        self._next_report = at + _REPORT_INTERVAL
        self._recent.append((at, self._answered))
        while len(self._recent) > 2 and self._recent[1][0] < at - _RATE_WINDOW:
            self._recent.popleft()
        then, before = self._recent[0]
        rate = (self._answered - before) / (at - then) if at > then else 0.0
        remaining = max(0, self.expected - self._answered)
        eta = remaining / rate if rate > 0 else None if remaining else 0.0
        counts = {state.value: self._states[state] for state in MeasurementState}
        self.reporter.emit(ExperimentsCounted(self._answered, **counts))
        total, eta = self._answered + remaining, None if self.is_estimate else eta
        self.reporter.emit(Progress(self.stage, self._answered, total, rate, "experiments", eta))


def facts_of(checkpoint: Checkpoint | None) -> Mapping[str, Json]:
    """The `Stages.facts` that were saved with a checkpoint; {} without a checkpoint or facts."""
    return {} if checkpoint is None else checkpoint.meta.get(_FACTS, {})
