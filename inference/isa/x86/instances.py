"""Example instructions of a form, with distinct registers in its holes."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from iced_x86 import Instruction, OpKind, Register, RoundingControl

from inference.isa.x86.holes import ADDRESS_SHAPES, MEMORY_BASE, Hole
from inference.isa.x86.iced_types import OpKindValue

if TYPE_CHECKING:
    from inference.isa.x86.forms import Form


_SPECIAL = tuple(
    (re.compile(pattern), value)
    for pattern, value in (
        (r"v?cmp[ps][sd]", 5),  # "not less than": 43 means "never" to VEX, and is too much without
        (r"v?round[ps][sd]", 0x0B),  # 43 without its reserved bits: towards zero, no inexact exception
        (r"vperm2[fi]128", 0x21),  # 43 clears a half
        (r"v?p(alignr|s[lr]ldq)", 5),  # 43 shifts everything out
        (r"v?insertps", 0x50),  # 43 clears three elements
        (r"vsm3rnds2", 0x2A),  # numbers of rounds are even
        (r"(extr|insert)q", 11),  # length and position have to lie within 64 bits
    )
)


def immediate(mnemonic: str, width: int, otherwise: int) -> int:
    """The value of an immediate of `width` bits: 2^(width − 8) + 42 (thesis §3.2.1), without special cases.

    Assemblers encode it in as many bytes as the scheme has. `otherwise` is for widths below 8.
    """
    if width < 8:
        return otherwise
    if width == 8:
        for pattern, value in _SPECIAL:
            if pattern.fullmatch(mnemonic):
                return value
    return int(2 ** (width - 8) + 42)


ADDRESS_OF_CODE = 0x1000
"""The assumed address of an instance; branch targets and rip-relative addresses count from it."""

_MEMORY_DISPLACEMENT = 0x40
_ABSOLUTE_ADDRESS = 0x1122334455667788
_OPMASK = Register.K1


def instance(form: Form) -> Instruction:
    """An instruction of this form at `ADDRESS_OF_CODE` that can be encoded."""
    instruction = Instruction()
    instruction.code = form.code
    instruction.ip = ADDRESS_OF_CODE
    has_immediate = False
    for position, hole in enumerate(form.holes):
        op_kind = hole.op_kind
        if hole.kind == "immediate":
            if has_immediate:  # `enter` and SSE4a's bit fields have a second one
                op_kind = OpKind.IMMEDIATE8_2ND
            has_immediate = True
        instruction.set_op_kind(position, op_kind)
        _fill(instruction, position, hole, op_kind)
    _decorate(instruction, form)
    return instruction


def _fill(instruction: Instruction, position: int, hole: Hole, op_kind: OpKindValue) -> None:
    if hole.kind == "register":
        instruction.set_op_register(position, hole.register_at(position))
    elif hole.kind == "immediate":
        if op_kind == OpKind.IMMEDIATE8_2ND:
            instruction.immediate8_2nd = hole.value
        else:
            instruction.set_immediate_u64(position, hole.value)
    elif hole.kind == "branch":
        instruction.near_branch64 = ADDRESS_OF_CODE + hole.value
    elif hole.kind == "address":
        _compute_address(instruction, hole)
    elif op_kind == OpKind.MEMORY:
        _point_to_memory(instruction, hole)


def _point_to_memory(instruction: Instruction, hole: Hole) -> None:
    if hole.shape == "moffs":
        instruction.memory_displ_size = 8
        instruction.memory_displacement = _ABSOLUTE_ADDRESS
    elif hole.shape == "rbx+al":
        instruction.memory_base = Register.RBX
        instruction.memory_index = Register.AL
    else:
        instruction.memory_base = MEMORY_BASE
        instruction.memory_index = hole.vector_index
        instruction.memory_displ_size = 1
        instruction.memory_displacement = _MEMORY_DISPLACEMENT


def _compute_address(instruction: Instruction, hole: Hole) -> None:
    shape = ADDRESS_SHAPES[hole.shape]
    instruction.memory_base = shape.base
    instruction.memory_index = shape.index
    instruction.memory_index_scale = shape.scale
    instruction.memory_displ_size = shape.displacement_size
    relative = ADDRESS_OF_CODE if shape.base == Register.RIP else 0
    instruction.memory_displacement = relative + shape.displacement


def _decorate(instruction: Instruction, form: Form) -> None:
    instruction.has_lock_prefix = form.prefix == "lock"
    instruction.has_rep_prefix = form.prefix in {"rep", "repe"}
    instruction.has_repne_prefix = form.prefix == "repne"
    if form.masking:
        instruction.op_mask = _OPMASK
        instruction.zeroing_masking = "{z}" in form.masking
    instruction.is_broadcast = form.broadcast > 0
    instruction.suppress_all_exceptions = form.rounding == "{sae}"
    if form.rounding == "{er}":
        instruction.rounding_control = RoundingControl.ROUND_TO_NEAREST


@cache
def register_names() -> dict[int, str]:
    """{iced register: its lower-case name}."""
    return {
        value: name.lower()
        for name, value in vars(Register).items()
        if isinstance(value, int) and not name.startswith("_")
    }
