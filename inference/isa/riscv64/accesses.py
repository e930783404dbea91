"""The access facet of RISC-V; see `inference.isa.words.block_accesses`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from inference.isa.addresses import InstructionAddresses
from inference.isa.code.block import BlockInstruction
from inference.isa.dependences import Reduction
from inference.isa.riscv64 import STACK_POINTER, front_end
from inference.isa.riscv64.addresses import addresses_of
from inference.isa.riscv64.assembling import Assembler, code_of_line
from inference.isa.riscv64.decoding import decode
from inference.isa.riscv64.spelling import register_name
from inference.isa.words.accesses import DecodedInstruction, RegisterPart
from inference.isa.words.block_accesses import WordAccessReader

_EXACT = re.compile(r"(?:add|sub|mul)w?|add\.uw|sh[123]add|and|or|xor|(?:min|max)u?|f(?:min|max)\.[sdh]")
"""Operations that may be regrouped: the sum is the same in any order."""

_ROUNDED = re.compile(r"f(?:add|sub|mul|madd|nmsub)\.[sdh]")
"""Operations of which another order would round otherwise."""

_FROM_FIRST = re.compile(r"subw?|fsub\.[sdh]")
"""The accumulator has to be the first source."""

_FROM_SECOND = re.compile(r"add\.uw|sh[123]add")
"""The accumulator has to be the second source: the first one is shifted or extended."""

_SEPARATE = re.compile(r"f(?:madd|nmsub)\.[sdh]")
"""The accumulator is a source of its own, the last one; the others negate it."""


class _AccessReader(WordAccessReader):
    def addresses_of(
        self, block: Sequence[DecodedInstruction], *, equal_start: bool, code_bytes: int = 0
    ) -> list[InstructionAddresses]:
        return addresses_of(block, equal_start=equal_start, code_bytes=code_bytes)

    def register_name(self, bank: str, number: int, bits: int) -> str:
        return register_name(RegisterPart(bank, number, bits))

    def reduction_of(self, instruction: BlockInstruction) -> Reduction | None:
        mnemonic, _, operands = (instruction.scheme or "").partition(" ")
        is_exact = _EXACT.fullmatch(mnemonic) is not None
        if not (is_exact or _ROUNDED.fullmatch(mnemonic)) or "IMM" in operands:
            return None
        if _SEPARATE.fullmatch(mnemonic):
            return Reduction(("4",), is_exact)
        if _FROM_FIRST.fullmatch(mnemonic):
            return Reduction(("2",), is_exact)
        return Reduction(("3",) if _FROM_SECOND.fullmatch(mnemonic) else ("2", "3"), is_exact)


ACCESSES = _AccessReader(decode, Assembler, code_of_line, front_end, STACK_POINTER)
