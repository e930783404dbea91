"""Addresses of a RISC-V block's instructions: its execution on `inference.isa.addresses.SymbolicState`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inference.isa.addresses import (
    ZERO,
    InstructionAddresses,
    Operation,
    Value,
    bitwise,
    product,
    shifted,
    shifted_left,
    sign_extended,
    signed,
    sum_with,
)
from inference.isa.riscv64.spelling import WRITTEN_OPERANDS, uncompressed
from inference.isa.words.accesses import DecodedInstruction, InMemory, RegisterPart
from inference.isa.words.addresses import BlockInterpreter

_SIGNED = ("lb", "lh", "lw")
"""Loads that extend the sign."""

_PAGE_BITS = 12
_WORD_BITS = 32


def addresses_of(
    block: Sequence[DecodedInstruction], *, equal_start: bool, code_bytes: int = 0
) -> list[InstructionAddresses]:
    """The addresses of each instruction.

    Args:
        equal_start: Registers and memory start with one number.
        code_bytes: Distance of the code of consecutive iterations, 0 in a loop.
    """
    interpreter = _Interpreter(_OPERATIONS, equal_start=equal_start, code_bytes=code_bytes)
    return interpreter.addresses_of(block)


class _Interpreter(BlockInterpreter):
    """Executes a block of RISC-V."""

    def __init__(self, operations: Mapping[str, Operation], *, equal_start: bool, code_bytes: int) -> None:
        super().__init__(operations, equal_start=equal_start, code_bytes=code_bytes)
        self.registers[0] = ZERO

    def _extends_sign(self, mnemonic: str) -> bool:
        return uncompressed(mnemonic) in _SIGNED

    def _result(
        self, offset: int, decoded: DecodedInstruction, target: RegisterPart, address: Value | None
    ) -> Value | None:
        if decoded.form is not None and decoded.form.mnemonic == "auipc":
            distance = decoded.operands[1]
            assert isinstance(distance, int)
            return self._in_code(InMemory(None, displacement=distance << _PAGE_BITS), offset)
        return super()._result(offset, decoded, target, address)


def _sign_extended(operation: Operation) -> Operation:
    """An operation on the lower 32 bits, whose result is sign-extended."""

    def computed(_bits: int, of: Sequence[Value]) -> Value | None:
        result = operation(_WORD_BITS, of)
        return None if result is None or result.parts else sign_extended(result, _WORD_BITS)

    return computed


def _shifted_and_added(count: int, *, is_word: bool = False) -> Operation:
    """`sh1add` and the like; `is_word`: the first source is zero-extended from 32 bits."""

    def computed(_bits: int, of: Sequence[Value]) -> Value | None:
        first, second = of
        if is_word and first.parts:
            return None
        index = Value(first.constant & _LOW_WORD) if is_word else first
        return second.plus(index, 1 << count)

    return computed


_LOW_WORD = (1 << _WORD_BITS) - 1

_AND, _OR, _XOR = bitwise(lambda a, b: a & b), bitwise(lambda a, b: a | b), bitwise(lambda a, b: a ^ b)
_RIGHT = shifted(lambda a, count, bits: (a & (1 << bits) - 1) >> count)
_RIGHT_SIGNED = shifted(lambda a, count, bits: signed(a, bits) >> count)
_PLAIN: Mapping[str, Operation] = {
    **dict.fromkeys(("mv", "li"), lambda _bits, of: of[0]),
    "lui": lambda _bits, of: sign_extended(Value(of[0].constant << _PAGE_BITS), _WORD_BITS),
    **dict.fromkeys(("add", "addi"), sum_with(1)),
    "sub": sum_with(-1),
    **dict.fromkeys(("and", "andi"), _AND),
    **dict.fromkeys(("or", "ori"), _OR),
    **dict.fromkeys(("xor", "xori"), _XOR),
    **dict.fromkeys(("sll", "slli"), shifted_left),
    **dict.fromkeys(("srl", "srli"), _RIGHT),
    **dict.fromkeys(("sra", "srai"), _RIGHT_SIGNED),
    "mul": product,
    **dict.fromkeys(("addw", "addiw"), _sign_extended(sum_with(1))),
    "subw": _sign_extended(sum_with(-1)),
    **dict.fromkeys(("sllw", "slliw"), _sign_extended(shifted_left)),
    **dict.fromkeys(("srlw", "srliw"), _sign_extended(_RIGHT)),
    **dict.fromkeys(("sraw", "sraiw"), _sign_extended(_RIGHT_SIGNED)),
    "mulw": _sign_extended(product),
    "add.uw": _shifted_and_added(0, is_word=True),
    **{f"sh{count}add": _shifted_and_added(count) for count in (1, 2, 3)},
    **{f"sh{count}add.uw": _shifted_and_added(count, is_word=True) for count in (1, 2, 3)},
}
_OPERATIONS: Mapping[str, Operation] = {
    **_PLAIN,
    **{name: _PLAIN[uncompressed(name)] for name in WRITTEN_OPERANDS if uncompressed(name) in _PLAIN},
}
