"""The access facet of x86-64: reads and writes of blocks' instructions, and pairs that may be fused."""

from __future__ import annotations

import re
from collections.abc import Mapping

from inference.isa.code.block import Block, BlockInstruction
from inference.isa.dependences import Reduction
from inference.isa.x86.block_inputs import reads_of
from inference.isa.x86.bodies import loop_body, loop_size
from inference.isa.x86.dependences import accesses_of, name_of_location
from inference.isa.x86.fusion import fused_places, moves_of, pairs_of
from inference.isa.x86.register_choices import RCX
from inference.isa.x86.scheme_set import scheme_and_form
from inference.isa.x86.steps import step_of

__all__ = [
    "accesses_of",
    "fused_places",
    "loop_body",
    "loop_size",
    "moves_of",
    "name_of_location",
    "pairs_of",
    "reads_of",
    "reduction_of",
    "stores_of",
    "zero_bit_shifts",
]


_EXACT = re.compile(
    r"add|sub|and|or|xor|imul|v?p(?:add|sub)[bwdq]|v?p(?:and|or|xor)[dq]?|v?p(?:min|max)[su][bwdq]|v?pmulld"
    r"|v?(?:and|or|xor)p[sd]|v?(?:min|max)[ps][sd]"
)  # operations that may be regrouped: the sum is the same in any order
_ROUNDED = re.compile(r"v?(?:add|sub|mul)[ps][sd]|vfn?madd231[ps][sd]")
"""Operations of which another order would round otherwise."""

_FROM = re.compile(r"sub|v?psub.|v?sub..|vfn?madd231..")
"""What the accumulator has to be the first source of."""


def stores_of(instruction: BlockInstruction) -> int:
    scheme_form = None if instruction.scheme is None else scheme_and_form(instruction.scheme)
    operands = () if scheme_form is None else scheme_form[0].operands
    return sum(operand.kind == "memory" and "W" in operand.access for operand in operands)


def zero_bit_shifts(block: Block, registers: Mapping[str, int]) -> int:
    """The number of shifts by a register that move by 0 bits with these start values.

    A count that the block computes itself is assumed to differ from 0.
    """
    steps = [step_of(instruction.code) for instruction in block.instructions]
    if any(part.family == RCX for step in steps for part in step.writes):
        return 0
    count = registers["rcx"]
    return sum(step.is_shift_by_register and not step.shift_count(count) for step in steps)


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
