"""Times a loop body in clock cycles, without any performance counter (thesis App. D, adapted).

The clock is a chain of dependent one-cycle additions. Its time is taken interleaved with that of the body:
chain n, chain 2n, body n, body 2n, over and over. Whatever disturbs a sample makes it longer, so the minimum
of each of the four is the best estimate of it, and in the differences 2n − n all constant parts cancel:

    cycles per iteration = chain cycles · (body 2n − body n) / (chain 2n − chain n)

A body is measured at two lengths, since longer ones dilute the loop's own instructions and shorter ones fit
smaller buffers; the faster per copy counts.

Whoever else runs on the same core, a virtual neighbour on its second hyper-thread for instance, takes issue
slots and ports for milliseconds on end, and the chain does not feel it. A sentinel does: a block that keeps
all ALUs busy, timed before and after each repetition. Only those repetitions count in which it is as fast as
it should be.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

from inference.agent import frame as frames
from inference.agent.checks import ADDITIONS, NEAR
from inference.agent.code_pages import Function, Region
from inference.agent.protocol import Frame, Item, Settings

CHAIN_LENGTH = 100
CHAIN = b"\x48\x01\xd8" * CHAIN_LENGTH  # add rax, rbx
"""Dependent additions of registers: one cycle each on every x86-64 core (those of immediates are not)."""

_SENTINEL_SHARE = 2  # its samples are as much shorter: it need not be as exact
_MORE_WHEN_DISTURBED = 4  # times as many samples at most
_CODE_BYTES = 64 * 1024
_CODE_SLOT = 128  # between functions: no cache line, nor the one prefetched with it, is shared
_LONGEST_BODY = 16 * 1024
_FIRST_LOOK_NS = 5_000
_FIRST_LOOKS = 4  # of which the fastest counts: a disturbed one would make for samples that are too short
_MOST_ITERATIONS = 1 << 20

_Sample = tuple[int, int]
"""Nanoseconds that n iterations took, and those that 2n took."""


class HarnessError(ValueError):
    """An item that this harness cannot time."""


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
    """

    cycles: float
    ghz: float
    sentinel: float


