"""Prepares blocks of AArch64 for measurements: a loop's jump leads to the next copy of the loop.

The condition of the code itself is ignored: who measures counts iterations. Copies lie one behind another,
each at the beginning of a line of the instruction cache, so that an iteration has one taken jump as in the
program: the loop's own, or `b` behind it where that one falls through.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from inference.isa.aarch64.decoding import WORD_BYTES, decode, table
from inference.isa.code.block import LINE, Block, Iteration

_BRANCH = "b REL[28]"
_TRAP = bytes.fromhex("00000000")  # udf: a jump that is not taken shows


def iteration_of(block: Block) -> Iteration:
    """One iteration; that of a loop fills whole lines of the instruction cache."""
    if block.closing is None:
        return Iteration(block.code)
    own = block.closing.code
    name = decode(int.from_bytes(own, "little")).mnemonic
    branch = _encoded_branch()
    if name == "b":
        return Iteration(_padded(block.body, [branch]), loop_note="measured in a loop closed by b")
    words = f"measured in a loop closed by {name}, or by b where {name} falls through"
    return Iteration(_padded(block.body, [own, branch]), loop_note=words)


def walk_end(block: Block, copies: int, registers: Mapping[str, int]) -> bytes:
    """Nothing: only simulated cores execute blocks of AArch64, and these have no cache to leave."""
    del block, copies, registers
    return b""


def _encoded_branch() -> bytes:
    word = table().by_text[_BRANCH].word([WORD_BYTES])
    assert word is not None, "expects a jump to the next instruction"
    return word.to_bytes(WORD_BYTES, "little")


def _padded(body: bytes, jumps: Sequence[bytes]) -> bytes:
    """The body followed by jumps to the next line of the instruction cache."""
    end = len(body) + WORD_BYTES * len(jumps)
    end += -end % LINE
    code = body
    for jump in jumps:
        code += _moved(jump, end - len(code))
    return code + _TRAP * ((end - len(code)) // WORD_BYTES)


def _moved(jump: bytes, distance: int) -> bytes:
    """A direct jump of the same condition that leads so many bytes further."""
    decoded = table().decode(int.from_bytes(jump, "little"))
    assert decoded is not None, "expects a jump"
    form, operands = decoded
    word = form.word([*operands[:-1], distance])
    assert word is not None, "expects a jump that reaches the next line"
    return word.to_bytes(WORD_BYTES, "little")


def needs_avx(block: Block, flags: Collection[str] | None) -> bool:
    """False: all vector registers have 128 bits."""
    del block, flags
    return False


def mask_bits(block: Block, flags: Collection[str] | None) -> int:
    """0: there are no mask registers."""
    del block, flags
    return 0


def filled_fpu(block: Block) -> str:
    """The empty text: there is no unit with registers of its own."""
    del block
    return ""
