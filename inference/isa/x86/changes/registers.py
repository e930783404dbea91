"""A block with registers in place of loaded operands, which shows whether a load is a link of a chain.

Dependencies through registers and flags are unchanged, and so are ports except those of loads. Operands that
can only be loaded, as of masked moves, stay loads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from iced_x86 import Code, Instruction, InstructionInfoFactory, OpAccess, OpCodeOperandKind, OpKind, Register

from inference.isa.x86.changes.loads import WIDTHS, encode, free_general, memory_position, part_of_register
from inference.isa.x86.iced_types import RegisterValue
from inference.isa.x86.register_choices import LEGACY_VECTORS

_BYTES = {kind: size for size, (kind, _, _) in WIDTHS.items()}
_MERGING = (Code.MOVSS_XMM_XMMM32, Code.MOVSD_XMM_XMMM64)
"""With a register operand they keep a part of their result, with a load they do not."""

_FIRST_VECTOR: dict[int, RegisterValue] = {
    OpCodeOperandKind.XMM_OR_MEM: Register.XMM0,
    OpCodeOperandKind.YMM_OR_MEM: Register.YMM0,
    OpCodeOperandKind.ZMM_OR_MEM: Register.ZMM0,
}


def without_loads(instructions: Sequence[Instruction]) -> bytes | None:
    """The machine code; None where no loaded operand can be a register.

    One general-purpose and one vector register that the block does not use replace all of them.
    """
    factory = InstructionInfoFactory()
    general = free_general(instructions)
    vector = _free_vector(instructions)
    code, replaced = b"", False
    for instruction in instructions:
        place = memory_position(instruction)
        register = None
        if place is not None and factory.info(instruction).op_access(place) == OpAccess.READ:
            register = _register(instruction, place, general, vector)
        if place is None or register is None:
            code += encode(instruction)
            continue
        changed = instruction.copy()
        changed.set_op_kind(place, OpKind.REGISTER)
        changed.set_op_register(place, register)
        try:
            code += encode(changed)
        except ValueError:  # the high half of a register beside one that was free
            return None
        replaced = True
    return code if replaced else None


def _register(
    instruction: Instruction, place: int, general: RegisterValue | None, vector: int | None
) -> RegisterValue | None:
    """The register in place of the loaded operand; None where it must be memory."""
    if instruction.code in _MERGING:
        return None
    kind = instruction.op_code().op_kind(place)
    if kind in _BYTES and general is not None:
        return part_of_register(general, _BYTES[kind])
    if kind in _FIRST_VECTOR and vector is not None:
        return cast(RegisterValue, _FIRST_VECTOR[kind] + vector)
    return None


def _free_vector(instructions: Sequence[Instruction]) -> int | None:
    factory = InstructionInfoFactory()
    used = {
        register.register - first
        for instruction in instructions
        for register in factory.info(instruction).used_registers()
        for first in _FIRST_VECTOR.values()
        if first <= register.register < first + LEGACY_VECTORS
    }
    return next((number for number in range(LEGACY_VECTORS) if number not in used), None)
