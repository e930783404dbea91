"""Telling what happens, once: a search that is taken up again repeats itself, its journal does not."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from inference.core.errors import CoreError
from inference.core.events import Event, Log, PhaseStarted, Progress
from inference.core.explain.checkpoint import identity, to_checkpoint
from inference.core.explain.events import Blocked, Excluded, Funnel, Verdicts
from inference.core.explain.problem import STAGES, BlockingClass, ExplainProblem, NotCharacterised
from inference.core.pacing import PacedReporter
from inference.core.protocols import Checkpoint

_BATCH = 100
_NEWS_EVERY = 8.0  # seconds


class ExplainTeller:
    """Passes events on, but for as many as an interrupted attempt has told already.

    The search is deterministic, so the first events of a new attempt are those of the old one.
    """

    def __init__(
        self,
        pace: PacedReporter,
        problem: ExplainProblem,
        seed: int,
        told_before: int,
        seconds_before: float,
        chunks_before: int,
    ) -> None:
        self.pace = pace
        self._start = pace.clock() - seconds_before
        self._whose = identity(problem, seed)
        self._skip = told_before
        self._chunks, self._chunks_before = 0, chunks_before
        self._stage = ""
        self.told = 0
        self._excluded: list[tuple[str, str, str]] = []

    def tell(self, event: Event) -> None:
        """An event that a repeated search would tell again."""
        self.told += 1
        if self.told > self._skip:
            self.pace.emit(event)
            self._save()

    def _save(self) -> None:
        chunks = max(self._chunks, self._chunks_before)
        self.pace.save(lambda: to_checkpoint(self._whose, self.told, self.seconds(), chunks), now=True)

    def chunk_tested(self) -> None:
        """Of schemes, beside the blocking instructions."""
        self._chunks += 1
        if not self.is_repeating:
            self._save()

    @property
    def is_repeating(self) -> bool:
        """Whether the next chunk was tested by an interrupted attempt: it costs nothing."""
        return self._chunks < self._chunks_before

    def seconds(self) -> float:
        """Of the search, over all attempts."""
        return self.pace.clock() - self._start

    def enter(self, stage: str) -> None:
        self.flush()
        self.tell(PhaseStarted(stage, list(STAGES).index(stage) + 1, tuple(STAGES.values())))
        self.pace.pulse()

    def log(self, text: str, level: str = "info") -> None:
        """A sentence for the log."""
        self.tell(Log(level, text))

    def excluded(self, scheme: str, stage: str, reason: NotCharacterised, text: str) -> None:
        """A scheme is left out; told in batches."""
        self._excluded.append((scheme, reason.value, text))
        self._stage = stage
        if len(self._excluded) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        if self._excluded:
            self.tell(Excluded(self._stage, tuple(self._excluded), self.told + 1))
            self._excluded = []

    def funnel(self, stage: str, left: int) -> None:
        """How many schemes survived a stage."""
        self.flush()
        self.tell(Funnel(stage, left, self.told + 1))

    def classes(self, classes: Sequence[BlockingClass], ports: Sequence[str]) -> None:
        """The blocking instructions as they stand."""
        self.tell(Blocked(tuple(classes), tuple(ports), self.told + 1))

    def verdicts(self, run: int, schemes: Sequence[tuple[str, str, str]]) -> None:
        """What a run concluded, in batches."""
        for start in range(0, len(schemes), _BATCH):
            self.tell(Verdicts(run, tuple(schemes[start : start + _BATCH]), self.told + 1))

    def progress(self, stage: str, done: int, total: int, unit: str) -> None:
        """How far a stage is; rate-limited, and not counted."""
        if self.pace.due(f"progress {stage}") or done == total:
            self.pace.emit(Progress(stage, done, total, 0.0, unit, None))
        self.pace.pulse()


class OutOfTimeError(CoreError):
    """What was to be found out would come too late."""

    def __init__(self, why: str = "the run had to end") -> None:
        super().__init__(why)


class Quiet:
    """Lets what serves this search be interrupted; what it tells would be mistaken for stages of this one.

    `doing`, a sentence's beginning, is told now and then instead, with the newest numbers of the events.
    `limit` in CPU seconds of this process: on a busy computer the same questions have the same answers.
    """

    def __init__(self, pace: PacedReporter, doing: str, limit: float = math.inf) -> None:
        self._pace = pace
        self._doing = doing
        self._numbers: dict[str, int] = {}
        self._start = pace.clock()
        self._ends = time.process_time() + limit
        self._limit = limit
        pace.due(doing)

    def emit(self, event: Event) -> None:
        """Take note of whole numbers in it."""
        fields = {name: getattr(event, name, None) for name in ("experiments", "ports")}
        self._numbers |= {name: number for name, number in fields.items() if isinstance(number, int)}

    def save(self, checkpoint: Checkpoint) -> None:
        """Nothing: it starts anew, from the same answers."""

    def pulse(self) -> None:
        """Raises `InterruptedRunError` when asked to stop, `OutOfTimeError` where what there is will do."""
        if self._pace.finishing:
            raise OutOfTimeError
        if time.process_time() >= self._ends:
            raise OutOfTimeError(f"no answer within {self._limit:.0f} seconds of computing")
        if self._pace.due(self._doing, _NEWS_EVERY):
            seconds = self._pace.clock() - self._start
            numbers = [f"{number} {name}" for name, number in self._numbers.items()]
            self._pace.emit(Log("info", f"{self._doing}: {', '.join([*numbers, f'{seconds:.0f} s'])}"))
        self._pace.pulse()
