"""Code that shows the front end of an AArch64 core; see `inference.isa.words.front_end`.

All instructions have four bytes, so that lengths and encodings make no difference.

Pairs of adjacent instructions that a core may fuse are named by their kinds:

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
from inference.isa.front_end import Aspect
from inference.isa.words.accesses import DecodedInstruction, RegisterPart
from inference.isa.words.front_end import PairCode, WordFrontEnd

COUNTER = "x28"


def _code(word: int) -> bytes:
    return word.to_bytes(4, "little")


def _codes(first: int, *, step: int = 1, count: int = 8) -> list[bytes]:
    return [_code(first | step * number) for number in range(count)]


_NOP = _code(0xD503201F)
_JUMP = 0x14000000  # b
_CONSTANTS = _codes(0xD2800000)  # movz x0, #0
_VECTOR_CONSTANTS = _codes(0x6F00E400)  # movi v0.2d, #0
_EQUAL, _NOT_EQUAL = 0, 1
_BRANCH = 0x54000020  # b.cond to the next instruction, with the condition in its lowest bits
_SELECTION = _code(0x9A810002)  # csel x2, x0, x1, eq
_COMPARISONS = {
    # name: the comparison, and a condition that does not hold
    "cmp reg, imm": (0xF100041F, _EQUAL),
    "cmp reg, reg": (0xEB01001F, _NOT_EQUAL),
    "cmn reg, imm": (0xB100041F, _EQUAL),
    "tst reg, imm": (0xF240001F, _NOT_EQUAL),
    "tst reg, reg": (0xEA01001F, _EQUAL),
    "adds reg, reg, reg": (0xAB010002, _EQUAL),
    "subs reg, reg, reg": (0xEB010002, _NOT_EQUAL),
}
_RESULTS = range(1, 5)  # registers; what uses them writes the four behind them
_SLOW = {"multiplication": 0x9B007C00, "load": 0xF9400000, "FP multiplication": 0x1E600800}
"""Instructions of more than one cycle: mul x0, x0, x0; ldr x0, [x0]; fmul d0, d0, d0."""


def _pairs() -> Iterator[PairCode]:
    """Pairs that the core may fuse; `pairs_of` and `moves_of` name them."""
    for name, (word, condition) in _COMPARISONS.items():
        comparison = _code(word)
        yield PairCode(Aspect.FUSION, f"{name} + b.cond", comparison, _code(_BRANCH | condition))
        yield PairCode(Aspect.MOVE, f"{name} + csel", comparison, _SELECTION)
    # adrp x3; add x3, x3, #16
    yield PairCode(Aspect.MOVE, "adrp + add", _code(0x90000003), _code(0x91004063))


_CODES = WordFrontEnd(
    nops={4: _NOP},
    fillers={
        "constants": _CONSTANTS,
        "register moves": _codes(0xAA0003E8, step=0x10001, count=4),  # mov x8, x0
        "constants and NOPs": [
            code
            for pair in zip(_CONSTANTS, _VECTOR_CONSTANTS, strict=True)
            for code in (pair[0], _NOP, pair[1], _NOP)
        ],
    },
    jump=lambda between: _code(_JUMP | between // 4 + 1),
    trap=_code(0xD4200000),  # brk
    untaken=_code(0xB500003F),  # cbnz xzr, to the next instruction
    between=_code(0xAA0A03E9),  # mov x9, x10
    pairs=tuple(_pairs()),
    orders={
        name: (
            [_code(word | result) for result in _RESULTS],
            [_code(word | result << 5 | result + len(_RESULTS)) for result in _RESULTS],
        )
        for name, word in _SLOW.items()
    },
    decoded=decoded,
)
front_end_codes, fetched_instructions = _CODES.front_end_codes, _CODES.fetched_instructions

_FLAG_SETTERS = ("cmp", "cmn", "tst", "adds", "subs", "ands", "bics")
_SELECTIONS = ("csel", "csinc", "csinv", "csneg", "cinc", "cinv", "cneg", "cset", "csetm")
_CONDITIONAL_BRANCH = "b."
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
    return f"{comparison} + b.cond" if comparison and branch.mnemonic.startswith(_CONDITIONAL_BRANCH) else ""


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
    if decoded_word.mnemonic not in _FLAG_SETTERS:
        return ""
    kinds = ["reg" if isinstance(value, RegisterPart) else "imm" for value in decoded_word.operands]
    return f"{decoded_word.mnemonic} {', '.join(kinds)}"
