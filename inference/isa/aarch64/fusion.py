"""Pairs of adjacent AArch64 instructions that a core may fuse, by their kinds.

| pair | example |
|---|---|
| a comparison and a conditional branch | `cmp reg, imm + b.cond` |
| a comparison and a conditional selection | `cmp reg, reg + csel` |
| both halves of an address | `adrp + add` |
| a round of AES and its mixing of columns | `aese + aesmc` |
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from inference.isa.aarch64.decoding import decoded
from inference.isa.code.block import Block
from inference.isa.words.instruction import DecodedInstruction, RegisterPart

_COMPARISONS = ("cmp", "cmn", "tst", "adds", "subs", "ands", "bics")
_SELECTIONS = ("csel", "csinc", "csinv", "csneg", "cinc", "cinv", "cneg", "cset", "csetm")
_BRANCH = "b."
_ROUNDS = {"aese": "aesmc", "aesd": "aesimc"}


def pairs_of(block: Block) -> tuple[str, ...]:
    """The pairs of a comparison and a conditional branch.

    The pair with a loop's own jump is the last, "" where no comparison precedes it.
    """
    names = [_branch_pair(*pair) for pair in pairwise(decoded(block.code))]
    inside = names if block.closing is None else names[:-1]
    closing = () if block.closing is None else (names[-1] if names else "",)
    return (*filter(None, inside), *closing)


def moves_of(block: Block) -> tuple[str, ...]:
    """The other pairs; the end of a straight block is followed by its beginning."""
    return tuple(name for _, name in _other_pairs(block))


def fused_places(block: Block, fused: Collection[str]) -> frozenset[int]:
    """The places of instructions that share the slot of the one behind them, where the core fuses `fused`."""
    places = {place for place, name in _other_pairs(block) if name in fused}
    closing = pairs_of(block)[-1] if block.closing is not None else ""
    return frozenset(places | {len(block.instructions) - 1} if closing in fused else places)


def _other_pairs(block: Block) -> Iterator[tuple[int, str]]:
    words = decoded(block.code)
    sequence: Sequence[DecodedInstruction] = words if block.closing is not None else [*words, *words[:1]]
    for place, (first, second) in enumerate(pairwise(sequence)):
        if name := _other_pair(first, second):
            yield place, name


def _branch_pair(first: DecodedInstruction, branch: DecodedInstruction) -> str:
    comparison = _comparison(first)
    return f"{comparison} + b.cond" if comparison and branch.mnemonic.startswith(_BRANCH) else ""


def _other_pair(first: DecodedInstruction, second: DecodedInstruction) -> str:
    if second.mnemonic in _SELECTIONS and (comparison := _comparison(first)):
        return f"{comparison} + csel"
    if first.mnemonic == "adrp" and second.mnemonic == "add" and _updates(first, second, source=1):
        return "adrp + add"
    if _ROUNDS.get(first.mnemonic) == second.mnemonic and _updates(first, second, source=1):
        return f"{first.mnemonic} + {second.mnemonic}"
    return ""


def _updates(first: DecodedInstruction, second: DecodedInstruction, source: int) -> bool:
    """Whether the second one replaces the first one's result by what it computes from it."""
    return first.operands[0] == second.operands[0] == second.operands[source]


def _comparison(decoded_word: DecodedInstruction) -> str:
    """A comparison by the kinds of its sources, "" for another instruction, and with a shifted source."""
    if decoded_word.mnemonic not in _COMPARISONS:
        return ""
    kinds = ["reg" if isinstance(value, RegisterPart) else "imm" for value in decoded_word.operands]
    return f"{decoded_word.mnemonic} {', '.join(kinds)}"
