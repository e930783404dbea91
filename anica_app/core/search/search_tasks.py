"""Runs many searches side by side, and sends their blocks to all predictors in bulk.

A search is a generator that yields blocks and receives their verdicts. The searches are split into two lanes
that take turns: while the predictors work on the blocks of one lane, the verdicts of the other are taken in
and its next blocks are sampled. What is asked depends on the verdicts alone, not on timing.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Generic, TypeAlias, TypeVar

from anica_app.core.block_domain import BlockDomain
from anica_app.core.domain.space import SampledBlock
from anica_app.core.search.interestingness import InterestJudge, JudgedBlock
from anica_app.core.search.settings import SearchSettings
from inference.predictors.panel import Panel

ResultT = TypeVar("ResultT")

Task: TypeAlias = Generator[Sequence[SampledBlock], Sequence[JudgedBlock], ResultT]
"""A search over blocks: each time it yields at least one block."""

_WINDOW = 10.0  # seconds over which the rate is taken


class TimeIsUp(Exception):  # noqa: N818 it is no error
    """Thrown into a task in place of verdicts.

    The task may return what it has so far, or let the exception pass.
    """


@dataclass(frozen=True)
class SearchContext:
    """What all searches of a campaign share; every random choice depends on `seed`."""

    domain: BlockDomain
    settings: SearchSettings
    seed: int

    def random(self, *path: object) -> Random:
        """The source of randomness of one task, named by its path in the campaign.

        So choices do not depend on the order in which tasks run.
        """
        return Random("/".join(str(part) for part in (self.seed, *path)))  # noqa: S311 nothing secret


class Driver:
    """Runs searches: asks the panel about their blocks and sends them the judge's verdicts."""

    def __init__(self, domain: BlockDomain, panel: Panel, judge: InterestJudge) -> None:
        self._domain = domain
        self._panel = panel
        self._judge = judge

    def judge(self, blocks: Sequence[SampledBlock]) -> list[JudgedBlock]:
        """The verdicts on some blocks, in their order."""
        return self._request(blocks)()

    def run(
        self, tasks: Sequence[Task[ResultT]], expired: Callable[[], bool] = lambda: False
    ) -> list[ResultT | None]:
        """The result of each task; None for a task without a result when `expired` returned True."""
        results: dict[int, ResultT] = {}
        lanes = [
            _Lane({n: task for n, task in enumerate(tasks) if n % 2 == side}, self._request, results)
            for side in (0, 1)
        ]
        try:
            for lane in lanes:
                lane.start()
            while any(lane.busy for lane in lanes) and not expired():
                for lane in lanes:
                    lane.advance()
            for lane in lanes:
                lane.interrupt()
        finally:
            for task in tasks:
                task.close()
        return [results.get(n) for n in range(len(tasks))]

    def _request(self, blocks: Sequence[SampledBlock]) -> Callable[[], list[JudgedBlock]]:
        codes = [self._domain.code(block) for block in blocks]
        answered = self._panel.ask(codes)

        def judged() -> list[JudgedBlock]:
            return [
                JudgedBlock(block, code, answers, self._judge.verdict(answers))
                for block, code, answers in zip(blocks, codes, answered(), strict=True)
            ]

        return judged


class _Lane(Generic[ResultT]):
    """Tasks whose blocks are requested together, until each has its result."""

    def __init__(
        self,
        tasks: dict[int, Task[ResultT]],
        ask: Callable[[Sequence[SampledBlock]], Callable[[], list[JudgedBlock]]],
        results: dict[int, ResultT],
    ) -> None:
        self._tasks = tasks
        self._request = ask
        self._results = results
        self._requests: dict[int, Sequence[SampledBlock]] = {}
        self._pending_verdicts: Callable[[], list[JudgedBlock]] | None = None

    @property
    def busy(self) -> bool:
        return self._pending_verdicts is not None

    def start(self) -> None:
        for number, task in self._tasks.items():
            self._send(number, task, None)
        self._request_all()

    def advance(self) -> None:
        """Send each task its verdicts, and request the blocks that it yields next."""
        if self._pending_verdicts is None:
            return
        judged = iter(self._pending_verdicts())
        requests, self._requests = self._requests, {}
        for number, blocks in requests.items():
            self._send(number, self._tasks[number], [next(judged) for _ in blocks])
        self._request_all()

    def interrupt(self) -> None:
        """Throw `TimeIsUp` into each waiting task, and keep the results that they return."""
        for number in self._requests:
            try:
                while True:  # whatever it wants besides
                    self._tasks[number].throw(TimeIsUp())
            except StopIteration as end:
                self._results[number] = end.value
            except TimeIsUp:
                continue

    def _send(self, number: int, task: Task[ResultT], judged: Sequence[JudgedBlock] | None) -> None:
        try:
            self._requests[number] = next(task) if judged is None else task.send(judged)
        except StopIteration as end:
            self._results[number] = end.value

    def _request_all(self) -> None:
        blocks = [block for requested in self._requests.values() for block in requested]
        self._pending_verdicts = self._request(blocks) if blocks else None


class PanelMeter:
    """Counts the blocks that a panel judged since the last call, and measures time."""

    def __init__(self, panel: Panel, clock: Callable[[], float]) -> None:
        self._panel = panel
        self._clock = clock
        self._earlier_seconds = 0.0
        self._started_at = clock()
        self._judged = 0
        self._failures: Counter[tuple[int, str]] = Counter()
        self._recent: deque[tuple[float, int]] = deque()

    def start(self, before: float) -> None:
        """Start the clock; earlier attempts took `earlier_seconds`.

        Blocks that the panel judged before are not counted: they belong to an earlier attempt or to the check
        of support.
        """
        self.take_counts()
        self._earlier_seconds = before
        self._started_at = self._clock()

    def seconds(self) -> float:
        """Seconds of searching, over all attempts."""
        return self._earlier_seconds + self._clock() - self._started_at

    def uncounted(self) -> int:
        return self._panel.judged - self._judged

    def take_counts(self) -> tuple[int, Counter[str]]:
        """Blocks judged since the last call, and {"FAILURE of NUMBER": count}."""
        judged, failures = self.uncounted(), self._panel.failures - self._failures
        self._judged, self._failures = self._panel.judged, Counter(self._panel.failures)
        words = {f"{failure} of {number}": count for (number, failure), count in failures.items()}
        return judged, Counter(words)

    def rate(self) -> float:
        """Blocks judged per second over the last `_WINDOW` seconds."""
        now = self._clock()
        self._recent.append((now, self._panel.judged))
        while len(self._recent) > 2 and self._recent[1][0] < now - _WINDOW:
            self._recent.popleft()
        then, judged = self._recent[0]
        return (self._panel.judged - judged) / (now - then) if now > then else 0.0