class Timer:
    """Times items of one frame; needs pages that may be written and executed (`CodePagesError`)."""

    def __init__(self, frame: Frame, settings: Settings) -> None:
        self._frame = frame
        self._settings = settings
        self._code = Region(_CODE_BYTES, executable=True)
        self._memory = Region(2 * frame.memory_bytes)
        self._pattern = frame.memory.to_bytes(8, "little") * (self._memory.size // 8)
        self._middle = self._memory.address + self._memory.size // 2
        chain, after = self._place(0, CHAIN)
        sentinel, self._next = self._place(after, ADDITIONS.item.code)
        self._chain = chain, self._iterations(chain)
        self._sentinel = sentinel, self._iterations(sentinel) // _SENTINEL_SHARE + 1

    def time(self, item: Item, quiet: float | None = None) -> Timing:
        """One pass, of repetitions in which the sentinel was at its `quiet` cycles per addition.

        Raises `HarnessError` for code that is too long, `DisturbedError` where there are not enough of them.
        """
        if len(item.code) > _LONGEST_BODY:
            raise HarnessError(f"a loop body has at most {_LONGEST_BODY} bytes, not {len(item.code)}")
        whole, after = self._place(self._next, item.code)
        half, _ = self._place(after, item.code[: item.half_bytes])
        self._memory.write(0, self._pattern)
        bodies = [(whole, item.copies), (half, item.half_copies)]
        if item.half_copies == item.copies:
            bodies.pop()
        return self._compare(bodies, quiet)

    def _place(self, offset: int, body: bytes) -> tuple[Function, int]:
        """Code around a body at an offset; also the first free offset behind it."""
        code = frames.function(self._frame, body)
        self._code.write(offset, code)
        return self._code.function(offset), offset + -(-len(code) // _CODE_SLOT) * _CODE_SLOT

    def _iterations(self, function: Function) -> int:
        """How many iterations take about as long as a sample shall, on an undisturbed core."""
        n, elapsed = 1, 0
        function(1, self._middle)
        while elapsed < _FIRST_LOOK_NS and n < _MOST_ITERATIONS:
            n *= 4
            elapsed = min(self._elapsed(function, n) for _ in range(_FIRST_LOOKS))
        return max(1, round(n * self._settings.sample_us * 1000 / max(elapsed, 1)))

    def _elapsed(self, function: Function, n: int) -> int:
        began = time.perf_counter_ns()
        function(n, self._middle)
        return time.perf_counter_ns() - began

    def _compare(self, bodies: Sequence[tuple[Function, int]], quiet: float | None) -> Timing:
        """The interleaved minima of chain and bodies, over repetitions in which the core was not shared."""
        timed = [self._chain, *((function, self._iterations(function)) for function, _ in bodies)]
        minima = _Minima([n for _, n in timed], [CHAIN_LENGTH, *(copies for _, copies in bodies)])
        disturbed = _Minima(minima.iterations, minima.copies)
        sentinels = []
        wanted = self._settings.repetitions
        for _ in range(_MORE_WHEN_DISTURBED * wanted):
            before = self._sample(*self._sentinel)
            samples = [self._sample(function, n) for function, n in timed]
            after = self._sample(*self._sentinel)
            sentinel = self._additions(samples[0], max(before, after, key=_difference))
            if quiet is None or abs(sentinel / quiet - 1) <= NEAR:
                sentinels.append(sentinel)
                minima.add(samples)
                wanted -= 1
            else:
                disturbed.add(samples)
            if wanted == 0:
                return minima.timing(statistics.median(sentinels))
        raise DisturbedError((minima if sentinels else disturbed).crude_cycles())

    def _sample(self, function: Function, n: int) -> _Sample:
        return self._elapsed(function, n), self._elapsed(function, 2 * n)

    def _additions(self, chain: _Sample, sentinel: _Sample) -> float:
        """Cycles per addition of the sentinel."""
        clock = _difference(chain) / self._chain[1] / CHAIN_LENGTH
        return _difference(sentinel) / self._sentinel[1] / ADDITIONS.item.copies / max(clock, 1e-9)


def _difference(sample: _Sample) -> int:
    return sample[1] - sample[0]


class _Minima:
    """The least times of everything that is timed, the chain first."""

    def __init__(self, iterations: Sequence[int], copies: Sequence[int]) -> None:
        self.iterations = iterations
        self.copies = copies
        self._short = [float("inf")] * len(copies)
        self._long = [float("inf")] * len(copies)

    def add(self, samples: Sequence[_Sample]) -> None:
        """Another repetition."""
        for k, (short, long) in enumerate(samples):
            self._short[k] = min(self._short[k], short)
            self._long[k] = min(self._long[k], long)

    def is_sound(self) -> bool:
        """Whether there are any, and more iterations took more time."""
        return min(self._per_copy()) > 0

    def timing(self, sentinel: float) -> Timing:
        """What they amount to. Raises `DisturbedError`."""
        if not self.is_sound():
            raise DisturbedError(self.crude_cycles())
        chain, *bodies = self._per_copy()
        return Timing(min(bodies) / chain, 1 / chain, sentinel)

    def crude_cycles(self) -> float:
        """Cycles with all that they should not contain."""
        chain, *bodies = (
            long / n / copies
            for long, n, copies in zip(self._long, self.iterations, self.copies, strict=True)
        )
        return min(bodies) / chain

    def _per_copy(self) -> list[float]:
        """Nanoseconds per copy, without what does not depend on the number of iterations."""
        return [
            (long - short) / n / copies if long < float("inf") else 0.0
            for short, long, n, copies in zip(
                self._short, self._long, self.iterations, self.copies, strict=True
            )
        ]
