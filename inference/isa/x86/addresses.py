"""Addresses of an x86-64 block's instructions: its execution on `inference.isa.addresses.SymbolicState`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, count

from inference.isa.addresses import (
    ALL_BITS,
    ZERO,
    Accessed,
    InstructionAddresses,
    Operation,
    RegisterWalk,
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
    walks_of,
)
from inference.isa.x86.register_choices import RCX, RSP
from inference.isa.x86.steps import MemoryAddress, PartialRegister, Step, step_of


def addresses_of(
    codes: Sequence[bytes], *, equal_start: bool, code_bytes: int = 0
) -> list[InstructionAddresses]:
    """The addresses of each instruction, given by its code.

    Args:
        equal_start: Registers and memory start with one number.
        code_bytes: Distance of the code of consecutive iterations, 0 in a loop.
    """
    steps = list(map(step_of, codes))
    starts = list(accumulate(map(len, codes[:-1]), initial=0))
    interpreter = _BlockInterpreter(equal_start=equal_start, code_bytes=code_bytes)
    return addresses_in_iterations(lambda: interpreter.iteration(steps, starts), equal_start=equal_start)


def block_walks(codes: Sequence[bytes]) -> list[RegisterWalk]:
    """The registers that move while the block, given by its instructions' codes, is repeated."""
    steps = list(map(step_of, codes))
    starts = list(accumulate(map(len, codes[:-1]), initial=0))
    interpreter = _BlockInterpreter(equal_start=True, code_bytes=0)
    addresses = addresses_of(codes, equal_start=True)
    return walks_of(addresses, interpreter, lambda: interpreter.iteration(steps, starts))


