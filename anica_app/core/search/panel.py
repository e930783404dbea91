"""Asking: what many searches want to know goes to all predictors at once, in bulk.

Two halves of the searches take turns: while the predictors work on the blocks of one half, the verdicts on
the other are taken in and its next blocks are sampled. What is asked depends on the verdicts alone, never on
who is quicker. Searches are generators: they yield blocks that they want judged, and go on with the verdicts;
how these are come by they do not know.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Generic, TypeAlias, TypeVar

from anica_app.core.block_domain import BlockDomain
from anica_app.core.domain.space import SampledBlock
from anica_app.core.search.judging import InterestJudge, JudgedAnswers
from anica_app.core.search.settings import SearchSettings
from inference.predictors.panel import Panel

ResultT = TypeVar("ResultT")

Task: TypeAlias = Generator[Sequence[SampledBlock], Sequence[JudgedAnswers], ResultT]
"""A search over blocks: it yields at least one block at a time, in whatever number."""
_WINDOW = 10.0  # seconds over which the rate is taken


class TimeIsUp(Exception):  # noqa: N818 it is no error
    """Thrown into a task instead of verdicts: it may return what it has come to, or let it pass."""


@dataclass(frozen=True)
class World:
    """What all searches of a campaign have in common; `seed` names it in every random choice."""

    domain: BlockDomain
    settings: SearchSettings
    seed: int

    def random(self, *path: object) -> Random:
        """The source of randomness of one task, named by where it stands in the campaign.

        So what is chosen does not depend on the order in which tasks happen to be carried out.
        """
        return Random("/".join(str(part) for part in (self.seed, *path)))  # noqa: S311 nothing secret


class Driver:
    """Carries out searches: asks the panel what they want to know, tells them what the judge says of it."""

    def __init__(self, domain: BlockDomain, panel: Panel, judge: InterestJudge) -> None:
        self._domain = domain
        self._panel = panel
        self._judge = judge

    def judge(self, blocks: Sequence[SampledBlock]) -> list[JudgedAnswers]:
        """The verdicts on some blocks, in their order."""
        return self._asked(blocks)()

    def carry_out(
        self, tasks: Sequence[Task[ResultT]], expired: Callable[[], bool] = lambda: False
    ) -> list[ResultT | None]:
        """The result of each task; None for those that had come to nothing when `expired` became true."""
        results: dict[int, ResultT] = {}
        lanes = [
            _Lane({n: task for n, task in enumerate(tasks) if n % 2 == side}, self._asked, results)
            for side in (0, 1)
        ]
        try:
            for lane in lanes:
                lane.begin()
            while any(lane.busy for lane in lanes) and not expired():
                for lane in lanes:
                    lane.go_on()
            for lane in lanes:
                lane.end()
        finally:
            for task in tasks:
                task.close()
        return [results.get(n) for n in range(len(tasks))]

    def _asked(self, blocks: Sequence[SampledBlock]) -> Callable[[], list[JudgedAnswers]]:
        codes = [self._domain.code(block) for block in blocks]
        answered = self._panel.ask(codes)

        def judged() -> list[JudgedAnswers]:
            return [
                JudgedAnswers(block, code, answers, self._judge.verdict(answers))
                for block, code, answers in zip(blocks, codes, answered(), strict=True)
            ]

        return judged


class _Lane(Generic[ResultT]):
    """Tasks that are asked for together, in their order, until each has its result."""

    def __init__(
        self,
        tasks: dict[int, Task[ResultT]],
        ask: Callable[[Sequence[SampledBlock]], Callable[[], list[JudgedAnswers]]],
        results: dict[int, ResultT],
    ) -> None:
        self._tasks = tasks
        self._ask = ask
        self._results = results
        self._wanted: dict[int, Sequence[SampledBlock]] = {}
        self._answer: Callable[[], list[JudgedAnswers]] | None = None

    @property
    def busy(self) -> bool:
        return self._answer is not None

    def begin(self) -> None:
        for number, task in self._tasks.items():
            self._send(number, task, None)
        self._ask_all()

    def go_on(self) -> None:
        """Take in the verdicts, let each task go on, and ask for what they want now."""
        if self._answer is None:
            return
        judged = iter(self._answer())
        wanted, self._wanted = self._wanted, {}
        for number, blocks in wanted.items():
            self._send(number, self._tasks[number], [next(judged) for _ in blocks])
        self._ask_all()

    def end(self) -> None:
        """Let each task that still waits end early."""
        for number in self._wanted:
            try:
                while True:  # whatever it wants besides
                    self._tasks[number].throw(TimeIsUp())
            except StopIteration as end:
                self._results[number] = end.value
            except TimeIsUp:
                continue

    def _send(self, number: int, task: Task[ResultT], judged: Sequence[JudgedAnswers] | None) -> None:
        try:
            self._wanted[number] = next(task) if judged is None else task.send(judged)
        except StopIteration as end:
            self._results[number] = end.value

    def _ask_all(self) -> None:
        blocks = [block for wanted in self._wanted.values() for block in wanted]
        self._answer = self._ask(blocks) if blocks else None


class Meter:
    """Counts what a panel has judged since it was last asked, and measures time."""

    def __init__(self, panel: Panel, clock: Callable[[], float]) -> None:
        self._panel = panel
        self._clock = clock
        self._before = 0.0
        self._begun = clock()
        self._judged = 0
        self._failures: Counter[tuple[int, str]] = Counter()
        self._recent: deque[tuple[float, int]] = deque()

    def start(self, before: float) -> None:
        """Begin to measure; earlier attempts took so many seconds.

        What the panel has judged up to now is not counted: it was before, or, as for the schemes that are
        supported, belongs to no search.
        """
        self.taken()
        self._before = before
        self._begun = self._clock()

    def seconds(self) -> float:
        """Of searching, over all attempts."""
        return self._before + self._clock() - self._begun

    def untaken(self) -> int:
        return self._panel.judged - self._judged

    def taken(self) -> tuple[int, Counter[str]]:
        """Blocks judged, and failures by words, since this was last called."""
        judged, failures = self.untaken(), self._panel.failures - self._failures
        self._judged, self._failures = self._panel.judged, Counter(self._panel.failures)
        words = {f"{failure} of {number}": count for (number, failure), count in failures.items()}
        return judged, Counter(words)

    def rate(self) -> float:
        """Blocks judged per second lately."""
        now = self._clock()
        self._recent.append((now, self._panel.judged))
        while len(self._recent) > 2 and self._recent[1][0] < now - _WINDOW:
            self._recent.popleft()
        then, judged = self._recent[0]
        return (self._panel.judged - judged) / (now - then) if now > then else 0.0
