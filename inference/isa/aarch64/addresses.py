"""Addresses of an AArch64 block's instructions: its execution on `inference.isa.addresses.SymbolicState`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inference.isa.aarch64 import STACK_POINTER
from inference.isa.addresses import (
    ALL_BITS,
    ZERO,
    Accessed,
    InstructionAddresses,
    Operation,
    SymbolicState,
    Value,
    addresses_in_iterations,
    bitwise,
    exact,
    product,
    shifted,
    shifted_left,
    sign_extended,
    signed,
    sum_with,
)
from inference.isa.words.accesses import (
    FLAGS,
    GENERAL,
    VECTOR,
    DecodedInstruction,
    InMemory,
    NamedImmediate,
    OperandValue,
    RegisterPart,
    word_accesses,
)

_WORD, _PAGE = 4, 4096  # bytes
_SIGNED = ("ldrs", "ldurs", "ldps")
"""Beginnings of loads that extend the sign."""

_GENERAL_BITS = 64


def addresses_of(
    block: Sequence[DecodedInstruction], *, equal_start: bool, code_bytes: int = 0
) -> list[InstructionAddresses]:
    """The addresses of each instruction.

    `equal_start`: registers and memory start with one number. `code_bytes`: distance of the code of
    consecutive iterations, 0 in a loop.
    """
    interpreter = _BlockInterpreter(equal_start=equal_start, code_bytes=code_bytes)
    return addresses_in_iterations(lambda: interpreter.iteration(block), equal_start=equal_start)


class _BlockInterpreter(SymbolicState):
    """Executes a block, an iteration at a time."""

    def __init__(self, *, equal_start: bool, code_bytes: int) -> None:
        super().__init__(range(STACK_POINTER + 1), equal_start=equal_start)
        self._code_bytes = code_bytes
        self._iteration = 0

    def iteration(self, block: Sequence[DecodedInstruction]) -> list[Accessed]:
        """The addresses of each instruction in one more iteration."""
        self._iteration += 1
        return [self._execute(number, decoded) for number, decoded in enumerate(block)]

    def _execute(self, number: int, decoded: DecodedInstruction) -> Accessed:
        """The address of an instruction; its results are written."""
        accesses = word_accesses(decoded)
        key = (number, *self._inputs(decoded))
        place = next((value for value in decoded.operands if isinstance(value, InMemory)), None)
        address, moved = (None, None) if place is None else self._address(number, place)
        stores = any(access.memory is not None for access in accesses.writes)
        loads = any(access.memory is not None for access in accesses.reads)
        if place is not None and address is not None and (stores or loads):
            self._transfer(decoded, place, address, key, stores=stores)
        else:
            self._compute(number, decoded, address, key)
        if place is not None and place.base is not None and moved is not None:
            self.registers[place.base] = moved
        if any(access.operand == FLAGS for access in accesses.writes):
            self.flags = self.unknown(FLAGS, key)
        return Accessed(address if stores or loads else None)

    def _inputs(self, decoded: DecodedInstruction) -> list[Value]:
        """What the results depend on: equal values give equal results."""
        inputs: list[Value] = []
        accesses = word_accesses(decoded)
        for access in accesses.reads:
            bank, _, number = access.location.partition(" ")
            if bank == GENERAL:
                inputs.append(self.registers[int(number)])
            elif bank == VECTOR or access.memory is not None:
                inputs.append(Value(self._iteration))
        if any(access.operand == FLAGS for access in accesses.reads):
            inputs.append(self.flags)
        return inputs

    def _address(self, number: int, place: InMemory) -> tuple[Value, Value | None]:
        """The accessed address, and the new one of a moving base."""
        if place.base is None:
            offset = number * _WORD + self._iteration * self._code_bytes
            return self._in_code(place, offset), None
        base = self.registers[place.base]
        distance = Value(place.displacement & ALL_BITS)
        if place.index is not None:
            distance = distance.plus(self._extended(place.index, place.extend), 1 << place.shift)
        moved = base.plus(distance)
        return base if place.moves == "post" else moved, moved if place.moves else None

    def _in_code(self, place: InMemory, offset: int) -> Value:
        code = self.unknown("code")
        if place.page:  # where the page begins is not known
            return self.unknown("page of code", offset // _PAGE).plus(Value(place.displacement & ALL_BITS))
        return code.plus(Value(offset + place.displacement & ALL_BITS))

    def _transfer(
        self,
        decoded: DecodedInstruction,
        place: InMemory,
        address: Value,
        key: tuple[object, ...],
        *,
        stores: bool,
    ) -> None:
        """Load or store all registers, one behind another."""
        parts = [value for value in decoded.operands if isinstance(value, RegisterPart)]
        status = bool(stores and decoded.form is not None and decoded.form.operands[0].access == "W")
        transferred = parts[status:]  # an exclusive store writes its success to the first one
        for part in parts[:status]:
            self._write(part, self.unknown(key, part.number))
        bits = place.bits // max(len(transferred), 1)
        for k, part in enumerate(transferred):
            at = address.plus(Value(k * bits // 8))
            if stores and part.bank == VECTOR:
                self.store(at, bits, self.unknown("vector", part, self._iteration))
            elif stores:
                self.store(at, bits, self._part_value(part, bits))
            elif part.bank == GENERAL:
                value = self.loaded(at, bits)
                if decoded.form is not None and decoded.form.mnemonic.startswith(_SIGNED):
                    value = sign_extended(value, bits) if not value.parts else self.unknown("sign", value)
                self._write(part, value)

    def _compute(
        self, number: int, decoded: DecodedInstruction, address: Value | None, key: tuple[object, ...]
    ) -> None:
        """Write the result of an instruction: exact where known, else an unknown one."""
        results = [
            value
            for operand, value in _explicit(decoded)
            if isinstance(value, RegisterPart) and value.bank == GENERAL and "W" in operand
        ]
        for part in results:
            exact_result = self._result(number, decoded, part, address) if part is results[0] else None
            self._write(part, self.unknown(key, part.number) if exact_result is None else exact_result)

    def _result(
        self, number: int, decoded: DecodedInstruction, target: RegisterPart, address: Value | None
    ) -> Value | None:
        """The value of the first operand; None where unknown."""
        if address is not None:  # `adr`, `adrp`
            return address
        compute = None if decoded.form is None else _OPERATIONS.get(decoded.form.mnemonic)
        if compute is None:
            return None
        sources: list[Value] = []
        for operand, value in _explicit(decoded)[1:]:
            if isinstance(value, NamedImmediate) and sources:
                sources[-1] = self._modified(sources[-1], value, target.bits)
            elif isinstance(value, RegisterPart) and "R" in operand:
                sources.append(self._part_value(value, value.bits))
            elif isinstance(value, int):
                sources.append(Value(value & ALL_BITS))
            else:
                return None
        return compute(target.bits, sources)

    def _modified(self, value: Value, modifier: NamedImmediate, bits: int) -> Value:
        """A source that is shifted or extended by its instruction."""
        count = Value(int(modifier.value))
        if modifier.word in _EXTENSIONS:
            value = self._extension(value, modifier.word)
        elif modifier.word != "lsl":
            shift = _OPERATIONS.get(modifier.word)
            result = None if shift is None else shift(bits, [value, count])
            return self.unknown("shifted", modifier, bits, value) if result is None else result
        return ZERO.plus(value, 1 << int(modifier.value))

    def _extended(self, index: RegisterPart, extend: str) -> Value:
        """An index as it is added to a base."""
        value = self._part_value(index, index.bits)
        return self._extension(value, extend) if extend in _EXTENSIONS else value

    def _extension(self, value: Value, word: str) -> Value:
        bits = _EXTENSIONS[word]
        if bits == _GENERAL_BITS:
            return value
        if value.parts:
            return self.unknown("extended", word, value)
        low = Value(value.constant & (1 << bits) - 1)
        return sign_extended(low, bits) if word.startswith("s") else low

    def _part_value(self, part: RegisterPart, bits: int) -> Value:
        """An operand's value; of fewer than 64 bits, zero-extended."""
        if part.bank != GENERAL:
            return ZERO
        value = self.registers[part.number]
        if bits == _GENERAL_BITS:
            return value
        if value.parts:
            return self.unknown("part", bits, value)
        return Value(value.constant & (1 << bits) - 1)

    def _write(self, part: RegisterPart, result: Value) -> None:
        """Write a general-purpose register; 32 bits clear the others."""
        if part.bank != GENERAL:
            return
        if part.bits < _GENERAL_BITS:
            narrow = (1 << part.bits) - 1
            result = (
                self.unknown("narrowed", part.bits, result)
                if result.parts
                else Value(result.constant & narrow)
            )
        self.registers[part.number] = result


def _explicit(decoded: DecodedInstruction) -> list[tuple[str, OperandValue]]:
    """(access, value) of the operands in the instruction's text."""
    operands = () if decoded.form is None else decoded.form.operands
    places = [operand for operand in operands if not operand.implicit]
    return [(operand.access, value) for operand, value in zip(places, decoded.operands, strict=True)]


_EXTENSIONS = {"uxtb": 8, "uxth": 16, "uxtw": 32, "uxtx": 64, "sxtb": 8, "sxth": 16, "sxtw": 32, "sxtx": 64}


def _negated(bits: int, sources: Sequence[Value]) -> Value | None:
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
    "neg": _negated,
    "negs": _negated,
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
