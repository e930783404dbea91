"""Addresses of a block's instructions: its execution on `inference.isa.addresses.SymbolicState`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence

from inference.isa.addresses import (
    ALL_BITS,
    ZERO,
    Accessed,
    InstructionAddresses,
    Operation,
    SymbolicState,
    Value,
    addresses_in_iterations,
    sign_extended,
)
from inference.isa.words.accesses import (
    FLAGS,
    FLOAT,
    GENERAL,
    VECTOR,
    DecodedInstruction,
    InMemory,
    NamedImmediate,
    OperandValue,
    RegisterPart,
    word_accesses,
)

GENERAL_BITS = 64
_REGISTERS = 32  # general-purpose ones


class BlockInterpreter(SymbolicState):
    """Executes a block, an iteration at a time.

    Args:
        operations: {mnemonic: its first operand from the others}.
        equal_start: Whether registers and memory start with one number.
        code_bytes: Distance of the code of consecutive iterations, 0 in a loop.
    """

    def __init__(self, operations: Mapping[str, Operation], *, equal_start: bool, code_bytes: int) -> None:
        super().__init__(range(_REGISTERS), equal_start=equal_start)
        self._operations = operations
        self._code_bytes = code_bytes
        self._iteration = 0

    def addresses_of(self, block: Sequence[DecodedInstruction]) -> list[InstructionAddresses]:
        """The addresses of each instruction, from executing iterations until nothing moves any more."""
        return addresses_in_iterations(lambda: self.iteration(block), equal_start=self._equal_start)

    def iteration(self, block: Sequence[DecodedInstruction]) -> list[Accessed]:
        """The addresses of each instruction in one more iteration."""
        self._iteration += 1
        accessed, offset = [], self._iteration * self._code_bytes
        for number, decoded in enumerate(block):
            accessed.append(self._execute(number, offset, decoded))
            offset += decoded.size
        return accessed

    @abstractmethod
    def _extends_sign(self, mnemonic: str) -> bool:
        """Whether a load extends the sign of what it loads."""

    def _modify(self, value: Value, modifier: NamedImmediate, bits: int) -> Value:
        """A source that is shifted or extended by its instruction."""
        return self.unknown("modified", modifier, bits, value)

    def _index(self, index: RegisterPart, place: InMemory) -> Value:
        """The index of an address before it is shifted."""
        return self._part_value(index, index.bits)

    def _in_code(self, place: InMemory, offset: int) -> Value:
        """An address relative to an instruction, which is so many bytes behind the code's beginning."""
        return self.unknown("code").plus(Value(offset + place.displacement & ALL_BITS))

    def _execute(self, number: int, offset: int, decoded: DecodedInstruction) -> Accessed:
        """The address of an instruction; its results are written."""
        accesses = word_accesses(decoded)
        key = (number, *self._inputs(decoded))
        place = next((value for value in decoded.operands if isinstance(value, InMemory)), None)
        address, moved = (None, None) if place is None else self._address(offset, place)
        stores = any(access.memory is not None for access in accesses.writes)
        loads = any(access.memory is not None for access in accesses.reads)
        if place is not None and address is not None and (stores or loads):
            self._transfer(decoded, place, address, key, stores=stores, loads=loads)
        else:
            self._compute(offset, decoded, address, key)
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
            elif bank in (VECTOR, FLOAT) or access.memory is not None:
                inputs.append(Value(self._iteration))
        if any(access.operand == FLAGS for access in accesses.reads):
            inputs.append(self.flags)
        return inputs

    def _address(self, offset: int, place: InMemory) -> tuple[Value, Value | None]:
        """The accessed address, and the new one of a moving base."""
        if place.base is None:
            return self._in_code(place, offset), None
        base = self.registers[place.base]
        distance = Value(place.displacement & ALL_BITS)
        if place.index is not None:
            distance = distance.plus(self._index(place.index, place), 1 << place.shift)
        moved = base.plus(distance)
        return base if place.moves == "post" else moved, moved if place.moves else None

    def _transfer(
        self,
        decoded: DecodedInstruction,
        place: InMemory,
        address: Value,
        key: tuple[object, ...],
        *,
        stores: bool,
        loads: bool,
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
            if stores and (loads or part.bank in (VECTOR, FLOAT)):
                self.store(at, bits, self.unknown("stored", part, key, self._iteration))
            elif stores:
                self.store(at, bits, self._part_value(part, bits))
            elif part.bank == GENERAL:
                value = self.loaded(at, bits)
                if decoded.form is not None and self._extends_sign(decoded.form.mnemonic):
                    value = sign_extended(value, bits) if not value.parts else self.unknown("sign", value)
                self._write(part, value)

    def _compute(
        self, offset: int, decoded: DecodedInstruction, address: Value | None, key: tuple[object, ...]
    ) -> None:
        """Write the result of an instruction: exact where known, else an unknown one."""
        results = [
            value
            for operand, value in explicit_operands(decoded)
            if isinstance(value, RegisterPart) and value.bank == GENERAL and "W" in operand
        ]
        for part in results:
            exact_result = self._result(offset, decoded, part, address) if part is results[0] else None
            self._write(part, self.unknown(key, part.number) if exact_result is None else exact_result)

    def _result(
        self, offset: int, decoded: DecodedInstruction, target: RegisterPart, address: Value | None
    ) -> Value | None:
        """The value of the first operand; None where unknown. `offset`: see `_in_code`."""
        if address is not None:  # the address is the result
            return address
        compute = None if decoded.form is None else self._operations.get(decoded.form.mnemonic)
        if compute is None:
            return None
        sources = self._sources(decoded, target.bits)
        return None if sources is None else compute(target.bits, sources)

    def _sources(self, decoded: DecodedInstruction, bits: int) -> list[Value] | None:
        """The values that an operation of so many bits computes with; None where one is unknown."""
        sources: list[Value] = []
        for access, value in explicit_operands(decoded)[1:]:
            if isinstance(value, NamedImmediate) and sources:
                sources[-1] = self._modify(sources[-1], value, bits)
            elif isinstance(value, RegisterPart) and "R" in access:
                sources.append(self._part_value(value, value.bits))
            elif isinstance(value, int):
                sources.append(Value(value & ALL_BITS))
            else:
                return None
        return sources

    def _part_value(self, part: RegisterPart, bits: int) -> Value:
        """An operand's value; of fewer than 64 bits, zero-extended."""
        if part.bank != GENERAL:
            return ZERO
        value = self.registers[part.number]
        if bits == GENERAL_BITS:
            return value
        if value.parts:
            return self.unknown("part", bits, value)
        return Value(value.constant & (1 << bits) - 1)

    def _write(self, part: RegisterPart, result: Value) -> None:
        """Write a general-purpose register; 32 bits clear the others."""
        if part.bank != GENERAL:
            return
        if part.bits < GENERAL_BITS:
            narrow = (1 << part.bits) - 1
            result = (
                self.unknown("narrowed", part.bits, result)
                if result.parts
                else Value(result.constant & narrow)
            )
        self.registers[part.number] = result


def explicit_operands(decoded: DecodedInstruction) -> list[tuple[str, OperandValue]]:
    """(access, value) of the operands in the instruction's text."""
    operands = () if decoded.form is None else decoded.form.operands
    places = [operand for operand in operands if not operand.implicit]
    return [(operand.access, value) for operand, value in zip(places, decoded.operands, strict=True)]
