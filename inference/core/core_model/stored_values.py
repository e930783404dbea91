"""Which instruction of a block last wrote a value that another one reads, and the cycles of a stored value to
a load.

A core that renames memory has the value at once under measured conditions; otherwise forwarding takes time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from inference.core.core_model.model import MemoryTimes, RenamingConditions, is_contained
from inference.isa.dependences import InstructionAccesses, MemoryPlace, OperandAccess

_SINGLE_PAGE = 1
"""Page number of all places; 0 is that of places on an unknown page."""

LEARNED_CASE = (64, 64, 0, False)
"""The only case that loops were measured with."""


@dataclass(frozen=True, slots=True)
class LastWrite:
    """The last write of a value: by which instruction (index), and how many iterations ago.

    `memory`: the place that it stored to then.
    """

    access: OperandAccess
    writer: int
    iterations: int
    memory: MemoryPlace | None


def last_write(block: Sequence[InstructionAccesses], place: int, read: OperandAccess) -> LastWrite | None:
    """The last write of any part of what is read: earlier in this iteration, else in the previous one."""
    if read.is_independent:
        return None
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
                memory = written.memory.in_previous_iteration() if iterations else written.memory
                if memory is not None and memory.overlaps(read.memory):
                    return LastWrite(written, writer, iterations, memory)
    return None


def covers(stored: MemoryPlace, loaded: MemoryPlace | None) -> bool:
    """Whether a store wrote everything that a load reads, by the same page."""
    if loaded is None:
        return False
    contained = is_contained(stored.bits, loaded.bits, loaded.offset - stored.offset)
    return stored.page == loaded.page and contained


def serves(last: LastWrite | None, read: OperandAccess) -> bool:
    """Whether the last write is a store that covers the read, by an address without an index."""
    if last is None or last.memory is None or read.memory is None:
        return False
    return not read.memory.is_indexed and covers(last.memory, read.memory)


def with_single_page(block: Sequence[InstructionAccesses]) -> tuple[InstructionAccesses, ...]:
    """The block for a core that does not distinguish pages of one memory."""

    def moved(accesses: Sequence[OperandAccess]) -> tuple[OperandAccess, ...]:
        return tuple(
            access
            if access.memory is None or not access.memory.page
            else access._replace(memory=access.memory._replace(page=_SINGLE_PAGE))
            for access in accesses
        )

    return tuple(row._replace(reads=moved(row.reads), writes=moved(row.writes)) for row in block)


class StoredValues:
    """Latencies of loads that read what the block stored.

    `copies`: consecutive copies of the block in the executed loop. A core without known `RenamingConditions`
    has the latencies that were measured with one register, for all addresses.
    """

    def __init__(self, block: Sequence[InstructionAccesses], times: MemoryTimes, copies: int = 1) -> None:
        self._block = block
        self._times = times
        self._copies = copies

    def loaded(self, place: int, read: MemoryPlace, last: LastWrite, *, vector: bool) -> float:
        """Cycles from the stored value to the value that the instruction at `place` loads."""
        assert last.memory is not None, "expects a stored value"
        conditions = self._times.renaming
        at_once = self._times.between(last.memory, read, vector=vector)
        if conditions is None or not covers(last.memory, read):
            return at_once
        case = (last.memory.bits, read.bits, read.offset - last.memory.offset, vector)
        if not conditions.computing and not self._block[place].moves:
            return max(at_once, conditions.forwarded.get(case, 0.0))
        if self._meets(place, read, last, conditions):
            return at_once
        if self._is_learned:
            return at_once if conditions.by_text or case != LEARNED_CASE else 0.0
        return max(at_once, conditions.forwarded.get(case, 0.0))

    def updated_elsewhere(self, place: int, read: MemoryPlace, last: LastWrite) -> float | None:
        """Cycles from update to update where two instructions update one place by different addresses.

        None where the instruction at `place` does not update another one's value, and where loads decide.
        """
        conditions = self._times.renaming
        if conditions is None or last.writer == place or self._meets(place, read, last, conditions):
            return None
        if self._is_learned or not all(map(self._is_update, (place, last.writer))):
            return None
        return conditions.update if conditions.overtaken is None else conditions.overtaken

    def updated(self, place: int, read: MemoryPlace, last: LastWrite, own_cycles: float) -> float:
        """Cycles of an instruction that updates what it stored itself, which takes `own_cycles` at best."""
        conditions = self._times.renaming
        if conditions is None or conditions.update is None or self._meets(place, read, last, conditions):
            return own_cycles
        if not self._is_learned:
            return max(own_cycles, conditions.update)
        if conditions.by_text or conditions.learned_update is None or read.bits != LEARNED_CASE[0]:
            return own_cycles
        return max(own_cycles - conditions.update, 0.0) + conditions.learned_update

    def _meets(self, place: int, read: MemoryPlace, last: LastWrite, conditions: RenamingConditions) -> bool:
        """Whether the conditions hold under which the core renames in any code."""
        assert last.memory is not None, "expects a stored value"
        if not conditions.by_text:
            return False
        between = self._between(place, last)
        if not _has_same_base(last.memory, read):
            if not conditions.other_base:
                return False
        elif not conditions.rewritten and self._is_rewritten(read, between):
            return False
        stores = sum(access.memory is not None for instruction in between for access in instruction.writes)
        return conditions.stores_between is None or stores <= conditions.stores_between

    def _between(self, place: int, last: LastWrite) -> list[InstructionAccesses]:
        first = last.writer + 1
        if not last.iterations:
            return [*self._block[first:place]]
        return [*self._block[first:], *self._block[:place]]

    @staticmethod
    def _is_rewritten(read: MemoryPlace, between: Sequence[InstructionAccesses]) -> bool:
        in_address = {location for location, _ in read.registers}
        return any(access.location in in_address for instruction in between for access in instruction.writes)

    def _is_update(self, place: int) -> bool:
        instruction = self._block[place]
        loaded = {access.memory for access in instruction.reads if access.memory is not None}
        return any(access.memory in loaded for access in instruction.writes)

    @cached_property
    def _is_learned(self) -> bool:
        """Whether the code has so few loads of stored values that the core has learned all that are not
        renamed by text.
        """
        conditions = self._times.renaming
        assert conditions is not None, "expects a core that renames memory"
        pairs = updates = 0
        for place, instruction in enumerate(self._block):
            for read in instruction.reads:
                last = None if read.memory is None else last_write(self._block, place, read)
                if last is None or read.memory is None or last.memory is None:
                    continue
                if not self._meets(place, read.memory, last, conditions):
                    updates += last.writer == place
                    pairs += last.writer != place
        return (
            _share(self._copies * pairs, conditions.forgotten_pairs)
            + _share(self._copies * updates, conditions.forgotten_updates)
            < 1
        )


def _has_same_base(stored: MemoryPlace, loaded: MemoryPlace) -> bool:
    """Whether both addresses have the same registers, and their displacements show their distance."""
    if stored.registers != loaded.registers or stored.page != loaded.page:
        return False
    return loaded.displacement - stored.displacement == loaded.offset - stored.offset


def _share(loads: int, forgotten: int | None) -> float:
    """Share of the core's capacity for learning that these loads use, 0 for unlimited capacity."""
    return 0.0 if forgotten is None else loads / forgotten
