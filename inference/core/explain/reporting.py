"""Reporting of events once: a resumed search repeats its steps, but does not emit their events again."""

from __future__ import annotations

import math
from collections.abc import Sequence

from inference.core.errors import CoreError
from inference.core.events import Event, Log, PhaseStarted, Progress
from inference.core.explain.checkpoint import identity, to_checkpoint
from inference.core.explain.events import Blocked, Excluded, Funnel, Verdicts
from inference.core.explain.problem import STAGES, BlockingClass, ExplainProblem, NotCharacterised
from inference.core.pacing import PacedReporter
from inference.core.protocols import Checkpoint
from inference.core.search_clocks import computing_seconds

_BATCH = 100  # schemes per event: an event has a limited size, and each is a row of the journal
_NEWS_EVERY = 8.0  # seconds


class ExplainReporter:
    """Emits events, except for the first `events_before`, which the interrupted search has emitted.

    The search is deterministic, so the first events of a resumed one are those of the interrupted one.
    """

    def __init__(
        self,
        pace: PacedReporter,
        problem: ExplainProblem,
        seed: int,
        events_before: int,
        seconds_before: float,
        chunks_before: int,
    ) -> None:
        self.pace = pace
        self._start = pace.clock() - seconds_before
        self._identity = identity(problem, seed)
        self._skip = events_before
        self._chunks, self._chunks_before = 0, chunks_before
        self._stage = ""
        self.n_events = 0
        self._excluded: list[tuple[str, str, str]] = []

    def emit(self, event: Event) -> None:
        """Emit an event of the deterministic sequence, and save a checkpoint."""
        self.n_events += 1
        if self.n_events > self._skip:
            self.pace.emit(event)
            self._save()

    def _save(self) -> None:
        chunks = max(self._chunks, self._chunks_before)
        self.pace.save(lambda: to_checkpoint(self._identity, self.n_events, self.seconds(), chunks), now=True)

    def chunk_tested(self) -> None:
        self._chunks += 1
        if not self.is_repeating:
            self._save()

    @property
    def is_repeating(self) -> bool:
        """Whether the interrupted search has tested the next chunk, which then costs nothing."""
        return self._chunks < self._chunks_before

    def seconds(self) -> float:
        """Seconds of the search, including those before an interruption."""
        return self.pace.clock() - self._start

    def enter_stage(self, stage: str) -> None:
        self.flush()
        self.emit(PhaseStarted(stage, list(STAGES).index(stage) + 1, tuple(STAGES.values())))
        self.pace.pulse()

    def log(self, text: str, level: str = "info") -> None:
        self.emit(Log(level, text))

    def excluded(self, scheme: str, stage: str, reason: NotCharacterised, text: str) -> None:
        """Report an excluded scheme, in batches of `_BATCH`."""
        self._excluded.append((scheme, reason.value, text))
        self._stage = stage
        if len(self._excluded) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        if self._excluded:
            self.emit(Excluded(self._stage, tuple(self._excluded), self.n_events + 1))
            self._excluded = []

    def funnel(self, stage: str, remaining: int) -> None:
        """Report the number of schemes left after a stage."""
        self.flush()
        self.emit(Funnel(stage, remaining, self.n_events + 1))

    def classes(self, classes: Sequence[BlockingClass], ports: Sequence[str]) -> None:
        self.emit(Blocked(tuple(classes), tuple(ports), self.n_events + 1))

    def verdicts(self, run: int, schemes: Sequence[tuple[str, str, str]]) -> None:
        """Report the verdicts of a run, in batches of `_BATCH`."""
        for start in range(0, len(schemes), _BATCH):
            self.emit(Verdicts(run, tuple(schemes[start : start + _BATCH]), self.n_events + 1))

    def progress(self, stage: str, done: int, total: int, unit: str) -> None:
        """Report the progress of a stage: rate-limited, and not part of the deterministic sequence."""
        if self.pace.due(f"progress {stage}") or done == total:
            self.pace.emit(Progress(stage, done, total, 0.0, unit, None))
        self.pace.pulse()


class OutOfTimeError(CoreError):
    """A part of a search was ended by its time limit, or because the run shall finish early."""

    def __init__(self, why: str = "the run had to end") -> None:
        super().__init__(why)


class QuietReporter:
    """A reporter for a search within a search: it can interrupt it, but does not pass its events on.

    Its events would look like stages of the outer search. Instead, `doing` is logged every `_NEWS_EVERY`
    seconds, with the newest numbers of the events. `limit`: CPU seconds of this process, so that results do
    not depend on how busy the computer is.
    """

    def __init__(self, pace: PacedReporter, doing: str, limit: float = math.inf) -> None:
        self._pace = pace
        self._doing = doing
        self._numbers: dict[str, int] = {}
        self._start = pace.clock()
        self._ends = computing_seconds() + limit
        self._limit = limit
        pace.due(doing)

    def emit(self, event: Event) -> None:
        """Keep the event's numbers of experiments and ports for the log."""
        fields = {name: getattr(event, name, None) for name in ("experiments", "ports")}
        self._numbers |= {name: number for name, number in fields.items() if isinstance(number, int)}

    def save(self, checkpoint: Checkpoint) -> None:
        """Does nothing: the inner search starts anew from the same measurements."""

    def pulse(self) -> None:
        """Check the limits, and log what the inner search does.

        Raises:
            InterruptedRunError: The run shall stop.
            OutOfTimeError: The limit is reached, or the run shall finish early.
        """
        if self._pace.finishing:
            raise OutOfTimeError
        if computing_seconds() >= self._ends:
            raise OutOfTimeError(f"no answer within {self._limit:.0f} seconds of computing")
        if self._pace.due(self._doing, _NEWS_EVERY):
            seconds = self._pace.clock() - self._start
            numbers = [f"{number} {name}" for name, number in self._numbers.items()]
            self._pace.emit(Log("info", f"{self._doing}: {', '.join([*numbers, f'{seconds:.0f} s'])}"))
        self._pace.pulse()
