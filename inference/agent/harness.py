"""Times a loop body in clock cycles, without any performance counter (thesis App. D, adapted).

The clock is a chain of dependent one-cycle additions. Its time is taken in turn with that of the body:
chain n, chain 2n, body n, body 2n, over and over. Whatever disturbs a sample makes it longer, so the minimum
of each of the four is the best estimate of it, and in the differences 2n − n all constant parts cancel:

    cycles per iteration = chain cycles · (body 2n − body n) / (chain 2n − chain n)

A body is measured at two lengths, since longer ones dilute the loop's own instructions and shorter ones fit
smaller buffers; the faster per copy counts. Where the longer one is faster, the loop's own instructions make
the difference: from the times of basic blocks, which are loops themselves, they are subtracted altogether.

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
_MAX_WAIT_NS = 30_000_000  # without an undisturbed repetition; disturbances may last as long
_WAITING_SHARE = 1 / 8  # of the time after which an item is taken to hang: so long a comparison waits in all
_ROUNDS = 3  # of repetitions at most, the later ones for what is still doubtful
_CONSISTENT = 0.01  # of a time: what it may have more beside its iterations than that of the chain
_MAX_LOOP_CYCLES = 2  # for counting an iteration and a taken branch; a larger difference is noise
_CONFIRMED = 0.002  # of a time: what lies that near to the least confirms it
_ATTEMPTS_PER_CLOCK = 8  # the clock may have changed since the chain was timed
_CODE_BYTES = 64 * 1024  # for the functions that are timed
_CODE_SLOT = 128  # between functions: no cache line, nor the one prefetched with it, is shared
_MAX_BODY_BYTES = 16 * 1024  # of a loop body
_CALIBRATION_NS = 5_000  # that the loop takes at least by which its speed is estimated
_CALIBRATION_RUNS = (
    8  # of which the fastest counts: a disturbed one would make for samples that are too short
)
_CALLS = 20  # before each experiment, to see what a call takes
_MAX_ITERATIONS = 1 << 20  # of that loop


class HarnessError(ValueError):
    """An item that cannot be timed."""


class AlteredError(Exception):
    """Timed code, or the code of chain or sentinel, was changed: no time is valid."""


class DisturbedError(Exception):
    """The core was shared nearly all the time; another pass may succeed.

    `cycles`: a crude time, from samples that include disturbances.
    """

    def __init__(self, cycles: float) -> None:
        self.cycles = cycles
        super().__init__("the core was shared")


@dataclass(frozen=True)
class Timing:
    """One pass over an item.

    Attributes:
        cycles: Per copy of the experiment.
        ghz: Clock by the chain.
        sentinel: Cycles per addition at the same time; an increase means that the core was shared.
        counters: Events per copy, where counters are available.
    """

    cycles: float
    ghz: float
    sentinel: float
    counters: Mapping[str, float] = field(default_factory=dict)


class Timer:
    """Times items of one frame. Raises `CodePagesError` where memory cannot be writable and executable."""

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
        """One pass, over repetitions in which the sentinel took its `quiet` cycles per addition (None: any).

        Raises `HarnessError` for code that is too long, `DisturbedError` where there were too few such
        repetitions, and `AlteredError`.
        """
        if len(item.code) > _MAX_BODY_BYTES:
            raise HarnessError(f"a loop body has at most {_MAX_BODY_BYTES} bytes, not {len(item.code)}")
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
        """Write the function for a body at an offset: (function, next free offset)."""
        code = frames.function(self._frame, body)
        function = self._code.write_code(offset, code)
        self._written.append((offset, code))
        return function, offset + -(-len(code) // _CODE_SLOT) * _CODE_SLOT

    def _check_code(self) -> None:
        """Check that all code, chain and sentinel included, is unchanged. Raises `AlteredError`."""
        if any(self._code.read(offset, len(code)) != code for offset, code in self._written):
            raise AlteredError

    def _iterations(self, function: Function) -> int:
        """Iterations that take `sample_us` on an undisturbed core."""
        n, elapsed = 1, 0
        function(1, self._middle)
        while elapsed < _CALIBRATION_NS and n < _MAX_ITERATIONS:
            n *= 4
            elapsed = min(self.elapsed(function, n) for _ in range(_CALIBRATION_RUNS))
        return max(1, round(n * self._settings.sample_us * 1000 / max(elapsed, 1)))

    def _compare(
        self, bodies: Sequence[tuple[Function, int]], quiet: float | None, *, subtracts_loop: bool = False
    ) -> Timing:
        """The timing from the minima of chain and bodies, timed in turn while the core is not shared."""
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
        return minima.timing(statistics.median(watch.sentinels), subtracts_loop=subtracts_loop)

    def _time_calls(self) -> None:
        """Time a call; the fastest so far counts, since the core may have been shared before."""
        function, _ = self._sentinel
        self._call = min(self._call, *(self.elapsed(function, 1) for _ in range(_CALLS)))

    def _time_undisturbed(self, watch: _Watch, copy: int, function: Function, n: int) -> int | None:
        """Nanoseconds of an undisturbed execution; the chain (index 0) is not affected by neighbours."""
        return watch.undisturbed(function, n) if copy else self.elapsed(function, n)

    def _count(self, bodies: Sequence[tuple[Function, int]]) -> dict[str, float]:
        """Events per copy, from the difference of both bodies, in which the loop itself cancels."""
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
        """Nanoseconds per cycle, by the chain."""
        function, n = self._chain
        return max(self.elapsed(function, n) - self._call, 1) / n / CHAIN_LENGTH

    def elapsed(self, function: Function, n: int) -> int:
        """Nanoseconds of n iterations, call included."""
        began = time.perf_counter_ns()
        function(n, self._middle)
        return time.perf_counter_ns() - began


class _Watch:
    """Times code while the core is not shared, as the sentinel shows before and after each execution.

    Neighbours come and go within fractions of a millisecond, so every execution has its own sentinels.
    `sentinels`: their cycles per addition. `waits`: nanoseconds that it waits in total, since an item that
    waits `_MAX_WAIT_NS` for each of a hundred executions would be taken to hang.
    """

    def __init__(self, timer: Timer, quiet: float | None, waits: int) -> None:
        self.sentinels: list[float] = []
        self._waits = waits
        self._timer = timer
        self._quiet = quiet
        self._clock = timer.clock()
        self._before = timer.additions(self._clock)

    def undisturbed(self, function: Function, n: int) -> int | None:
        """Nanoseconds of n undisturbed iterations; None where the core is shared for too long."""
        began = time.perf_counter_ns()
        until = began + min(_MAX_WAIT_NS, self._waits)
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
    """Minimum times of chain (index 0) and bodies, at n and 2n iterations."""

    def __init__(self, iterations: Sequence[int], copies: Sequence[int]) -> None:
        self._iterations = iterations
        self._copies = copies
        self._least = {(number, times): math.inf for number in range(len(copies)) for times in (1, 2)}
        self._second = dict(self._least)

    def add(self, number: int, times: int, elapsed: int) -> None:
        """Add a time in nanoseconds for n (`times` 1) or 2n (`times` 2) iterations."""
        key = number, times
        self._least[key], self._second[key], _ = sorted((self._least[key], self._second[key], elapsed))

    def is_confirmed(self, number: int, times: int) -> bool:
        """Whether the minimum was reached twice, so that another execution gains nothing."""
        return self._second[number, times] < self._least[number, times] * (1 + _CONFIRMED)

    def doubtful(self) -> list[int]:
        """Indices whose constant time differs from the chain's: one of their lengths was disturbed."""
        beside = [2 * self._least[number, 1] - self._least[number, 2] for number in range(len(self._copies))]
        return [
            number
            for number, nanoseconds in enumerate(beside)
            if abs(nanoseconds - beside[0]) > _CONSISTENT * self._least[number, 2]
        ]

    def timing(self, sentinel: float, *, subtracts_loop: bool = False) -> Timing:
        """The timing. Raises `DisturbedError` where more iterations did not take more time.

        Args:
            sentinel: Cycles per addition at the same time.
            subtracts_loop: Of two bodies, of which the first is longer, only what another copy takes counts,
                not the instructions that count iterations; noise alone makes that 0.1 % too little.
        """
        per_copy = [
            (self._least[number, 2] - self._least[number, 1]) / n / copies
            for number, (n, copies) in enumerate(zip(self._iterations, self._copies, strict=True))
        ]
        doubtful = self.doubtful()
        chain, *bodies = per_copy
        bodies = [body for number, body in enumerate(bodies, 1) if number not in doubtful] or bodies
        if subtracts_loop and len(bodies) == 2 and bodies[0] < bodies[1]:
            longer, shorter = bodies
            _, copies, fewer_copies = self._copies
            loop = (shorter - longer) / (1 / fewer_copies - 1 / copies)
            bodies = [longer - min(loop, _MAX_LOOP_CYCLES * chain) / copies]
        if min(chain, *bodies) <= 0:
            doubled = [self._least[number, 2] / n / 2 for number, n in enumerate(self._iterations)]
            raise DisturbedError(self.crude_cycles(doubled))
        return Timing(min(bodies) / chain, 1 / chain, sentinel)

    def crude_cycles(self, iteration: Sequence[float]) -> float:
        """Cycles from nanoseconds per iteration of chain and bodies, disturbances included."""
        chain, *bodies = (ns / copies for ns, copies in zip(iteration, self._copies, strict=True))
        return min(bodies) / chain
