"""Times basic blocks: code that expects memory which is not mapped, and may use every register.

It replaces the surroundings of experiments' loop bodies (`harness`): `paging` has a block's memory, the
target's `BLOCKS` the code around it. Clock, estimator and sentinel are the same.

Blocks are timed in two lengths, k and k′ copies, unrolled ones after registers are set, and

    cycles per iteration = (cycles of k copies − cycles of k′ copies) / (k − k′)

In a loop, k′ copies count alone where they are faster per copy: they may fit a buffer that k copies exceed.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import replace

from inference.agent.code_pages import Function
from inference.agent.counters import ProcessorCounters
from inference.agent.frame import FrameError, plain_frame
from inference.agent.harness import DisturbedError, HarnessError, Timer, Timing
from inference.agent.paging import CODE_BYTES, MAX_PAGES, BlockMemory, TouchError
from inference.agent.protocol import BatchItem, Frame, Settings
from inference.agent.targets.block_state import PAGE

Body = tuple[Function, int]
"""A function and the number of copies in it."""

MAX_COPIES_BYTES = 24 * 1024
"""Largest size in bytes of all copies of a block."""


def timer(frame: Frame, settings: Settings, counters: ProcessorCounters) -> Timer:
    """The timer for items of a frame: a `BlockTimer` where the frame has pages for a basic block."""
    return BlockTimer(frame, settings, counters) if frame.pages else Timer(frame, settings, counters)


class BlockTimer(Timer):
    """Times basic blocks. Raises `FrameError` for an invalid frame."""

    def __init__(self, frame: Frame, settings: Settings, counters: ProcessorCounters) -> None:
        super().__init__(plain_frame(frame), settings, counters)
        blocks = self._target.BLOCKS
        if blocks is None:
            raise FrameError(f"basic blocks of {frame.isa} are not timed yet, only loop bodies")
        if not 0 < frame.pages <= MAX_PAGES:
            raise FrameError(f"a block touches 1 to {MAX_PAGES} pages, not {frame.pages}")
        if not frame.unrolled and frame.counter_register not in blocks.COUNTERS:
            raise FrameError(f"no iterations can be counted in {frame.counter_register!r}")
        if PAGE % mmap.PAGESIZE:
            raise FrameError(f"blocks need pages of {PAGE} bytes; this system's have {mmap.PAGESIZE}")
        self._blocks = blocks
        self._block_frame = frame
        self._block_memory = BlockMemory(frame, blocks)

    def time(self, item: BatchItem, quiet: float | None = None) -> Timing:
        """One pass; see `Timer.time`. Raises `HarnessError` also where a block touches forbidden memory."""
        size = len(item.code) + len(item.end)
        if size > MAX_COPIES_BYTES:
            raise HarnessError(f"the copies of a block have at most {MAX_COPIES_BYTES} bytes, not {size}")
        if self._block_frame.unrolled and item.half_copies == item.copies:
            raise HarnessError("an unrolled block is timed in two lengths")
        try:
            self._block_memory.begin()
            full, half = self._bodies(item)
            if self._block_frame.unrolled:
                timing = self._difference(full, half, quiet)
            else:
                bodies = [full] if item.half_copies == item.copies else [full, half]
                timing = self._compare(bodies, quiet, subtracts_loop=True)
            self._block_memory.check()  # times of a block that was aborted are meaningless
            counted = {} if item.half_copies == item.copies else self._count([full, half])
        except TouchError as error:
            raise HarnessError(str(error)) from error
        finally:
            self._block_memory.release()
            self._check_code()
        return replace(timing, counters=counted)

    def _difference(self, full: Body, half: Body, quiet: float | None) -> Timing:
        """Cycles per copy, from the difference between both lengths."""
        (longer, copies), (shorter, half_copies) = full, half
        long, short = self._compare([(longer, 1)], quiet), self._compare([(shorter, 1)], quiet)
        cycles = (long.cycles - short.cycles) / (copies - half_copies)
        self._block_memory.check()
        if cycles <= 0:
            raise DisturbedError(long.cycles / copies)
        return replace(long, cycles=cycles, sentinel=max(long.sentinel, short.sentinel))

    def _bodies(self, item: BatchItem) -> list[Body]:
        """The functions of both lengths, after running them until all their memory is mapped."""
        unrolled = self._block_frame.unrolled
        bodies = self._place_bodies(item, refills=not unrolled)
        self._warm_up(bodies)
        if unrolled and not self._block_memory.is_as_it_was():
            bodies = self._place_bodies(item, refills=True)
            self._block_memory.refill()
            self._warm_up(bodies)
        return bodies

    def _warm_up(self, bodies: Sequence[Body]) -> None:
        for function, _ in bodies:
            function(1, 0)
            self._block_memory.check()

    def _place_bodies(self, item: BatchItem, *, refills: bool) -> list[Body]:
        layout, codes = self._block_memory.layout, {}
        for offset, body in ((0, item.code), (CODE_BYTES // 2, item.code[: item.half_bytes])):
            codes[offset] = self._blocks.function(
                self._block_frame, body + item.end, layout.code + offset, layout, refills=refills
            )
        full, half = self._block_memory.place(codes)
        return [(full, item.copies), (half, item.half_copies)]
