"""The schemes of V's instructions in code, by the `vsetvli` before them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

from inference.isa.riscv64.vector.modes import SETTING, Mode, names_in, registers_of, schemes_by_form
from inference.isa.words.accesses import VECTOR, DecodedInstruction, OperandValue, RegisterPart

_UNKNOWN = "depends on a mode that no vsetvli before it sets"
_GROUPS = {0: "m1", 1: "m2", 2: "m4", 3: "m8", 5: "mf8", 6: "mf4", 7: "mf2"}
"""By the lowest three bits of a vtype."""

_EXACT = re.compile(r"e(\d+),m(\d)")


def in_modes(instructions: Sequence[DecodedInstruction]) -> list[DecodedInstruction]:
    """The instructions with the schemes of V in their modes.

    A block is executed over and over: before its first `vsetvli`, the mode is that of its last one.
    """
    mode = _mode_behind(instructions, "")
    resolved = []
    for instruction in instructions:
        resolved.append(_in_mode(instruction, mode))
        mode = _mode_behind((instruction,), mode)
    return resolved


def _mode_behind(instructions: Iterable[DecodedInstruction], mode: str) -> str:
    """The mode after instructions, `e32,m1`; "" where it is unknown."""
    for instruction in instructions:
        if instruction.form is not None and instruction.form.category == SETTING:
            vtype = instruction.operands[-1]
            mode = mode_text(vtype) if isinstance(vtype, int) else ""
    return mode


def mode_text(vtype: int) -> str:
    """`e32,m1` of what `vsetvli` sets; "" where the bits are reserved.

    >>> mode_text(0b11_010_001)
    'e32,m2'
    """
    group = _GROUPS.get(vtype & 7)
    width = 8 << (vtype >> 3 & 7)
    return f"e{width},{group}" if group and width <= 64 and vtype < 256 else ""


def vtype_of(mode: Mode) -> int:
    """The vtype of a mode, with agnostic tail and masked-off elements."""
    return 0b11 << 6 | (mode.sew.bit_length() - 4) << 3 | mode.lmul.bit_length() - 1


def _in_mode(instruction: DecodedInstruction, mode: str) -> DecodedInstruction:
    schemes = _schemes().get(instruction.form.text) if instruction.form is not None else None
    if schemes is None or instruction.scheme is not None:
        return instruction
    instruction = instruction._replace(operands=_group_registers(instruction, mode))
    if scheme := next((schemes[key] for key in (mode, mode.rpartition(",")[2], "") if key in schemes), ""):
        return instruction._replace(scheme=scheme, reason="")
    return instruction._replace(reason=f"has no scheme here in the mode {mode}" if mode else _UNKNOWN)


def _group_registers(instruction: DecodedInstruction, mode: str) -> tuple[OperandValue, ...]:
    """The operands with all registers of a group, in a mode with groups of whole registers."""
    exact = _EXACT.fullmatch(mode)
    if exact is None or instruction.form is None:
        return instruction.operands
    names = names_in(Mode(int(exact[1]), int(exact[2])))
    places = zip(instruction.form.operands, instruction.operands, strict=False)  # implicit ones come last
    return tuple(
        value._replace(span=registers_of(names[operand.name]))
        if isinstance(value, RegisterPart) and value.bank == VECTOR and operand.name in names
        else value
        for operand, value in places
    )


@cache
def _schemes() -> dict[str, dict[str, str]]:
    """{form: {mode as text, `m1` for any width, "" for any mode: scheme}}."""
    return {
        form: {"" if mode is None else str(mode): text for mode, text in schemes.items()}
        for form, schemes in schemes_by_form().items()
    }
