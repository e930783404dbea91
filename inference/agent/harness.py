"""Times a loop body in clock cycles, without any performance counter (thesis App. D, adapted).

The clock is a chain of dependent one-cycle additions. Its time is taken in turn with that of the body:
chain n, chain 2n, body n, body 2n, over and over. Whatever disturbs a sample makes it longer, so the minimum
of each of the four is the best estimate of it, and in the differences 2n − n all constant parts cancel:

    cycles per iteration = chain cycles · (body 2n − body n) / (chain 2n − chain n)

A body is measured at two lengths, since longer ones dilute the loop's own instructions and shorter ones fit
smaller buffers; the faster per copy counts.

Whoever else runs on the same core, a virtual neighbour on its second hyper-thread for instance, takes issue
slots and ports for fractions of a millisecond or for longer, and the chain does not feel it. A sentinel does:
a block that keeps all ALUs busy, timed before and after each sample of a body. Only those samples count for
which it is as fast as it should be.

What still slips through shows in the constant parts: 2 · (time of n) − (time of 2n) must be as for the chain.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from inference.agent import frame as frames
from inference.agent.checks import TOLERANCE
from inference.agent.code_pages import Function, GuardedPages
from inference.agent.counters import ProcessorCounters
from inference.agent.protocol import BatchItem, Frame, Settings
from inference.agent.targets import CHAIN_LENGTH, target_for

_SENTINEL_SHARE = 1 / 2  # of the length of samples: it need not be as exact
_LONGEST_WAIT_NS = 30_000_000  # without an undisturbed repetition; disturbances may last as long
_WAITING_SHARE = 1 / 8  # of the time after which an item is taken to hang: so long a comparison waits in all
_ROUNDS = 3  # of repetitions at most, the later ones for what is still doubtful
_CONSISTENT = 0.01  # of a time: what it may have more beside its iterations than that of the chain
_CONFIRMED = 0.002  # of a time: what lies that near to the least confirms it
_ATTEMPTS_PER_CLOCK = 8  # the clock may have changed since the chain was timed
_CODE_BYTES = 64 * 1024
_CODE_SLOT = 128  # between functions: no cache line, nor the one prefetched with it, is shared
_LONGEST_BODY = 16 * 1024
_CALIBRATION_NS = 5_000
_CALIBRATION_RUNS = (
    8  # of which the fastest counts: a disturbed one would make for samples that are too short
)
_CALLS = 20  # before each experiment, to see what a call takes
_MOST_ITERATIONS = 1 << 20


class HarnessError(ValueError):
    """An item that this harness cannot time."""


class AlteredError(Exception):
    """The code that was timed, or that it was compared with, has changed: no time means anything."""


class DisturbedError(Exception):
    """Something else ran on this core nearly all the time; another pass may do.

    `cycles` is what the samples show as they are, with everything that they should not contain.
    """

    def __init__(self, cycles: float) -> None:
        self.cycles = cycles
        super().__init__("the core was shared")


@dataclass(frozen=True)
class Timing:
    """One pass over an item: `cycles` per copy of the experiment, and the clock that the chain showed.

    `sentinel`: cycles per addition at the same time; more than otherwise means that the core was shared.
    `counters`: events per copy, where any are counted.
    """

    cycles: float
    ghz: float
    sentinel: float
    counters: Mapping[str, float] = field(default_factory=dict)


class Timer:
    """Times items of one frame; needs pages that may be written and executed (`CodePagesError`)."""

    def __init__(self, frame: Frame, settings: Settings, counters: ProcessorCounters) -> None:
        self._counters = counters
        self._frame = frame
        self._target = target_for(frame)
        self._settings = settings
        self._code = GuardedPages(_CODE_BYTES, executable=True)
        self._memory = GuardedPages(2 * frame.memory_bytes)
        self._pattern = frame.memory.to_bytes(8, "little") * (self._memory.size // 8)
        self._middle = self._memory.address + self._memory.size // 2
        self._written: list[tuple[int, bytes]] = []
        chain, after = self._place(0, self._target.CHAIN)
        sentinel, self._next = self._place(after, self._target.ADDITIONS.item.code)
        self._chain = chain, self._iterations(chain)
        self._sentinel = sentinel, max(1, round(self._iterations(sentinel) * _SENTINEL_SHARE))
        self._call = sys.maxsize
        self._lasting = len(self._written)

    def time(self, item: BatchItem, quiet: float | None = None) -> Timing:
        """One pass, of repetitions in which the sentinel was at its `quiet` cycles per addition.

        Raises `HarnessError` for code that is too long, `DisturbedError` where there are not enough of them,
        and `AlteredError`.
        """
        if len(item.code) > _LONGEST_BODY:
            raise HarnessError(f"a loop body has at most {_LONGEST_BODY} bytes, not {len(item.code)}")
        del self._written[self._lasting :]
        full, after = self._place(self._next, item.code)
        half, _ = self._place(after, item.code[: item.half_bytes])
        self._memory.write(0, self._pattern)
        bodies = [(full, item.copies), (half, item.half_copies)]
        if item.half_copies == item.copies:
            bodies.pop()
        try:
            timing = self._compare(bodies, quiet)
            return replace(timing, counters=self._count(bodies))
        finally:
            self._check_code()

    def _place(self, offset: int, body: bytes) -> tuple[Function, int]:
        """Code around a body at an offset; also the first free offset behind it."""
        code = frames.function(self._frame, body)
        function = self._code.write_code(offset, code)
        self._written.append((offset, code))
        return function, offset + -(-len(code) // _CODE_SLOT) * _CODE_SLOT

    def _check_code(self) -> None:
        """See that it is what was placed, that of chain and sentinel included. Raises `AlteredError`."""
        if any(self._code.read(offset, len(code)) != code for offset, code in self._written):
            raise AlteredError

    def _iterations(self, function: Function) -> int:
        """How many iterations take about as long as a sample shall, on an undisturbed core."""
        n, elapsed = 1, 0
        function(1, self._middle)
        while elapsed < _CALIBRATION_NS and n < _MOST_ITERATIONS:
            n *= 4
            elapsed = min(self.elapsed(function, n) for _ in range(_CALIBRATION_RUNS))
        return max(1, round(n * self._settings.sample_us * 1000 / max(elapsed, 1)))

    def _compare(self, bodies: Sequence[tuple[Function, int]], quiet: float | None) -> Timing:
        """The minima of chain and bodies, timed in turn, over moments in which the core was not shared."""
        self._time_calls()
        timed = [self._chain, *((function, self._iterations(function)) for function, _ in bodies)]
        minima = _Minima([n for _, n in timed], [CHAIN_LENGTH, *(copies for _, copies in bodies)])
        watch = _Watch(self, quiet, round(self._settings.timeout * _WAITING_SHARE * 1e9))
        doubtful: Sequence[int] = range(len(timed))
        for round_number in range(_ROUNDS):
            turns = [(index, times) for index in doubtful for times in (1, 2)]
            for index, times in turns * self._settings.repetitions:
                if not round_number and minima.is_confirmed(index, times):
                    continue  # but where something contradicts them, confirmed times are not believed
                function, n = timed[index]
                elapsed = self._time_undisturbed(watch, index, function, n * times)
                if elapsed is None:
                    crude = [self.elapsed(function, 2 * n) / n / 2 for function, n in timed]
                    raise DisturbedError(minima.crude_cycles(crude))
                minima.add(index, times, elapsed)
            doubtful = minima.doubtful()
            if not doubtful:
                break
        return minima.timing(statistics.median(watch.sentinels))

    def _time_calls(self) -> None:
        """Learn what a call takes: the fastest ever counts, for the core may have been shared until now."""
        function, _ = self._sentinel
        self._call = min(self._call, *(self.elapsed(function, 1) for _ in range(_CALLS)))

    def _time_undisturbed(self, watch: _Watch, which: int, function: Function, n: int) -> int | None:
        """Nanoseconds of an undisturbed execution; the chain, which comes first, does not feel neighbours."""
        return watch.undisturbed(function, n) if which else self.elapsed(function, n)

    def _count(self, bodies: Sequence[tuple[Function, int]]) -> dict[str, float]:
        """Events per copy: what a longer body has more of, so that the loop itself does not count."""
        if not self._counters.names or len(bodies) == 1:
            return {}
        (full, copies), (half, half_copies) = bodies
        n = self._iterations(full)
        counted = self._counters.difference(lambda: full(n, self._middle), lambda: half(n, self._middle))
        return {name: number / n / (copies - half_copies) for name, number in counted.items()}

    def additions(self, clock: float) -> float:
        """Cycles per addition of the sentinel right now, by a clock of so many nanoseconds a cycle."""
        function, n = self._sentinel
        elapsed = self.elapsed(function, n) - self._call
        return elapsed / n / self._target.ADDITIONS.item.copies / clock

    def clock(self) -> float:
        """Nanoseconds a cycle, by the chain."""
        function, n = self._chain
        return max(self.elapsed(function, n) - self._call, 1) / n / CHAIN_LENGTH

    def elapsed(self, function: Function, n: int) -> int:
        """Nanoseconds that so many iterations take, with the call."""
        began = time.perf_counter_ns()
        function(n, self._middle)
        return time.perf_counter_ns() - began


class _Watch:
    """Times code in moments in which nobody else uses the core, as the sentinel shows before and after.

    Neighbours come and go within fractions of a millisecond, so every single execution has sentinels of its
    own. `sentinels`: cycles per addition that they showed. It waits for `waits` nanoseconds in all: with
    almost the whole patience spent on each of a hundred executions, the item would seem to hang.
    """

    def __init__(self, timer: Timer, quiet: float | None, waits: int) -> None:
        self.sentinels: list[float] = []
        self._waits = waits
        self._timer = timer
        self._quiet = quiet
        self._clock = timer.clock()
        self._before = timer.additions(self._clock)

    def undisturbed(self, function: Function, n: int) -> int | None:
        """Nanoseconds that so many iterations take; None where the core is shared for too long."""
        began = time.perf_counter_ns()
        until = began + min(_LONGEST_WAIT_NS, self._waits)
        attempts = 0
        while attempts == 0 or time.perf_counter_ns() < until:
            if not self._is_off(self._before):
                started = time.perf_counter_ns()
                elapsed = self._timer.elapsed(function, n)
                self._before = self._timer.additions(self._clock)
                if not self._is_off(self._before):
                    self.sentinels.append(self._before)
                    self._waits -= started - began
                    return elapsed
            attempts += 1
            if attempts % _ATTEMPTS_PER_CLOCK == 0:
                self._clock = self._timer.clock()
            self._before = self._timer.additions(self._clock)
        return None

    def _is_off(self, sentinel: float) -> bool:
        return self._quiet is not None and abs(sentinel / self._quiet - 1) > TOLERANCE


class _Minima:
    """The least times of everything that is timed, the chain first."""

    def __init__(self, iterations: Sequence[int], copies: Sequence[int]) -> None:
        self._iterations = iterations
        self._copies = copies
        self._least = {(which, times): math.inf for which in range(len(copies)) for times in (1, 2)}
        self._second = dict(self._least)

    def add(self, which: int, times: int, elapsed: int) -> None:
        """So many nanoseconds for the iterations, or twice as many."""
        key = which, times
        self._least[key], self._second[key], _ = sorted((self._least[key], self._second[key], elapsed))

    def is_confirmed(self, which: int, times: int) -> bool:
        """Whether the least time has been seen twice, so that nothing is to be gained by another."""
        return self._second[which, times] < self._least[which, times] * (1 + _CONFIRMED)

    def doubtful(self) -> list[int]:
        """Whatever does not take as much time beside its iterations as the chain: a length was disturbed."""
        beside = [2 * self._least[which, 1] - self._least[which, 2] for which in range(len(self._copies))]
        return [
            which
            for which, nanoseconds in enumerate(beside)
            if abs(nanoseconds - beside[0]) > _CONSISTENT * self._least[which, 2]
        ]

    def timing(self, sentinel: float) -> Timing:
        """What they amount to. Raises `DisturbedError` where more iterations did not take more time."""
        per_copy = [
            (self._least[which, 2] - self._least[which, 1]) / n / copies
            for which, (n, copies) in enumerate(zip(self._iterations, self._copies, strict=True))
        ]
        doubtful = self.doubtful()
        chain, *bodies = per_copy
        bodies = [body for which, body in enumerate(bodies, 1) if which not in doubtful] or bodies
        if min(chain, *bodies) <= 0:
            doubled = [self._least[which, 2] / n / 2 for which, n in enumerate(self._iterations)]
            raise DisturbedError(self.crude_cycles(doubled))
        return Timing(min(bodies) / chain, 1 / chain, sentinel)

    def crude_cycles(self, iteration: Sequence[float]) -> float:
        """Cycles by the nanoseconds of an iteration of everything, with all that they should not contain."""
        chain, *bodies = (ns / copies for ns, copies in zip(iteration, self._copies, strict=True))
        return min(bodies) / chain
