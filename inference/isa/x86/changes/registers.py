"""A block with registers in place of what it loads: whether a load is a link of a chain shows by that.

Dependencies through registers and flags stay as they are, and so do ports but those of loads. What can only
be loaded, such as masked moves, stays a load.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from iced_x86 import Code, Instruction, InstructionInfoFactory, OpAccess, OpCodeOperandKind, OpKind, Register

from inference.isa.x86.changes.loads import WIDTHS, encoded, free_general, part_of_register
from inference.isa.x86.choosing import LEGACY_VECTORS
from inference.isa.x86.iced_types import RegisterValue

_BYTES = {kind: size for size, (kind, _, _) in WIDTHS.items()}
_MERGING = (Code.MOVSS_XMM_XMMM32, Code.MOVSD_XMM_XMMM64)
"""They keep a part of their result if they read a register, and nothing if they load."""
_FIRST_VECTOR: dict[int, RegisterValue] = {
    OpCodeOperandKind.XMM_OR_MEM: Register.XMM0,
    OpCodeOperandKind.YMM_OR_MEM: Register.YMM0,
    OpCodeOperandKind.ZMM_OR_MEM: Register.ZMM0,
}


def without_loads(instructions: Sequence[Instruction]) -> bytes | None:
    """The machine code; None where nothing is loaded that could come from a register.

    All of it comes from one general-purpose and one vector register that the block does not name.
    """
    factory = InstructionInfoFactory()
    general = free_general(instructions)
    vector = _free_vector(instructions)
    code, replaced = b"", False
    for one in instructions:
        place = next((at for at in range(one.op_count) if one.op_kind(at) == OpKind.MEMORY), None)
        register = None
        if place is not None and factory.info(one).op_access(place) == OpAccess.READ:
            register = _register(one, place, general, vector)
        if place is None or register is None:
            code += encoded(one)
            continue
        changed = one.copy()
        changed.set_op_kind(place, OpKind.REGISTER)
        changed.set_op_register(place, register)
        try:
            code += encoded(changed)
        except ValueError:  # the high half of a register beside one that was free
            return None
        replaced = True
    return code if replaced else None


def _register(
    one: Instruction, place: int, general: RegisterValue | None, vector: int | None
) -> RegisterValue | None:
    """What may stand where the instruction loads; None where only memory may."""
    if one.code in _MERGING:
        return None
    kind = one.op_code().op_kind(place)
    if kind in _BYTES and general is not None:
        return part_of_register(general, _BYTES[kind])
    if kind in _FIRST_VECTOR and vector is not None:
        return cast(RegisterValue, _FIRST_VECTOR[kind] + vector)
    return None


def _free_vector(instructions: Sequence[Instruction]) -> int | None:
    """The number of a vector register that no instruction uses."""
    factory = InstructionInfoFactory()
    used = {
        each.register - first
        for one in instructions
        for each in factory.info(one).used_registers()
        for first in _FIRST_VECTOR.values()
        if first <= each.register < first + LEGACY_VECTORS
    }
    return next((number for number in range(LEGACY_VECTORS) if number not in used), None)