class _BlockInterpreter(SymbolicState):
    """Executes a block, an iteration at a time."""

    def __init__(self, *, equal_start: bool, code_bytes: int) -> None:
        super().__init__(range(16), equal_start=equal_start)
        self._code_bytes = code_bytes
        self._iteration = 0

    def iteration(self, steps: Sequence[Step], starts: Sequence[int]) -> list[Accessed]:
        """The addresses of each instruction in one more iteration; `starts`: offsets of their code."""
        self._iteration += 1
        return [self._execute(*arguments) for arguments in zip(count(), steps, starts, strict=False)]

    def _execute(self, number: int, step: Step, start: int) -> Accessed:
        """The addresses of an instruction; its results are written."""
        memory = None if step.memory is None else self._address(step.memory, start)
        shift = self.registers[RCX] if step.is_shift_by_register else None
        stack = None
        if step.stack_increment:
            rsp = self.registers[RSP]
            stack = rsp.plus(Value(min(step.stack_increment, 0) & ALL_BITS))
            self.registers[RSP] = rsp.plus(Value(step.stack_increment & ALL_BITS))
        loaded = (
            self.loaded(memory, step.memory.bits) if memory and step.memory and step.reads_memory else None
        )
        if step.mnemonic == "push" and stack is not None:
            self.store(stack, 8 * -step.stack_increment, self._source(number, step, 0, loaded))
        elif step.mnemonic == "pop" and stack is not None:
            self._write(step, memory, self.loaded(stack, 8 * step.stack_increment))
        else:
            self._compute(number, step, memory, loaded)
        return Accessed(memory, stack, shift)

    def _compute(self, number: int, step: Step, memory: Value | None, loaded: Value | None) -> None:
        """Write the result of an instruction: exact where known, else an unknown one."""
        inputs = [self.registers[part.family] for part in step.reads]
        inputs += [] if loaded is None else [loaded]
        inputs += [self.flags] if step.reads_flags else []
        inputs += [Value(self._iteration)] if step.reads_other_registers else []
        key = (number, *inputs)
        result = self._result(number, step, memory, loaded)
        if result is not None:
            self._write(step, memory, result)
        elif step.mnemonic not in _WITHOUT_RESULT:
            for part in step.writes:
                self.registers[part.family] = self.unknown(key, part.family)
            if memory is not None and step.memory is not None and step.writes_memory:
                self.store(memory, step.memory.bits, self.unknown(key, "memory"))
        if step.writes_flags:
            self.flags = self.unknown("flags", key)

    def _result(self, number: int, step: Step, memory: Value | None, loaded: Value | None) -> Value | None:
        """The value of the first operand that an instruction writes; None where unknown."""
        if step.mnemonic == "lea":
            return memory
        if (compute := _OPERATIONS.get(step.mnemonic)) is None:
            return None
        sources = [self._source(number, step, place, loaded) for place in range(len(step.operands))]
        if step.mnemonic in ("movsx", "movsxd"):
            source = step.operands[1]
            if isinstance(source, PartialRegister | MemoryAddress):
                sources[1] = sign_extended(sources[1], source.bits)
        return compute(step.bits, sources)

    def _address(self, place: MemoryAddress, start: int) -> Value:
        if place.in_code:
            offset = start + place.displacement + self._iteration * self._code_bytes
            return self.unknown("code").plus(Value(offset))
        value = Value(place.displacement)
        for part, scale in ((place.base, 1), (place.index, place.scale)):
            if part is not None:
                value = value.plus(self.registers[part.family], scale)
        return value if place.is_known else self.unknown("vector of addresses", value)

    def _source(self, number: int, step: Step, place: int, loaded: Value | None) -> Value:
        """An operand's value; of fewer than 64 bits, zero-extended."""
        operand = step.operands[place]
        if isinstance(operand, int):
            return Value(operand & ALL_BITS)
        if isinstance(operand, PartialRegister):
            return self._part_value(self.registers[operand.family], operand)
        return loaded if loaded is not None else self.unknown(number, "operand", place)

    def _part_value(self, value: Value, part: PartialRegister) -> Value:
        if part.bits == 64:
            return value
        if value.parts:
            return self.unknown("part", part.bits, part.high, value)
        return Value(value.constant >> (8 * part.high) & (1 << part.bits) - 1)

    def _write(self, step: Step, memory: Value | None, result: Value) -> None:
        """Write the first operand; a part of a register is merged with the rest."""
        target = step.operands[0]
        if isinstance(target, MemoryAddress):
            if memory is not None:
                self.store(memory, target.bits, result)
        elif isinstance(target, PartialRegister):
            old = self.registers[target.family]
            if target.bits < 64 and (result.parts or (target.bits < 32 and old.parts)):
                result = self.unknown("merged", target.bits, target.high, old, result)
            elif target.bits < 64:
                result = Value(result.constant & (1 << target.bits) - 1)
                if target.bits < 32:
                    mask = (1 << target.bits) - 1 << 8 * target.high
                    result = Value(old.constant & ~mask & ALL_BITS | result.constant << 8 * target.high)
            self.registers[target.family] = result


def _equal(bits: int, operands: Sequence[Value]) -> Value | None:
    return exact(bits, operands[0]) if operands[0] == operands[1] else None


_CONDITIONS = "a ae b be e g ge l le ne no np ns o p s"
_OPERATIONS: Mapping[str, Operation] = {
    "mov": lambda _bits, of: of[1],
    "movzx": lambda _bits, of: of[1],
    "movsx": lambda _bits, of: of[1],
    "movsxd": lambda _bits, of: of[1],
    "inc": lambda bits, of: exact(bits, of[0].plus(Value(1))),
    "dec": lambda bits, of: exact(bits, of[0].plus(Value(1), -1)),
    "neg": lambda bits, of: exact(bits, ZERO.plus(of[0], -1)),
    "not": lambda bits, of: exact(bits, Value(ALL_BITS).plus(of[0], -1)),
    "add": sum_with(1),
    "sub": sum_with(-1),
    "and": bitwise(lambda a, b: a & b),
    "or": bitwise(lambda a, b: a | b),
    "xor": bitwise(lambda a, b: a ^ b),
    "shl": shifted_left,
    "shr": shifted(lambda a, count, bits: a >> count),
    "sar": shifted(lambda a, count, bits: signed(a, bits) >> count),
    "imul": product,
    **{f"cmov{condition}": _equal for condition in _CONDITIONS.split()},
}
_WITHOUT_RESULT = ("cmp", "test", "nop", "push", "pop")
