"""The stages of a run that measures: its own ones first, then those of the algorithm."""

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
_TELL_EVERY = 0.3

Clock = Callable[[], float]


@dataclass(eq=False)
class Stages:
    """A `Reporter` for the algorithm, whose stages stand between the run's own, and for these themselves.

    `facts` travel with every checkpoint of the algorithm, so that a run that is taken up again knows them:
    what was found out before its search began.
    """

    reporter: JournalReporter
    own: Sequence[str]
    after: Sequence[str]
    last: Sequence[str] = ()
    clock: Clock = time.monotonic
    facts: Json = field(default_factory=dict)

    def enter(self, stage: str) -> None:
        """Begin one of the run's own stages."""
        labels = [LABELS[s] for s in self.own] + list(self.after) + [LABELS[s] for s in self.last]
        if stage in self.own:
            index = self.own.index(stage) + 1
        else:
            index = len(self.own) + len(self.after) + self.last.index(stage) + 1
        self.reporter.emit(PhaseStarted(stage, index, labels))
        self.reporter.pulse()

    def log(self, text: str, level: str = "info") -> None:
        """A sentence for the run's log."""
        self.reporter.emit(Log(level, text))

    def emit(self, event: Event) -> None:
        """Pass an event on; the algorithm's stages come between the run's own."""
        if isinstance(event, PhaseStarted) and (self.own or self.last):
            own, last = ([LABELS[name] for name in names] for names in (self.own, self.last))
            labels = (*own, *event.labels, *last)
            event = PhaseStarted(event.name, len(self.own) + event.index, labels)
        self.reporter.emit(event)

    def save(self, checkpoint: Checkpoint) -> None:
        """Pass a checkpoint on, with the facts."""
        if self.facts:
            checkpoint = Checkpoint({**checkpoint.meta, _FACTS: self.facts}, checkpoint.arrays)
        self.reporter.save(checkpoint)

    def pulse(self) -> None:
        """Raises `InterruptedRunError` when asked to stop."""
        self.reporter.pulse()

    def told(self, stage: str, measurer: Measurer, expected: int) -> ProgressMeasurer:
        """The measurer, telling how many of the expected experiments it has answered."""
        return ProgressMeasurer(measurer, self.reporter, stage, expected, self.clock)


@dataclass(eq=False)
class ProgressMeasurer:
    """A measurer that tells of every answer: progress with rate and time to go, and counts by state.

    `expected` may be corrected on the way. With `guessed` it is a guess, and no time to go is told.
    """

    measurer: Measurer
    reporter: JournalReporter
    stage: str
    expected: int
    clock: Clock = time.monotonic
    guessed: bool = False

    def __post_init__(self) -> None:
        self._done = 0
        self._states: Counter[MeasurementState] = Counter()
        self._recent: deque[tuple[float, int]] = deque()  # from the first answer on: answers come in batches
        self._next = 0.0

    @property
    def identity(self) -> Json:
        return self.measurer.identity

    def offers(self) -> Sequence[Experiment] | None:
        return self.measurer.offers()

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        """Ask the measurer, and tell."""
        for result in self.measurer.measure(experiments):
            self._done += 1
            self._states[result.state] += 1
            self._tell()
            self.reporter.pulse()
            yield result
        self._tell(now=True)

    def _tell(self, *, now: bool = False) -> None:
        at = self.clock()
        if at < self._next and not now:
            return
        self._next = at + _TELL_EVERY
        self._recent.append((at, self._done))
        while len(self._recent) > 2 and self._recent[1][0] < at - _RATE_WINDOW:
            self._recent.popleft()
        then, before = self._recent[0]
        rate = (self._done - before) / (at - then) if at > then else 0.0
        left = max(0, self.expected - self._done)
        eta = left / rate if rate > 0 else None if left else 0.0
        counts = {state.value: self._states[state] for state in MeasurementState}
        self.reporter.emit(ExperimentsCounted(self._done, **counts))
        total, eta = self._done + left, None if self.guessed else eta
        self.reporter.emit(Progress(self.stage, self._done, total, rate, "experiments", eta))


def facts_of(checkpoint: Checkpoint | None) -> Mapping[str, Json]:
    """What the stages before the search had found out when it was interrupted; {} for nothing."""
    return {} if checkpoint is None else checkpoint.meta.get(_FACTS, {})
