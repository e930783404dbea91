"""Which instruction of a block reads what another one wrote, be it a register or a flag.

Aliasing says which operands are the same. That tells of a dependency only to those who know what is read and
what is written, and it knows neither flags nor registers that no text names, such as the rax of a
multiplication. The paper's abstraction has nothing of the kind. A dependency goes around the end of the
block, as a loop does, and ends where somebody in between overwrites what was written. What an instruction
reads of its own is for its operands to say (`GPR:RW`).

Units are those of registers (`places`), with one more for each flag. Memory is left out, which aliasing
speaks of, and so are the registers that it is addressed through: where these change, a block soon leaves the
memory that it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from iced_x86 import Register, RegisterExt

from anica_app.core.domain.places import Content, Slots, effective_access, units
from inference.isa.scheme import Operand, Scheme
from inference.isa.x86.iced_types import RegisterValue

DependencyKind = Literal["flag", "register"]

FLAGS = ("cf", "pf", "af", "zf", "sf", "of", "df", "if", "ac", "uif", "c0", "c1", "c2", "c3")
"""As schemes name them."""


class Dependency(NamedTuple):
    """Instruction `reader` reads a flag or a register that `writer`, another one, wrote; both from 0."""

    writer: int
    reader: int
    kind: DependencyKind


Used = tuple[int, int]
"""The units that an instruction reads, and those that it writes."""

_FLAGS_START = 128  # behind all registers
_REGISTERS = (1 << _FLAGS_START) - 1


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

    `reads` and `writes` are numbers of operands among `Slots.registers`; `read` and `written` the units of
    flags and of registers that no text names.
    """

    slots: Slots
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    read: int
    written: int

    def of(self, contents: Sequence[Content]) -> Used:
        """The units of an instruction of this scheme with these operands."""
        read, written = self.read, self.written
        for number in self.reads:
            read |= _register(contents[number])
        for number in self.writes:
            written |= _register(contents[number])
        return read, written

    @cached_property
    def could_read(self) -> int:
        """The units that its instructions may read, whatever registers stand in them."""
        return self._could(self.reads, self.read)

    @cached_property
    def could_write(self) -> int:
        """The units that its instructions may write."""
        return self._could(self.writes, self.written)

    def _could(self, numbers: Iterable[int], found: int) -> int:
        for number in numbers:
            found |= self.slots.registers[number].possible
        return found


def scheme_use(scheme: Scheme, slots: Slots) -> SchemeUse:
    """What instructions of a scheme with these operands read and write."""
    read = written = addressing = 0
    for operand in scheme.operands:
        if operand.kind == "memory":
            addressing |= _units_named(operand)
        elif operand.implicit and operand.kind in ("register", "flags"):
            found = _units_named(operand)
            access = effective_access(operand, general=operand.kind == "register")
            read |= found if "R" in access else 0
            written |= found if "W" in access else 0
    accesses = [slot.access for slot in slots.registers]
    return SchemeUse(
        slots,
        tuple(number for number, access in enumerate(accesses) if "R" in access),
        tuple(number for number, access in enumerate(accesses) if "W" in access),
        read & ~addressing,
        written,
    )


def _units_named(operand: Operand) -> int:
    """The units of the registers or flags that an operand names and instructions compute with."""
    found = 0
    for name in operand.registers:
        if operand.kind == "flags":
            found |= 1 << _FLAGS_START + FLAGS.index(name)
        elif _is_computed_with(register := getattr(Register, name.upper())):
            found |= units(register)
    return found


def _is_computed_with(register: RegisterValue) -> bool:
    """No control, debug or segment register."""
    return (
        RegisterExt.is_gpr(register)
        or RegisterExt.is_vector_register(register)
        or RegisterExt.is_mm(register)
        or RegisterExt.is_st(register)
        or RegisterExt.is_k(register)
    )


def _register(content: Content) -> int:
    assert isinstance(content, int), "registers come first"
    return content
