"""Addresses of a block's instructions, from interpreting its first iterations with numbers and unknowns.

A value is a sum of unknown parts and a constant, so that `[rax+8]` and `[rbx]` are the same place after `lea
rbx, [rax+8]`. Where registers and memory start with one number, as on machines that measure blocks, nearly
all values are numbers, and all addresses lead to the same few pages: accesses that are far apart in the code
can meet. Equal computations on equal values give the same unknown again, so that an address can be constant
without being known.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import accumulate, count
from typing import NamedTuple

from inference.isa.dependences import MEMORY_BYTES
from inference.isa.start_values import START
from inference.isa.x86.register_choices import RCX, RSP
from inference.isa.x86.steps import MemoryAddress, Operand, RegisterPart, Step, step_of

Parts = tuple[tuple[int, int], ...]
"""Unknown numbers, each by its index, with their factors."""

_ITERATIONS = 4
"""The most iterations to interpret: then values have propagated around the loop."""

_WORD = 8  # bytes
_ALL_BITS = (1 << 64) - 1


class BlockAddress(NamedTuple):
    """An address: exactly `offset` bytes from addresses with equal `parts`.

    `step`: bytes by which it moves per iteration, None where unknown. `page`: see
    `inference.isa.dependences.MemoryPlace`.
    """

    parts: Parts
    offset: int
    step: int | None
    page: int = 0


class RegisterWalk(NamedTuple):
    """A register that moves by `step` per iteration, and an address by up to `bytes_per_unit` as much."""

    register: int
    step: int
    bytes_per_unit: float


class InstructionAddresses(NamedTuple):
    """The addresses of the memory operand, and of the stack access of `push` and `pop`; None without.

    `shift`: the value of `rcx` where a shift uses it, None where unknown or varying.
    """

    memory: BlockAddress | None = None
    stack: BlockAddress | None = None
    shift: int | None = None


def addresses_of(
    codes: Sequence[bytes], *, equal_start: bool, code_bytes: int = 0
) -> list[InstructionAddresses]:
    """The addresses of each instruction, given by its code.

    `equal_start`: registers and memory start with `START`. `code_bytes`: distance of the code of consecutive
    iterations, 0 in a loop.
    """
    steps = list(map(step_of, codes))
    starts = list(accumulate(map(len, codes[:-1]), initial=0))
    interpreter = _BlockInterpreter(equal_start=equal_start, code_bytes=code_bytes)
    previous: list[_Accessed] = []
    current: list[_Accessed] = []
    for _ in range(_ITERATIONS):
        previous, current = current, interpreter.iteration(steps, starts)
        if previous == current:  # nothing moves any more
            break
    return [
        InstructionAddresses(
            _block_address(earlier.memory, later.memory, equal_start=equal_start),
            _block_address(earlier.stack, later.stack, equal_start=equal_start),
            _constant_of(later.shift) if earlier.shift == later.shift else None,
        )
        for earlier, later in zip(previous, current, strict=True)
    ]


def walks_of(codes: Sequence[bytes]) -> list[RegisterWalk]:
    """The registers that move by the same number in each iteration; none where no address moves."""
    addresses = [
        address
        for found in addresses_of(codes, equal_start=True)
        for address in (found.memory, found.stack)
        if address is not None
    ]
    fastest = max((abs(address.step or 0) for address in addresses), default=0)
    if not fastest:
        return []
    steps = list(map(step_of, codes))
    starts = list(accumulate(map(len, codes[:-1]), initial=0))
    interpreter = _BlockInterpreter(equal_start=True, code_bytes=0)
    registers = []
    for _ in range(_ITERATIONS):
        interpreter.iteration(steps, starts)
        registers.append(interpreter.registers)
    before, earlier, later = registers[-3:]
    walks = []
    for register, value in later.items():
        step = value.plus(earlier[register], -1)
        if not step.parts and step.constant and step == earlier[register].plus(before[register], -1):
            signed = _signed(step.constant)
            walks.append(RegisterWalk(register, signed, fastest / abs(signed)))
    return walks


def _block_address(earlier: Value | None, later: Value | None, *, equal_start: bool) -> BlockAddress | None:
    if earlier is None or later is None:
        return None
    step = _signed(later.constant - earlier.constant) if earlier.parts == later.parts else None
    if equal_start and not later.parts:
        return BlockAddress((), later.constant % MEMORY_BYTES, step, later.constant // MEMORY_BYTES)
    return BlockAddress(later.parts, _signed(later.constant), step)


def _constant_of(value: Value | None) -> int | None:
    return None if value is None or value.parts else value.constant


class Value(NamedTuple):
    """A 64-bit number: a constant and unknown parts. A tuple, since most time goes to comparing values."""

    constant: int
    parts: Parts = ()

    def plus(self, other: Value, factor: int = 1) -> Value:
        constant = (self.constant + factor * other.constant) & _ALL_BITS
        if not other.parts:
            return Value(constant, self.parts)
        factors = dict(self.parts)
        for name, times in other.parts:
            factors[name] = (factors.get(name, 0) + factor * times) & _ALL_BITS
        return Value(constant, tuple(sorted((name, times) for name, times in factors.items() if times)))


_ZERO = Value(0)


class _Accessed(NamedTuple):
    """The addresses of a memory operand and of a stack access, and the count of a shift."""

    memory: Value | None
    stack: Value | None
    shift: Value | None


class _Stored(NamedTuple):
    address: Value
    bits: int
    value: Value


class _BlockInterpreter:
    """Executes a block, an iteration at a time, with a `Value` in each register and place in memory."""

    def __init__(self, *, equal_start: bool, code_bytes: int) -> None:
        self._equal_start = equal_start
        self._code_bytes = code_bytes
        self._numbers: dict[Hashable, int] = {}
        start = Value(START)
        self._registers = {n: start if equal_start else self._unknown("register", n) for n in range(16)}
        self._flags = self._unknown("flags")
        self._stored: list[_Stored] = []
        self._iteration = 0

    @property
    def registers(self) -> dict[int, Value]:
        return dict(self._registers)

    def iteration(self, steps: Sequence[Step], starts: Sequence[int]) -> list[_Accessed]:
        """The addresses of each instruction in one more iteration; `starts`: offsets of their code."""
        self._iteration += 1
        return [self._execute(*arguments) for arguments in zip(count(), steps, starts, strict=False)]

    def _execute(self, number: int, step: Step, start: int) -> _Accessed:
        """The addresses of an instruction; its results are written."""
        memory = None if step.memory is None else self._address(step.memory, start)
        shift = self._registers[RCX] if step.is_shift_by_register else None
        stack = None
        if step.stack_increment:
            rsp = self._registers[RSP]
            stack = rsp.plus(Value(min(step.stack_increment, 0) & _ALL_BITS))
            self._registers[RSP] = rsp.plus(Value(step.stack_increment & _ALL_BITS))
        loaded = (
            self._loaded(memory, step.memory.bits) if memory and step.memory and step.reads_memory else None
        )
        if step.mnemonic == "push" and stack is not None:
            self._store(stack, 8 * -step.stack_increment, self._source(number, step, 0, loaded))
        elif step.mnemonic == "pop" and stack is not None:
            self._write(step, memory, self._loaded(stack, 8 * step.stack_increment))
        else:
            self._compute(number, step, memory, loaded)
        return _Accessed(memory, stack, shift)

    def _compute(self, number: int, step: Step, memory: Value | None, loaded: Value | None) -> None:
        """Write the result of an instruction: exact where known, else an unknown one."""
        inputs = [self._registers[part.family] for part in step.reads]
        inputs += [] if loaded is None else [loaded]
        inputs += [self._flags] if step.reads_flags else []
        inputs += [Value(self._iteration)] if step.reads_other_registers else []
        key = (number, *inputs)
        result = self._result(number, step, memory, loaded)
        if result is not None:
            self._write(step, memory, result)
        elif step.mnemonic not in _WITHOUT_RESULT:
            for part in step.writes:
                self._registers[part.family] = self._unknown(key, part.family)
            if memory is not None and step.memory is not None and step.writes_memory:
                self._store(memory, step.memory.bits, self._unknown(key, "memory"))
        if step.writes_flags:
            self._flags = self._unknown("flags", key)

    def _result(self, number: int, step: Step, memory: Value | None, loaded: Value | None) -> Value | None:
        """The value of the first operand that an instruction writes; None where unknown."""
        if step.mnemonic == "lea":
            return memory
        if (compute := _OPERATIONS.get(step.mnemonic)) is None:
            return None
        sources = [self._source(number, step, place, loaded) for place in range(len(step.operands))]
        if step.mnemonic in ("movsx", "movsxd"):
            sources[1] = _sign_extended(step.operands[1], sources[1])
        return compute(step.bits, sources)

    def _unknown(self, *key: Hashable) -> Value:
        """An unknown number, the same one for equal keys."""
        return Value(0, ((self._numbers.setdefault(key, len(self._numbers)), 1),))

    def _address(self, place: MemoryAddress, start: int) -> Value:
        if place.in_code:
            offset = start + place.displacement + self._iteration * self._code_bytes
            return self._unknown("code").plus(Value(offset))
        value = Value(place.displacement)
        for part, scale in ((place.base, 1), (place.index, place.scale)):
            if part is not None:
                value = value.plus(self._registers[part.family], scale)
        return value if place.is_known else self._unknown("vector of addresses", value)

    def _source(self, number: int, step: Step, place: int, loaded: Value | None) -> Value:
        """An operand's value; of fewer than 64 bits, zero-extended."""
        operand = step.operands[place]
        if isinstance(operand, int):
            return Value(operand & _ALL_BITS)
        if isinstance(operand, RegisterPart):
            return self._part_value(self._registers[operand.family], operand)
        return loaded if loaded is not None else self._unknown(number, "operand", place)

    def _part_value(self, value: Value, part: RegisterPart) -> Value:
        if part.bits == 64:
            return value
        if value.parts:
            return self._unknown("part", part.bits, part.high, value)
        return Value(value.constant >> (8 * part.high) & (1 << part.bits) - 1)

    def _write(self, step: Step, memory: Value | None, result: Value) -> None:
        """Write the first operand; a part of a register is merged with the rest."""
        target = step.operands[0]
        if isinstance(target, MemoryAddress):
            if memory is not None:
                self._store(memory, target.bits, result)
        elif isinstance(target, RegisterPart):
            old = self._registers[target.family]
            if target.bits < 64 and (result.parts or (target.bits < 32 and old.parts)):
                result = self._unknown("merged", target.bits, target.high, old, result)
            elif target.bits < 64:
                result = Value(result.constant & (1 << target.bits) - 1)
                if target.bits < 32:
                    mask = (1 << target.bits) - 1 << 8 * target.high
                    result = Value(old.constant & ~mask & _ALL_BITS | result.constant << 8 * target.high)
            self._registers[target.family] = result

    def _store(self, address: Value, bits: int, value: Value) -> None:
        self._stored = [store for store in self._stored if (store.address, store.bits) != (address, bits)]
        self._stored.append(_Stored(address, bits, value))

    def _loaded(self, address: Value, bits: int) -> Value:
        """The value of the last store there; else the start value of memory."""
        for store in reversed(self._stored):
            distance = self._distance_from(address, store)
            if distance is None:
                continue
            if distance == 0 and bits == store.bits:
                return store.value
            if -bits < 8 * distance < store.bits:
                return self._joined(address, bits) or self._unknown("part of memory", distance, bits, store)
        return self._joined(address, bits) or self._unknown("memory", address, bits)

    def _distance_from(self, address: Value, stored: _Stored) -> int | None:
        """Bytes from a store's address to this one; None where unknown."""
        if stored.address.parts != address.parts:
            return None
        distance = _signed(address.constant - stored.address.constant)
        if self._equal_start and not address.parts:
            distance = (distance + MEMORY_BYTES // 2) % MEMORY_BYTES - MEMORY_BYTES // 2
        return distance

    def _joined(self, address: Value, bits: int) -> Value | None:
        """The value of several stores and the start value of memory together; None where unknown."""
        if not self._equal_start or address.parts:
            return None
        loaded = bytearray()
        for k in range(min(bits // 8, _WORD)):
            byte = self._byte(address.plus(Value(k)))
            if byte is None:
                return None
            loaded.append(byte)
        return Value(int.from_bytes(loaded, "little"))

    def _byte(self, address: Value) -> int | None:
        for store in reversed(self._stored):
            distance = self._distance_from(address, store)
            if distance is not None and 0 <= 8 * distance < store.bits:
                return None if store.value.parts else store.value.constant >> 8 * distance & 0xFF
        return START.to_bytes(_WORD, "little")[address.constant % _WORD]


def _sign_extended(source: Operand, value: Value) -> Value:
    """The sign-extended value where it is known; else unchanged."""
    if value.parts or not isinstance(source, RegisterPart | MemoryAddress):
        return value
    return Value(_signed(value.constant, source.bits) & _ALL_BITS)


def _signed(number: int, bits: int = 64) -> int:
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


_Operation = Callable[[int, Sequence[Value]], Value | None]
"""f(bits, operands): the result of an instruction; None where unknown."""


def _sum(factor: int) -> _Operation:
    return lambda bits, of: _exact(bits, of[0].plus(of[1], factor))


def _exact(bits: int, value: Value) -> Value | None:
    """The value; None where carries into unknown bits are lost."""
    return value if bits == 64 or not value.parts else None


def _bitwise(compute: Callable[[int, int], int]) -> _Operation:
    def computed(bits: int, of: Sequence[Value]) -> Value | None:
        if of[0] == of[1]:
            return _ZERO if compute(1, 1) == 0 else of[0]
        first, second = of[:2]
        if first.parts or second.parts:
            return None
        return Value(compute(first.constant, second.constant) & _ALL_BITS)

    return computed


def _shifted(compute: Callable[[int, int, int], int]) -> _Operation:
    def computed(bits: int, of: Sequence[Value]) -> Value | None:
        if of[0].parts or of[1].parts:
            return None
        return Value(compute(of[0].constant, of[1].constant & (63 if bits == 64 else 31), bits) & _ALL_BITS)

    return computed


def _shifted_left(bits: int, operands: Sequence[Value]) -> Value | None:
    if operands[1].parts:
        return None
    return _exact(bits, _ZERO.plus(operands[0], 1 << (operands[1].constant & (63 if bits == 64 else 31))))


def _product(bits: int, operands: Sequence[Value]) -> Value | None:
    if len(operands) < 2:
        return None
    first, second = operands[-2:]
    if first.parts and second.parts:
        return None
    return _exact(
        bits, _ZERO.plus(first, second.constant) if not second.parts else _ZERO.plus(second, first.constant)
    )


def _equal(bits: int, operands: Sequence[Value]) -> Value | None:
    return _exact(bits, operands[0]) if operands[0] == operands[1] else None


_CONDITIONS = "a ae b be e g ge l le ne no np ns o p s"
_OPERATIONS: Mapping[str, _Operation] = {
    "mov": lambda _bits, of: of[1],
    "movzx": lambda _bits, of: of[1],
    "movsx": lambda _bits, of: of[1],
    "movsxd": lambda _bits, of: of[1],
    "inc": lambda bits, of: _exact(bits, of[0].plus(Value(1))),
    "dec": lambda bits, of: _exact(bits, of[0].plus(Value(1), -1)),
    "neg": lambda bits, of: _exact(bits, _ZERO.plus(of[0], -1)),
    "not": lambda bits, of: _exact(bits, Value(_ALL_BITS).plus(of[0], -1)),
    "add": _sum(1),
    "sub": _sum(-1),
    "and": _bitwise(lambda a, b: a & b),
    "or": _bitwise(lambda a, b: a | b),
    "xor": _bitwise(lambda a, b: a ^ b),
    "shl": _shifted_left,
    "shr": _shifted(lambda a, count, bits: a >> count),
    "sar": _shifted(lambda a, count, bits: _signed(a, bits) >> count),
    "imul": _product,
    **{f"cmov{condition}": _equal for condition in _CONDITIONS.split()},
}
_WITHOUT_RESULT = ("cmp", "test", "nop", "push", "pop")
