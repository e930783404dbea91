"""Instructions that a core may make one of with the conditional jump behind them, by their kinds."""

from __future__ import annotations

from itertools import pairwise

from iced_x86 import ConditionCode, Decoder, FlowControl, Instruction, OpKind, RegisterExt

from inference.isa.x86.blocks import Block
from inference.isa.x86.forms import MNEMONICS

_CONDITIONS = {
    "o": (ConditionCode.O, ConditionCode.NO),
    "b": (ConditionCode.B, ConditionCode.AE),
    "e": (ConditionCode.E, ConditionCode.NE),
    "be": (ConditionCode.BE, ConditionCode.A),
    "s": (ConditionCode.S, ConditionCode.NS),
    "p": (ConditionCode.P, ConditionCode.NP),
    "l": (ConditionCode.L, ConditionCode.GE),
    "le": (ConditionCode.LE, ConditionCode.G),
}
"""By the name that `front_end` gives a condition: itself and its opposite, which the same flags decide."""
_NAMES = {code: name for name, codes in _CONDITIONS.items() for code in codes}
_FUSED = ("cmp", "test", "add", "sub", "and", "or", "xor", "inc", "dec")


def pairs_of(block: Block) -> tuple[str, ...]:
    """The pairs of a block, as `front_end` names those that it measures: `cmp reg, imm + je`.

    That of a loop's own jump is the last, "" where nothing that may be one with it stands before.
    """
    decoded = list(Decoder(64, block.code))
    names = [_name(*pair) for pair in pairwise(decoded)]
    inside = names if block.closing is None else names[:-1]
    closing = () if block.closing is None else (names[-1] if names else "",)
    return (*filter(None, inside), *closing)


def _name(first: Instruction, jump: Instruction) -> str:
    """ "" where the two are no such pair."""
    mnemonic = MNEMONICS[first.mnemonic]
    condition = _NAMES.get(jump.condition_code)
    if jump.flow_control != FlowControl.CONDITIONAL_BRANCH or condition is None or mnemonic not in _FUSED:
        return ""
    if first.has_lock_prefix or first.is_ip_rel_memory_operand:
        return ""
    kinds = ", ".join(_kind(first, place) for place in range(first.op_count))
    return f"{mnemonic} {kinds} + j{condition}"


def _kind(one: Instruction, place: int) -> str:
    kind = one.op_kind(place)
    if kind == OpKind.REGISTER:
        return "reg" if RegisterExt.is_gpr(one.op_register(place)) else "other"
    return "mem" if kind == OpKind.MEMORY else "imm"
