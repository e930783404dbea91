"""Which instruction of a block reads what another one wrote, be it a register or a flag.

Aliasing says which operands are the same. That tells of a dependency only to those who know what is read and
what is written, and it knows neither flags nor registers that no text names, such as the rax of a
multiplication. The paper's abstraction has nothing of the kind. A dependency goes around the end of the
block, as a loop does, and ends where somebody in between overwrites what was written. What an instruction
reads of its own is for its operands to say (`GPR:RW`).

Units are those of registers and flags (`inference.isa.operand_slots`). Memory is left out, which aliasing
speaks of, and so are the registers that it is addressed through: where these change, a block soon leaves the
memory that it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from inference.isa.operand_slots import FIRST_FLAG, Content, Slots

DependencyKind = Literal["flag", "register"]


class Dependency(NamedTuple):
    """Instruction `reader` reads a flag or a register that `writer`, another one, wrote; both from 0."""

    writer: int
    reader: int
    kind: DependencyKind


Used = tuple[int, int]
"""The units that an instruction reads, and those that it writes."""

_REGISTERS = (1 << FIRST_FLAG) - 1


def dependencies(block: Sequence[Used]) -> frozenset[Dependency]:
    """All of a block, given by what each of its instructions uses."""
    found = set()
    count = len(block)
    for writer, (_, written) in enumerate(block):
        left = written
        for distance in range(1, count):
            reader = (writer + distance) % count
            read, overwritten = block[reader]
            found |= {Dependency(writer, reader, kind) for kind in _kinds(left & read)}
            left &= ~overwritten
            if not left:
                break
    return frozenset(found)


def _kinds(shared: int) -> Iterator[DependencyKind]:
    if shared & _REGISTERS:
        yield "register"
    if shared > _REGISTERS:
        yield "flag"


def of_kind(kind: DependencyKind, used: int) -> int:
    """Those of some units that are registers, or flags."""
    return used & _REGISTERS if kind == "register" else used & ~_REGISTERS


@dataclass(frozen=True)
class SchemeUse:
    """What instructions of a scheme read and write.

    `reads` and `writes` are numbers of operands among `Slots.registers`.
    """

    slots: Slots
    reads: tuple[int, ...]
    writes: tuple[int, ...]

    def of(self, contents: Sequence[Content]) -> Used:
        """The units of an instruction of this scheme with these operands."""
        read, written = self.slots.read, self.slots.written
        for number in self.reads:
            read |= _register(contents[number])
        for number in self.writes:
            written |= _register(contents[number])
        return read, written

    @cached_property
    def could_read(self) -> int:
        """The units that its instructions may read, whatever registers stand in them."""
        return self._could(self.reads, self.slots.read)

    @cached_property
    def could_write(self) -> int:
        """The units that its instructions may write."""
        return self._could(self.writes, self.slots.written)

    def _could(self, numbers: Iterable[int], found: int) -> int:
        for number in numbers:
            found |= self.slots.registers[number].possible
        return found


def scheme_use(slots: Slots) -> SchemeUse:
    """What instructions of a scheme with these operands read and write."""
    accesses = [slot.access for slot in slots.registers]
    return SchemeUse(
        slots,
        tuple(number for number, access in enumerate(accesses) if "R" in access),
        tuple(number for number, access in enumerate(accesses) if "W" in access),
    )


def _register(content: Content) -> int:
    assert isinstance(content, int), "registers come first"
    return content
