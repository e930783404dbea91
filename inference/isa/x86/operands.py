"""Operands of a form with their accesses, from iced's instruction information.

Conditional accesses count as the dependency that must be assumed: a conditional write is RW, because the old
value may survive, and a conditional read is R.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache

from iced_x86 import (
    Instruction,
    InstructionInfo,
    InstructionInfoFactory,
    MemorySizeExt,
    OpAccess,
    OpKind,
    Register,
    RegisterExt,
    RflagsBits,
)

from inference.isa.scheme import Access, Operand
from inference.isa.x86.forms import Form
from inference.isa.x86.holes import Hole
from inference.isa.x86.iced_types import AccessValue, RegisterValue
from inference.isa.x86.instances import register_names

_ACCESS: dict[AccessValue, Access] = {
    OpAccess.NONE: "",
    OpAccess.READ: "R",
    OpAccess.COND_READ: "R",
    OpAccess.WRITE: "W",
    OpAccess.COND_WRITE: "RW",
    OpAccess.READ_WRITE: "RW",
    OpAccess.READ_COND_WRITE: "RW",
    OpAccess.NO_MEM_ACCESS: "",
}

_FLAGS = {
    bit: name.lower()
    for name, bit in vars(RflagsBits).items()
    if isinstance(bit, int) and not name.startswith("_") and name != "NONE"
}

_FACTORY = InstructionInfoFactory()


_CONDITIONAL_STORES = frozenset({"vmaskmovps", "vmaskmovpd", "vpmaskmovd", "vpmaskmovq"})
"""Writes in iced, although masked-out elements keep their old value."""


def information(instruction: Instruction) -> InstructionInfo:
    """iced's used registers, used memory and accesses of an instruction."""
    return _FACTORY.info(instruction)


def explicit_operands(form: Form, info: InstructionInfo) -> tuple[Operand, ...]:
    """The operands in the text, in order. A mask of EVEX is part of the first one's name."""
    return tuple(
        _explicit(form, position, hole, _ACCESS[info.op_access(position)])
        for position, hole in enumerate(form.holes)
    )


def _explicit(form: Form, position: int, hole: Hole, access: Access) -> Operand:
    name = hole.name
    if hole.kind == "memory" and form.broadcast:
        name += f"{{1to{form.broadcast}}}"
    if position == 0:
        name += form.masking
    if hole.kind == "immediate":
        access = "" if hole.fixed else "R"
    elif hole.kind in {"address", "branch"}:
        access = ""
    elif hole.kind == "memory" and access == "W" and form.mnemonic in _CONDITIONAL_STORES:
        access = "RW"
    return Operand(hole.kind, name, access, hole.width, _fixed_registers(hole))


def _fixed_registers(hole: Hole) -> tuple[str, ...]:
    if hole.kind == "register":
        return (hole.name,) if hole.fixed else ()
    return tuple(hole.shape.split("+")) if hole.kind == "memory" and hole.shape not in {"", "moffs"} else ()


def implicit_operands(form: Form, instruction: Instruction, info: InstructionInfo) -> tuple[Operand, ...]:
    """Registers, memory and flags that the instruction uses but the text omits."""
    return (
        *_implicit_registers(form, instruction, info),
        *_implicit_memory(form, info),
        *_flags(instruction.rflags_read, instruction.rflags_modified),
    )


def _implicit_registers(form: Form, instruction: Instruction, info: InstructionInfo) -> list[Operand]:
    """Fixed registers, one operand per register: accesses joined, the widest part named."""
    explicit = {
        RegisterExt.full_register(instruction.op_register(position))
        for position, hole in enumerate(form.holes)
        if hole.kind == "register"
    }
    address_registers = _address_registers(form, instruction)
    accesses: dict[RegisterValue, set[str]] = defaultdict(set)
    widest: dict[RegisterValue, RegisterValue] = {}
    for used in info.used_registers():
        full = RegisterExt.full_register(used.register)
        if full in explicit or full in address_registers or RegisterExt.is_segment_register(used.register):
            continue
        accesses[full].update(_ACCESS[used.access])
        if RegisterExt.size(used.register) > RegisterExt.size(widest.get(full, Register.NONE)):
            widest[full] = used.register
    if form.masking:
        accesses.pop(instruction.op_mask, None)
    names = register_names()
    return [
        Operand(
            "register",
            names[widest[full]],
            _join_access(letters),
            RegisterExt.size(widest[full]) * 8,
            (names[widest[full]],),
            implicit=True,
        )
        for full, letters in sorted(accesses.items())
    ]


def _address_registers(form: Form, instruction: Instruction) -> set[RegisterValue]:
    """Registers in an address that can be chosen; those of string instructions are implicit operands."""
    if not any(
        hole.kind == "address" or (hole.op_kind == OpKind.MEMORY and hole.shape != "rbx+al")
        for hole in form.holes
    ):
        return set()
    return {
        RegisterExt.full_register(instruction.memory_base),
        RegisterExt.full_register(instruction.memory_index),
    }


def _implicit_memory(form: Form, info: InstructionInfo) -> list[Operand]:
    """Memory beside the explicit operands: the stack, or the destination of `maskmovdqu`."""
    explicit = sum(
        hole.kind == "memory" and _ACCESS[info.op_access(position)] != ""
        for position, hole in enumerate(form.holes)
    )
    names = register_names()
    operands = []
    for used in info.used_memory()[explicit:]:
        width = MemorySizeExt.size(used.memory_size) * 8
        base = names[used.base]
        access = _ACCESS[used.access]
        operands.append(Operand("memory", f"MEM[{width},{base}]", access, width, (base,), implicit=True))
    return operands


@cache
def _flags(read: int, written: int) -> tuple[Operand, ...]:
    """One operand per access for iced's bit sets of flags; x87's condition bits C0 to C3 count as flags."""
    groups: tuple[tuple[Access, int], ...] = (
        ("R", read & ~written),
        ("W", written & ~read),
        ("RW", read & written),
    )
    return tuple(
        Operand("flags", "flags", access, 0, _flag_names(bits), implicit=True)
        for access, bits in groups
        if bits
    )


def _flag_names(bits: int) -> tuple[str, ...]:
    return tuple(name for bit, name in _FLAGS.items() if bits & bit)


def _join_access(letters: set[str]) -> Access:
    if letters == {"R", "W"}:
        return "RW"
    if letters == {"R"}:
        return "R"
    return "W" if letters else ""
