"""The access facet of AArch64; see `inference.isa.words.block_accesses`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from inference.isa.aarch64 import STACK_POINTER, front_end
from inference.isa.aarch64.addresses import addresses_of
from inference.isa.aarch64.assembling import Assembler, code_of_line
from inference.isa.aarch64.decoding import decode
from inference.isa.addresses import InstructionAddresses
from inference.isa.code.block import BlockInstruction
from inference.isa.dependences import Reduction
from inference.isa.words.accesses import VECTOR, DecodedInstruction
from inference.isa.words.block_accesses import WordAccessReader

_FLAGS = "NZCV"
_EXACT = re.compile(
    r"add|adds|sub|subs|and|ands|orr|eor|mul|[us]?(?:min|max)|mla|mls|[us]ml[as]l2?|[us]aba|[us]adalp|madd|msub"
    r"|[us]maddl|[us]msubl|f(?:min|max)(?:nm)?"
)
"""Operations that may be regrouped: the sum is the same in any order."""

_ROUNDED = re.compile(r"fadd|fsub|fmul|fml[as]|fm(?:add|sub)")
"""Operations of which another order would round otherwise."""

_FROM_FIRST = re.compile(r"f?subs?")
"""The accumulator has to be the first source."""

_SEPARATE = re.compile(r"[us]?madd|msub|[us]m(?:add|sub)l|fm(?:add|sub)")
"""The accumulator is a source of its own, the last one."""


class _AccessReader(WordAccessReader):
    def addresses_of(
        self, block: Sequence[DecodedInstruction], *, equal_start: bool, code_bytes: int = 0
    ) -> list[InstructionAddresses]:
        return addresses_of(block, equal_start=equal_start, code_bytes=code_bytes)

    def register_name(self, bank: str, number: int, bits: int) -> str:
        if bank == VECTOR:
            return f"v{number}"
        if number == STACK_POINTER:
            return "sp"
        return f"{'w' if 0 < bits <= 32 else 'x'}{number}"

    def name_of_location(self, location: str) -> str:
        return _FLAGS if location.startswith("flag") else super().name_of_location(location)

    def reduction_of(self, instruction: BlockInstruction) -> Reduction | None:
        mnemonic, _, operands = (instruction.scheme or "").partition(" ")
        is_exact = _EXACT.fullmatch(mnemonic) is not None
        places = operands.split(", ")
        if not (is_exact or _ROUNDED.fullmatch(mnemonic)) or len(places) < 3:
            return None
        if places[0].endswith(":RW"):
            return Reduction(("1",), is_exact)
        if _SEPARATE.fullmatch(mnemonic):
            return Reduction(("4",), is_exact)
        plain = len(places) == 3 and places[2].endswith(":R") and places[1] == places[2]
        only_first = _FROM_FIRST.fullmatch(mnemonic) is not None or not plain
        return Reduction(("2",) if only_first else ("2", "3"), is_exact)


ACCESSES = _AccessReader(decode, Assembler, code_of_line, front_end, STACK_POINTER)
