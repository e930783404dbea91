"""Code that shows the front end of a RISC-V core; see `inference.isa.words.front_end`.

Instructions have four bytes or, compressed, two; both kinds of constants and NOPs are measured.

Pairs of adjacent instructions that a core may fuse are named by their mnemonics. The second one replaces the
first one's result by what it computes from it:

| pair | together |
|---|---|
| `lui + addi`, `lui + addiw` | a constant |
| `auipc + addi`, `auipc + ld` | an address, a load at it |
| `slli + srli` | a part of a register, extended with zeros |
| `slli + add`, `sh1add + ld` to `sh3add + ld`, `add + ld` | a scaled index, a load at it |

`ld` stands for any load, `slli + srli` for shifts of which the second is not longer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from inference.isa.code.block import Block
from inference.isa.front_end import Aspect
from inference.isa.riscv64.decoding import decoded
from inference.isa.riscv64.spelling import uncompressed
from inference.isa.riscv64.statements import read
from inference.isa.words.accesses import DecodedInstruction, InMemory, RegisterPart
from inference.isa.words.front_end import PairCode, WordFrontEnd

COUNTER = "s11"
_INDEX = "a2"  # starts with 0, so that addresses with it are those of its base


def _code(line: str, *, compressed: bool = False) -> bytes:
    (instruction,) = read(line, compressed)
    code = instruction.code()
    assert code is not None, f"expects an instruction: {line}"
    return code


_CONSTANTS = ("t0", "t1", "t2", "a3", "a4", "a5", "a6", "a7")
_LOADS = ("ld", "lw", "lwu", "lh", "lhu", "lb", "lbu", "fld", "flw")
_PAIRS = {
    ("lui", "addi"): ("lui a1, 1", "addi a1, a1, 1"),
    ("lui", "addiw"): ("lui a1, 1", "addiw a1, a1, 1"),
    ("auipc", "addi"): ("auipc a1, 0", "addi a1, a1, 1"),
    ("auipc", "ld"): ("auipc a1, 0", "ld a1, 0(a1)"),
    ("slli", "srli"): ("slli a1, a0, 32", "srli a1, a1, 32"),
    ("slli", "add"): ("slli a1, a0, 3", "add a1, a1, a0"),
    ("add", "ld"): (f"add a1, {_INDEX}, a0", "ld a1, 0(a1)"),
    **{(f"sh{shift}add", "ld"): (f"sh{shift}add a1, {_INDEX}, a0", "ld a1, 0(a1)") for shift in (1, 2, 3)},
}
"""{(mnemonic, mnemonic): lines of the pair}."""

_SLOW = {
    # name: an instruction of more than one cycle for a result and its use
    "multiplication": ("mul a{1}, a{0}, a{0}", "mul t{1}, a{0}, a{0}"),
    "load": ("ld a{1}, 0(a{0})", "ld t{1}, 0(a{0})"),
    "FP multiplication": ("fmul.d fa{1}, fa{0}, fa{0}", "fmul.d ft{1}, fa{0}, fa{0}"),
}
_RESULTS = range(1, 5)

_CODES = WordFrontEnd(
    nops={4: _code("nop"), 2: _code("nop", compressed=True)},
    fillers={
        "constants": [_code(f"li {name}, {k}") for k, name in enumerate(_CONSTANTS)],
        "short constants": [_code(f"li {name}, {k}", compressed=True) for k, name in enumerate(_CONSTANTS)],
        "register moves": [_code(f"mv t{k}, a{k}") for k in range(4)],
    },
    jump=lambda between: _code(f"j {between + 4}"),
    trap=_code("ebreak"),
    untaken=_code("bne zero, zero, 4"),
    between=_code("mv t3, t4"),
    pairs=[
        PairCode(Aspect.MOVE, " + ".join(names), _code(first), _code(second), ((_INDEX, 0),))
        for names, (first, second) in _PAIRS.items()
    ],
    orders={
        name: (
            [_code(result.format(0, k)) for k in _RESULTS],
            [_code(use.format(k, k)) for k in _RESULTS],
        )
        for name, (result, use) in _SLOW.items()
    },
    decoded=decoded,
)
front_end_codes, fetched_instructions = _CODES.front_end_codes, _CODES.fetched_instructions


def pairs_of(block: Block) -> tuple[str, ...]:
    """Nothing but "" for a loop's own jump: branches compare by themselves."""
    return () if block.closing is None else ("",)


def moves_of(block: Block) -> tuple[str, ...]:
    """The pairs; the end of a straight block is followed by its beginning."""
    return tuple(name for _, name in _pairs_in(block))


def fused_places(block: Block, fused: Collection[str]) -> frozenset[int]:
    """The places of instructions that share the slot of the one behind them, where the core fuses `fused`."""
    return frozenset(place for place, name in _pairs_in(block) if name in fused)


def _pairs_in(block: Block) -> Iterator[tuple[int, str]]:
    instructions = decoded(block.code)
    sequence: Sequence[DecodedInstruction] = (
        instructions if block.closing is not None else [*instructions, *instructions[:1]]
    )
    for place, (first, second) in enumerate(pairwise(sequence)):
        if name := _pair(first, second):
            yield place, name


def _pair(first: DecodedInstruction, second: DecodedInstruction) -> str:
    if first.form is None or second.form is None:
        return ""
    names = [uncompressed(row.form.mnemonic) for row in (first, second) if row.form is not None]
    key = names[0], "ld" if names[1] in _LOADS else names[1]
    if key not in _PAIRS or not isinstance(first.operands[0], RegisterPart):
        return ""
    if key == ("slli", "srli") and not _is_extension(first, second):
        return ""
    return " + ".join(key) if _updates(first, second) else ""


def _is_extension(first: DecodedInstruction, second: DecodedInstruction) -> bool:
    counts = first.operands[2], second.operands[2]
    return isinstance(counts[0], int) and isinstance(counts[1], int) and counts[1] <= counts[0]


def _updates(first: DecodedInstruction, second: DecodedInstruction) -> bool:
    """Whether the second one replaces the first one's result by what it computes from it."""
    result, source = first.operands[0], second.operands[1]
    assert isinstance(result, RegisterPart)
    if isinstance(source, InMemory):
        is_used = source.base == result.number
        return is_used and (second.operands[0] == result or second.mnemonic.startswith("f"))
    return second.operands[0] == source == result or (
        second.operands[0] == result and len(second.operands) > 2 and second.operands[2] == result
    )
