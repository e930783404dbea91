"""Addresses of an AArch64 block's instructions: its execution on `inference.isa.addresses.SymbolicState`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inference.isa.addresses import (
    ALL_BITS,
    ZERO,
    InstructionAddresses,
    Operation,
    Value,
    bitwise,
    exact,
    product,
    shifted,
    shifted_left,
    sign_extended,
    signed,
    sum_with,
)
from inference.isa.words.accesses import DecodedInstruction, InMemory, NamedImmediate, RegisterPart
from inference.isa.words.addresses import GENERAL_BITS, BlockInterpreter

_PAGE = 4096  # bytes
_SIGNED = ("ldrs", "ldurs", "ldps")
"""Beginnings of loads that extend the sign."""


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
    """Executes a block of AArch64."""

    def _extends_sign(self, mnemonic: str) -> bool:
        return mnemonic.startswith(_SIGNED)

    def _in_code(self, place: InMemory, offset: int) -> Value:
        if place.page:  # where the page begins is not known
            return self.unknown("page of code", offset // _PAGE).plus(Value(place.displacement & ALL_BITS))
        return super()._in_code(place, offset)

    def _modify(self, value: Value, modifier: NamedImmediate, bits: int) -> Value:
        """A source that is shifted or extended by its instruction."""
        count = Value(int(modifier.value))
        if modifier.word in _EXTENSIONS:
            value = self._extension(value, modifier.word)
        elif modifier.word != "lsl":
            shift = _OPERATIONS.get(modifier.word)
            result = None if shift is None else shift(bits, [value, count])
            return self.unknown("shifted", modifier, bits, value) if result is None else result
        return ZERO.plus(value, 1 << int(modifier.value))

    def _index(self, index: RegisterPart, place: InMemory) -> Value:
        value = super()._index(index, place)
        return self._extension(value, place.extend) if place.extend in _EXTENSIONS else value

    def _extension(self, value: Value, word: str) -> Value:
        bits = _EXTENSIONS[word]
        if bits == GENERAL_BITS:
            return value
        if value.parts:
            return self.unknown("extended", word, value)
        low = Value(value.constant & (1 << bits) - 1)
        return sign_extended(low, bits) if word.startswith("s") else low


_EXTENSIONS = {"uxtb": 8, "uxth": 16, "uxtw": 32, "uxtx": 64, "sxtb": 8, "sxth": 16, "sxtw": 32, "sxtx": 64}


def _negate(bits: int, sources: Sequence[Value]) -> Value | None:
    return exact(bits, ZERO.plus(sources[0], -1))


def _multiplied_and(factor: int) -> Operation:
    """`madd` and `msub`: the product is added to the last source, or subtracted."""

    def computed(bits: int, of: Sequence[Value]) -> Value | None:
        product_value = product(bits, of[:2])
        return None if product_value is None else exact(bits, of[2].plus(product_value, factor))

    return computed


_AND, _OR, _XOR = bitwise(lambda a, b: a & b), bitwise(lambda a, b: a | b), bitwise(lambda a, b: a ^ b)
_OPERATIONS: Mapping[str, Operation] = {
    **dict.fromkeys(("mov", "movz"), lambda _bits, of: of[0]),
    **dict.fromkeys(("mvn", "movn"), lambda bits, of: exact(bits, Value(ALL_BITS).plus(of[0], -1))),
    "neg": _negate,
    "negs": _negate,
    **dict.fromkeys(("add", "adds"), sum_with(1)),
    **dict.fromkeys(("sub", "subs"), sum_with(-1)),
    **dict.fromkeys(("and", "ands"), _AND),
    "orr": _OR,
    "eor": _XOR,
    "lsl": shifted_left,
    "lsr": shifted(lambda a, count, bits: a >> count),
    "asr": shifted(lambda a, count, bits: signed(a, bits) >> count),
    "mul": product,
    "madd": _multiplied_and(1),
    "msub": _multiplied_and(-1),
    "sxtw": lambda _bits, of: None if of[0].parts else sign_extended(of[0], 32),
}
