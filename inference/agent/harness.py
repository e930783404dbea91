"""Times a loop body in clock cycles, without any performance counter (thesis App. D, adapted).

The clock is a chain of dependent one-cycle additions. Its time is taken interleaved with that of the body:
chain n, chain 2n, body n, body 2n, over and over. Whatever disturbs a sample makes it longer, so the minimum
of each of the four is the best estimate of it, and in the differences 2n − n all constant parts cancel:

    cycles per iteration = chain cycles · (body 2n − body n) / (chain 2n − chain n)

A body is measured at two lengths, since longer ones dilute the loop's own instructions and shorter ones fit
smaller buffers; the faster per copy counts.

Whoever else runs on the same core, a virtual neighbour on its second hyper-thread for instance, takes issue
slots and ports for tens of milliseconds on end, and the chain does not feel it. A sentinel does: a block that
keeps all ALUs busy, timed interleaved with the rest.
"""

from __future__ import annotations

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
_MOST_ITERATIONS = 1 << 20


class HarnessError(ValueError):
    """An item that this harness cannot time."""


class DisturbedError(Exception):
    """So much else went on that not even the order of the samples came out right; another pass may do.

    `cycles` is what the samples show as they are, with everything that they should not contain.
    """

    def __init__(self, cycles: float) -> None:
        self.cycles = cycles
        super().__init__("a longer sample took less time than a shorter one")


@dataclass(frozen=True)
class Timing:
    """One pass over an item: `cycles` per copy of the experiment, and the clock that the chain showed.

    `sentinel`: cycles per addition at the same time; more than otherwise means that the core was shared.
    """

    cycles: float
    ghz: float
    sentinel: float


class Harness:
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
        self._always = (
            (chain, self._iterations(chain)),
            (sentinel, self._iterations(sentinel) // _SENTINEL_SHARE + 1),
        )

    def time(self, item: Item, quiet: float | None = None) -> Timing:
        """One pass, with more samples as long as the sentinel is not at its `quiet` cycles per addition.

        Raises `HarnessError` for code that is too long, `DisturbedError` for nonsense.
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
        """How many iterations take about as long as a sample shall."""
        n, elapsed = 1, 0
        function(1, self._middle)
        while elapsed < _FIRST_LOOK_NS and n < _MOST_ITERATIONS:
            n *= 4
            elapsed = self._elapsed(function, n)
        return max(1, round(n * self._settings.sample_us * 1000 / max(elapsed, 1)))

    def _elapsed(self, function: Function, n: int) -> int:
        began = time.perf_counter_ns()
        function(n, self._middle)
        return time.perf_counter_ns() - began

    def _compare(self, bodies: Sequence[tuple[Function, int]], quiet: float | None) -> Timing:
        """The interleaved minima of chain, sentinel and bodies."""
        timed = [*self._always, *((function, self._iterations(function)) for function, _ in bodies)]
        copies = [CHAIN_LENGTH, ADDITIONS.item.copies, *(copies for _, copies in bodies)]
        minima = _Minima([n for _, n in timed], copies)
        for repetition in range(_MORE_WHEN_DISTURBED * self._settings.repetitions):
            if repetition >= self._settings.repetitions and minima.are_quiet(quiet):
                break
            for k, (function, n) in enumerate(timed):
                minima.add(k, self._elapsed(function, n), self._elapsed(function, 2 * n))
        return minima.timing()


class _Minima:
    """The least times of everything that is timed, the chain first, the sentinel second."""

    def __init__(self, iterations: Sequence[int], copies: Sequence[int]) -> None:
        self._iterations = iterations
        self._copies = copies
        self._short = [float("inf")] * len(copies)
        self._long = [float("inf")] * len(copies)

    def add(self, k: int, short: int, long: int) -> None:
        """Another sample of n and one of 2n iterations."""
        self._short[k] = min(self._short[k], short)
        self._long[k] = min(self._long[k], long)

    def are_quiet(self, quiet: float | None) -> bool:
        """Whether the sentinel is as fast as it should be, as far as that is known."""
        if quiet is None:
            return True
        chain, sentinel = self._per_copy()[:2]
        return chain > 0 and abs(sentinel / chain / quiet - 1) <= NEAR

    def timing(self) -> Timing:
        """What they amount to. Raises `DisturbedError`."""
        chain, *others = self._per_copy()
        if min(chain, *others) <= 0:
            chain, *others = self._crude()
            raise DisturbedError(min(others[1:]) / chain)
        sentinel, *bodies = (time_taken / chain for time_taken in others)
        return Timing(min(bodies), 1 / chain, sentinel)

    def _per_copy(self) -> list[float]:
        """Nanoseconds per copy, without what does not depend on the number of iterations."""
        return [
            (long - short) / n / copies
            for short, long, n, copies in zip(
                self._short, self._long, self._iterations, self._copies, strict=True
            )
        ]

    def _crude(self) -> list[float]:
        return [
            long / (2 * n) / copies
            for long, n, copies in zip(self._long, self._iterations, self._copies, strict=True)
        ]
