"""Pairs of adjacent instructions that a core may fuse, by their kinds.

The second one is a conditional jump, or an operation on the copy of a register move.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
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
"""By the name that `front_end` gives a condition: it and its opposite, which depend on the same flags."""

_NAMES = {code: name for name, codes in _CONDITIONS.items() for code in codes}
_FULL_WRITE_BYTES = 4
"""Bytes of the narrowest general-purpose register whose write replaces the full register."""

_FUSIBLE = ("cmp", "test", "add", "sub", "and", "or", "xor", "inc", "dec")


def pairs_of(block: Block) -> tuple[str, ...]:
    """The pairs of a block in `front_end`'s spelling of measured ones: `cmp reg, imm + je`.

    The pair with a loop's own jump is the last, "" where no such instruction precedes it.
    """
    decoded = list(Decoder(64, block.code))
    names = [_name(*pair) for pair in pairwise(decoded)]
    inside = names if block.closing is None else names[:-1]
    closing = () if block.closing is None else (names[-1] if names else "",)
    return (*filter(None, inside), *closing)


def moves_of(block: Block) -> tuple[str, ...]:
    """Moves followed by an operation on the copy, in `front_end`'s spelling of measured ones.

    The end of a straight block is followed by its beginning. Operations that may fuse with a jump behind them
    are omitted.
    """
    return tuple(name for _, name in _move_pairs(block))


def fused_places(block: Block, fused: Collection[str]) -> frozenset[int]:
    """The places of instructions that share the slot of the one behind them, where the core fuses `fused`."""
    moves = {place for place, name in _move_pairs(block) if name in fused}
    closing = pairs_of(block)[-1] if block.closing is not None else ""
    return frozenset(moves | {len(block.instructions) - 1} if closing in fused else moves)


def _move_pairs(block: Block) -> Iterator[tuple[int, str]]:
    decoded = list(Decoder(64, block.code))
    sequence = decoded if block.closing is not None else [*decoded, *decoded[:1]]
    following = [*sequence[2:], None]
    for place, ((move, update), next_instruction) in enumerate(
        zip(pairwise(sequence), following, strict=True)
    ):
        if _updates_copy(move, update) and (next_instruction is None or not _name(update, next_instruction)):
            yield place, f"mov reg, reg + {_kinds_name(update)}"


def _updates_copy(move: Instruction, update: Instruction) -> bool:
    """Whether a full register is copied, and the copy updated with another operand."""
    if MNEMONICS[move.mnemonic] != "mov" or {_kind(move, 0), _kind(move, 1)} != {"reg"}:
        return False
    copy = move.op_register(0)
    if RegisterExt.size(copy) < _FULL_WRITE_BYTES or not 0 < update.op_count <= 2 or update.has_lock_prefix:
        return False
    operands = [update.op_register(place) for place in range(update.op_count)]
    return operands[0] == copy and copy not in operands[1:]


def _name(first: Instruction, jump: Instruction) -> str:
    """ "" where the two are no such pair."""
    mnemonic = MNEMONICS[first.mnemonic]
    condition = _NAMES.get(jump.condition_code)
    if jump.flow_control != FlowControl.CONDITIONAL_BRANCH or condition is None or mnemonic not in _FUSIBLE:
        return ""
    if first.has_lock_prefix or first.is_ip_rel_memory_operand:
        return ""
    return f"{_kinds_name(first)} + j{condition}"


def _kinds_name(instruction: Instruction) -> str:
    kinds = ", ".join(_kind(instruction, place) for place in range(instruction.op_count))
    return f"{MNEMONICS[instruction.mnemonic]} {kinds}"


def _kind(instruction: Instruction, place: int) -> str:
    kind = instruction.op_kind(place)
    if kind == OpKind.REGISTER:
        return "reg" if RegisterExt.is_gpr(instruction.op_register(place)) else "other"
    return "mem" if kind == OpKind.MEMORY else "imm"
