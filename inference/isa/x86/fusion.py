"""Instructions that a core may make one of with what stands right behind them, by their kinds: those before a
conditional jump, and register moves before an operation on the copy.
"""

from __future__ import annotations

from itertools import pairwise

from iced_x86 import ConditionCode, Decoder, FlowControl, Instruction, OpKind, RegisterExt

from inference.isa.code.block import Block
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
_WHOLE_BYTES = 4
"""Of a general-purpose register, from which on a write leaves nothing of the old value."""
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


def moves_of(block: Block) -> tuple[str, ...]:
    """Moves with an operation on the copy behind them, as `front_end` names those that it measures.

    The end of a block that is no loop stands before its beginning. What a jump behind it may be one with is
    left out.
    """
    decoded = list(Decoder(64, block.code))
    turn = decoded if block.closing is not None else [*decoded, *decoded[:1]]
    following = [*turn[2:], None]
    return tuple(
        f"mov reg, reg + {_kinds_name(update)}"
        for (move, update), behind in zip(pairwise(turn), following, strict=True)
        if _updates_copy(move, update) and (behind is None or not _name(update, behind))
    )


def _updates_copy(move: Instruction, update: Instruction) -> bool:
    """Whether a whole register is copied, and then changed with what is not the copy itself."""
    if MNEMONICS[move.mnemonic] != "mov" or {_kind(move, 0), _kind(move, 1)} != {"reg"}:
        return False
    copy = move.op_register(0)
    if RegisterExt.size(copy) < _WHOLE_BYTES or not 0 < update.op_count <= 2 or update.has_lock_prefix:
        return False
    operands = [update.op_register(place) for place in range(update.op_count)]
    return operands[0] == copy and copy not in operands[1:]


def _name(first: Instruction, jump: Instruction) -> str:
    """ "" where the two are no such pair."""
    mnemonic = MNEMONICS[first.mnemonic]
    condition = _NAMES.get(jump.condition_code)
    if jump.flow_control != FlowControl.CONDITIONAL_BRANCH or condition is None or mnemonic not in _FUSED:
        return ""
    if first.has_lock_prefix or first.is_ip_rel_memory_operand:
        return ""
    return f"{_kinds_name(first)} + j{condition}"


def _kinds_name(one: Instruction) -> str:
    kinds = ", ".join(_kind(one, place) for place in range(one.op_count))
    return f"{MNEMONICS[one.mnemonic]} {kinds}"


def _kind(one: Instruction, place: int) -> str:
    kind = one.op_kind(place)
    if kind == OpKind.REGISTER:
        return "reg" if RegisterExt.is_gpr(one.op_register(place)) else "other"
    return "mem" if kind == OpKind.MEMORY else "imm"
