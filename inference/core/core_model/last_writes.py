"""Which instruction of a block wrote last what another one reads, in its iteration or the one before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from inference.core.core_model.model import is_contained
from inference.isa.dependences import InstructionAccesses, MemoryPlace, OperandAccess

_ONLY_PAGE = 1
"""0 is of places on no known page."""


@dataclass(frozen=True, slots=True)
class LastWrite:
    """By which instruction (its place), and how many iterations ago; `memory` is where it stored then."""

    access: OperandAccess
    writer: int
    iterations: int
    memory: MemoryPlace | None


def last_write(block: Sequence[InstructionAccesses], place: int, read: OperandAccess) -> LastWrite | None:
    """The last write of any part of what is read: in this iteration before, else in the one before."""
    behind = place if read.memory is None else 0  # before it, in the iteration before, memory was elsewhere
    for iterations, candidates in (
        (0, range(place - 1, -1, -1)),
        (1, range(len(block) - 1, behind - 1, -1)),
    ):
        for writer in candidates:
            for written in block[writer].writes:
                if read.memory is None or written.memory is None:
                    if read.location and written.location == read.location:
                        return LastWrite(written, writer, iterations, None)
                    continue
                memory = written.memory.an_iteration_ago() if iterations else written.memory
                if memory is not None and memory.overlaps(read.memory):
                    return LastWrite(written, writer, iterations, memory)
    return None


def has_all(stored: MemoryPlace, loaded: MemoryPlace | None) -> bool:
    """Whether a store wrote all that a load wants, by the same page."""
    if loaded is None:
        return False
    contained = is_contained(stored.bits, loaded.bits, loaded.offset - stored.offset)
    return stored.page == loaded.page and contained


def serves(last: LastWrite | None, read: OperandAccess) -> bool:
    """Whether the last write is a store that has all that is read, by an address without an index."""
    if last is None or last.memory is None or read.memory is None:
        return False
    return not read.memory.is_indexed and has_all(last.memory, read.memory)


def on_one_page(block: Sequence[InstructionAccesses]) -> tuple[InstructionAccesses, ...]:
    """The block as a core sees it to which all pages of one memory are alike."""

    def moved(accesses: Sequence[OperandAccess]) -> tuple[OperandAccess, ...]:
        return tuple(
            one
            if one.memory is None or not one.memory.page
            else one._replace(memory=one.memory._replace(page=_ONLY_PAGE))
            for one in accesses
        )

    return tuple(one._replace(reads=moved(one.reads), writes=moved(one.writes)) for one in block)


class BlockedLoads(NamedTuple):
    """How often an iteration waits for the cache, 0 where it does not; `vector`: for vector registers."""

    per_iteration: float
    vector: bool


def blocked_loads(block: Sequence[InstructionAccesses]) -> BlockedLoads:
    """Loads of a block that a store before them keeps waiting until the cache has what was stored.

    A load that wants more than the store before it wrote, or has another address for it, waits until the
    cache has that. A store reaches the cache after all that stand before it have ended, in their order. So
    of a store and its load, and another store behind that load, and its load, each pair waits by itself; two
    pairs that overlap wait together, and of a pair that spans several iterations each iteration has a part.
    """
    spans: list[tuple[int, int]] = []
    vector = False
    for place, one in enumerate(block):
        for read in one.reads:
            last = None if read.memory is None else last_write(block, place, read)
            if last is not None and last.memory is not None and not has_all(last.memory, read.memory):
                spans.append((last.writer - last.iterations * len(block), place))
                vector |= one.vector
    if not spans:
        return BlockedLoads(0.0, vector=False)
    shortest = min(end - begin for begin, end in spans)
    if shortest >= len(block):
        return BlockedLoads(1 / -(-shortest // len(block)), vector)
    return BlockedLoads(float(max(_in_sequence(spans, at, len(block)) for _, at in spans)), vector)


def _in_sequence(spans: Sequence[tuple[int, int]], begin: int, length: int) -> int:
    """How many of these spans fit one behind the other into the iteration after a place."""
    shifted = sorted((end + k * length, start + k * length) for start, end in spans for k in range(3))
    count, at = 0, begin
    for end, start in shifted:
        if start >= at and end <= begin + length:
            count, at = count + 1, end
    return count
