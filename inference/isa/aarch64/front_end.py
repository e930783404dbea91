"""Code that shows the front end of an AArch64 core, of instructions that every such processor has.

All instructions have four bytes, so that lengths and encodings make no difference. Cores that eliminate no
moves have fewer units for them than slots: constants for both kinds of registers and NOPs in turn fill the
slots there, too. Registers start with equal numbers, by which no branch is taken.

Pairs of adjacent instructions that a core may fuse are named by their kinds:

| pair | example |
|---|---|
| a comparison and a conditional branch | `cmp reg, imm + b.cond` |
| a comparison and a conditional selection | `cmp reg, reg + csel` |
| both halves of an address | `adrp + add` |
| a round of AES and its mixing of columns | `aese + aesmc` |
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

from inference.isa.aarch64.decoding import decoded
from inference.isa.code.block import Block
from inference.isa.front_end import Aspect, FetchedInstruction, FrontEndCode, TimedCode
from inference.isa.words.accesses import DecodedInstruction, RegisterPart

COUNTER = "x28"
_BYTES = 4  # of an instruction
_SIZES = (64, 128, 256, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144)
"""Instructions in loops; the longest has 24 KiB, less than an instruction cache of 32 KiB holds."""

_STRAIGHT = 1600  # instructions in straight code
_JUMP_DISTANCES = {3: 30, 7: 30, 15: 20}
"""{instructions jumped over: jumps in a loop}: closer jumps share entries of a branch predictor."""

_LOOP_NOPS = 6  # in the loop that is moved through a cache line
_OFFSETS = range(0, 64, 4)  # bytes from the beginning of a cache line
_FUSION_NOPS = 12

_NOP = 0xD503201F
_TRAP = 0xD4200000  # brk, which nothing reaches
_JUMP = 0x14000000  # b
_UNTAKEN = 0xB500003F  # cbnz xzr, to the next instruction
_CONSTANTS = tuple(0xD2800000 | number for number in range(8))  # movz x0, #0
_VECTOR_CONSTANTS = tuple(0x6F00E400 | number for number in range(8))  # movi v0.2d, #0
_MOVES = tuple(0xAA0003E8 | number << 16 | number for number in range(4))  # mov x8, x0
_FILLERS: Mapping[str, Sequence[int]] = {
    "constants": _CONSTANTS,
    "register moves": _MOVES,
    "constants and NOPs": tuple(
        word
        for pair in zip(_CONSTANTS, _VECTOR_CONSTANTS, strict=True)
        for word in (pair[0], _NOP, pair[1], _NOP)
    ),
    "NOPs": (_NOP,),
}
_BETWEEN = 0xAA0A03E9  # mov x9, x10
_EQUAL, _NOT_EQUAL = 0, 1
_BRANCH = 0x54000020  # b.cond to the next instruction, with the condition in its lowest bits
_SELECTION = 0x9A810002  # csel x2, x0, x1, eq
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
_ADDRESS = (0x90000003, 0x91004063)  # adrp x3; add x3, x3, #16


def front_end_codes(*, offsets: bool) -> tuple[FrontEndCode, ...]:
    """All codes; `offsets`: also loops that do not begin at a cache line."""
    return (
        *_size_codes(),
        *_straight_codes(),
        *_jump_codes(),
        *(_offset_codes() if offsets else ()),
        *_pair_codes(),
        *_short_loop_codes(),
    )


def _timed(words: Sequence[int], *, copies: int = 0, loop: bool = False, offset: int = 0) -> TimedCode:
    code = b"".join(word.to_bytes(_BYTES, "little") for word in words)
    return TimedCode(code, len(words), loop=loop, copies=copies, offset=offset)


def _size_codes() -> Iterator[FrontEndCode]:
    for name, filler in _FILLERS.items():
        for size in _SIZES:
            words = [filler[k % len(filler)] for k in range(size)]
            yield FrontEndCode(Aspect.SIZE, name, size, _timed(words, copies=1, loop=True))


_SHORT_LOOPS = range(1, 33)  # instructions of a loop


def _short_loop_codes() -> Iterator[FrontEndCode]:
    for name, filler in _FILLERS.items():
        for size in _SHORT_LOOPS:
            words = [filler[k % len(filler)] for k in range(size)]
            yield FrontEndCode(Aspect.SHORT_LOOP, name, size, _timed(words, copies=1, loop=True))


def _straight_codes() -> Iterator[FrontEndCode]:
    yield FrontEndCode(Aspect.LOOP_LENGTH, "", _BYTES, _timed([_NOP], loop=True))
    yield FrontEndCode(Aspect.STRAIGHT_LENGTH, "", _BYTES, _timed([_NOP], copies=_STRAIGHT))
    for name, filler in _FILLERS.items():
        code = _timed(filler, copies=_STRAIGHT // len(filler))
        yield FrontEndCode(Aspect.STRAIGHT, name, _BYTES, code)


def _jump_codes() -> Iterator[FrontEndCode]:
    for between, copies in _JUMP_DISTANCES.items():
        jump = [_JUMP | between + 1, *[_TRAP] * between]
        code = TimedCode(_timed(jump).code, 1, loop=True, copies=copies)
        yield FrontEndCode(Aspect.JUMP, "", _BYTES * between, code)
    smallest = _timed([_NOP], copies=1, loop=True)
    yield FrontEndCode(Aspect.JUMP, "smallest loop", _BYTES, smallest)
    yield FrontEndCode(Aspect.UNTAKEN, "", 0, _timed([_UNTAKEN], loop=True))


def _offset_codes() -> Iterator[FrontEndCode]:
    for offset in _OFFSETS:
        code = _timed([_NOP] * _LOOP_NOPS, copies=1, loop=True, offset=offset)
        yield FrontEndCode(Aspect.OFFSET, "", offset, code)


def _pair_codes() -> Iterator[FrontEndCode]:
    """Pairs that the core may fuse, adjacent and apart; `pairs_of` and `moves_of` name them."""
    for name, (comparison, condition) in _COMPARISONS.items():
        yield from _pair(Aspect.FUSION, f"{name} + b.cond", comparison, _BRANCH | condition)
        yield from _pair(Aspect.MOVE, f"{name} + csel", comparison, _SELECTION)
    yield from _pair(Aspect.MOVE, "adrp + add", *_ADDRESS)


def _pair(aspect: Aspect, name: str, first: int, second: int) -> Iterator[FrontEndCode]:
    for adjacent, words in ((1, (first, second, _BETWEEN)), (0, (first, _BETWEEN, second))):
        yield FrontEndCode(aspect, name, adjacent, _timed([*words, *[_NOP] * _FUSION_NOPS], loop=True))


def fetched_instructions(code: bytes) -> list[FetchedInstruction]:
    """The instructions of machine code as a front end sees them."""
    return [
        FetchedInstruction(
            row.mnemonic,
            row.flow,
            0,
            tuple(value.number if isinstance(value, RegisterPart) else None for value in row.operands),
        )
        for row in decoded(code)
    ]


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
