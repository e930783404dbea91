"""Instructions that accumulate values, so that several accumulators shorten their chain."""

from __future__ import annotations

import re

from inference.isa.code.block import BlockInstruction
from inference.isa.dependences import Reduction

_EXACT = re.compile(
    r"add|sub|and|or|xor|imul|v?p(?:add|sub)[bwdq]|v?p(?:and|or|xor)[dq]?|v?p(?:min|max)[su][bwdq]|v?pmulld"
    r"|v?(?:and|or|xor)p[sd]|v?(?:min|max)[ps][sd]"
)
_ROUNDED = re.compile(r"v?(?:add|sub|mul)[ps][sd]|vfn?madd231[ps][sd]")
_FROM = re.compile(r"sub|v?psub.|v?sub..|vfn?madd231..")
"""What the accumulator has to be the first source of."""


def reduction_of(instruction: BlockInstruction) -> Reduction | None:
    """How the instruction accumulates a value in a register; None where it does not."""
    mnemonic, _, operands = (instruction.scheme or "").partition(" ")
    is_exact = _EXACT.fullmatch(mnemonic) is not None
    places = operands.split(", ")
    if not is_exact and _ROUNDED.fullmatch(mnemonic) is None:
        return None
    if places[0].endswith(":RW") and not places[0].startswith("MEM"):
        return Reduction(("1",), is_exact)
    if len(places) != 3 or not places[0].endswith(":W"):
        return None
    return Reduction(("2",) if _FROM.fullmatch(mnemonic) else ("2", "3"), is_exact)
