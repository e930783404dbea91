"""Addresses of a block's instructions, from interpreting its first iterations with numbers and unknowns.

A value is a sum of unknown parts and a constant, so that `[rax+8]` and `[rbx]` are the same place after `lea
rbx, [rax+8]`. Where registers and memory start with one number, as on machines that measure blocks, nearly
all values are numbers, and all addresses lead to the same few pages: accesses that are far apart in the code
can meet. Equal computations on equal values give the same unknown again, so that an address can be constant
without being known.

The folder of an instruction set executes the instructions, with `SymbolicState` and the operations below.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple

from inference.isa.dependences import MEMORY_BYTES
from inference.isa.start_values import START

Parts = tuple[tuple[int, int], ...]
"""Unknown numbers, each by its index, with their factors."""

ALL_BITS = (1 << 64) - 1
_ITERATIONS = 4
"""The most iterations to interpret: then values have propagated around the loop."""

_SETTLING_ITERATIONS = 70
"""The most iterations for addresses that move by another distance each time: by then, shifts have left 0."""

_WORD = 8  # bytes


class BlockAddress(NamedTuple):
    """An address: exactly `offset` bytes from addresses with equal `parts`.

    Attributes:
        step: Bytes by which it moves per iteration, None where unknown.
        page: See `inference.isa.dependences.MemoryPlace`.
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


class Value(NamedTuple):
    """A 64-bit number: a constant and unknown parts. A tuple, since most time goes to comparing values."""

    constant: int
    parts: Parts = ()

    def plus(self, other: Value, factor: int = 1) -> Value:
        constant = (self.constant + factor * other.constant) & ALL_BITS
        if not other.parts:
            return Value(constant, self.parts)
        factors = dict(self.parts)
        for name, times in other.parts:
            factors[name] = (factors.get(name, 0) + factor * times) & ALL_BITS
        return Value(constant, tuple(sorted((name, times) for name, times in factors.items() if times)))


ZERO = Value(0)


class Accessed(NamedTuple):
    """The addresses of a memory operand and of a stack access, and the count of a shift."""

    memory: Value | None = None
    stack: Value | None = None
    shift: Value | None = None


def addresses_in_iterations(
    iteration: Callable[[], list[Accessed]], *, equal_start: bool
) -> list[InstructionAddresses]:
    """The addresses of each instruction, from executing iterations until they move by the same distances.

    `equal_start`: registers and memory start with `START`.
    """
    before: list[Accessed] = []
    previous: list[Accessed] = []
    current: list[Accessed] = []
    for executed in range(_SETTLING_ITERATIONS):
        if executed >= _ITERATIONS and not any(map(_changes_step, before, previous, current)):
            break
        before, previous, current = previous, current, iteration()
        if previous == current:
            break
    addresses = [
        InstructionAddresses(
            _block_address(earlier.memory, later.memory, equal_start=equal_start),
            _block_address(earlier.stack, later.stack, equal_start=equal_start),
            _constant_of(later.shift) if earlier.shift == later.shift else None,
        )
        for earlier, later in zip(previous, current, strict=True)
    ]
    if previous == current:
        return addresses
    return [
        _without_steps(reached) if _changes_step(*three) else reached
        for reached, *three in zip(addresses, before, previous, current, strict=True)
    ]


def _changes_step(before: Accessed, earlier: Accessed, later: Accessed) -> bool:
    """Whether an address of three consecutive iterations has moved by two known distances that differ."""
    memory, stack = zip(before[:2], earlier[:2], later[:2], strict=True)
    return _is_uneven(*memory) or _is_uneven(*stack)


def _is_uneven(before: Value | None, earlier: Value | None, later: Value | None) -> bool:
    if before is None or earlier is None or later is None:
        return False
    if not before.parts == earlier.parts == later.parts:
        return False
    return bool(2 * earlier.constant - before.constant - later.constant & ALL_BITS)


def _without_steps(addresses: InstructionAddresses) -> InstructionAddresses:
    """The addresses of an instruction that moves in no regular way."""
    memory, stack, shift = addresses
    return InstructionAddresses(
        memory and memory._replace(step=None), stack and stack._replace(step=None), shift
    )


def walks_of(
    addresses: Sequence[InstructionAddresses], state: SymbolicState, iteration: Callable[[], object]
) -> list[RegisterWalk]:
    """The registers that move by the same number in each iteration; none where no address moves.

    Args:
        addresses: Addresses of the block.
        state: Its state before the first iteration.
        iteration: Executes one in this state.
    """
    moving = (address for both in addresses for address in (both.memory, both.stack) if address is not None)
    fastest = max((abs(address.step or 0) for address in moving), default=0)
    if not fastest:
        return []
    registers = []
    for _ in range(_ITERATIONS):
        iteration()
        registers.append({**state.registers})
    before, earlier, later = registers[-3:]
    walks = []
    for register, value in later.items():
        step = value.plus(earlier[register], -1)
        if not step.parts and step.constant and step == earlier[register].plus(before[register], -1):
            distance = signed(step.constant)
            walks.append(RegisterWalk(register, distance, fastest / abs(distance)))
    return walks


def _block_address(earlier: Value | None, later: Value | None, *, equal_start: bool) -> BlockAddress | None:
    if earlier is None or later is None:
        return None
    step = signed(later.constant - earlier.constant) if earlier.parts == later.parts else None
    if equal_start and not later.parts:
        return BlockAddress((), later.constant % MEMORY_BYTES, step, later.constant // MEMORY_BYTES)
    return BlockAddress(later.parts, signed(later.constant), step)


def _constant_of(value: Value | None) -> int | None:
    return None if value is None or value.parts else value.constant


class _Stored(NamedTuple):
    address: Value
    bits: int
    value: Value


class SymbolicState:
    """A `Value` in each register, in the flags, and in each place in memory."""

    def __init__(self, registers: Iterable[int], *, equal_start: bool) -> None:
        self._equal_start = equal_start
        self._numbers: dict[Hashable, int] = {}
        start = Value(START)
        self.registers = {n: start if equal_start else self.unknown("register", n) for n in registers}
        self.flags = self.unknown("flags")
        self._stored: list[_Stored] = []

    def unknown(self, *key: Hashable) -> Value:
        """An unknown number, the same one for equal keys."""
        return Value(0, ((self._numbers.setdefault(key, len(self._numbers)), 1),))

    def store(self, address: Value, bits: int, value: Value) -> None:
        self._stored = [store for store in self._stored if (store.address, store.bits) != (address, bits)]
        self._stored.append(_Stored(address, bits, value))

    def loaded(self, address: Value, bits: int) -> Value:
        """The value of the last store there; else the start value of memory."""
        for store in reversed(self._stored):
            distance = self._distance_from(address, store)
            if distance is None:
                continue
            if distance == 0 and bits == store.bits:
                return store.value
            if -bits < 8 * distance < store.bits:
                return self._join(address, bits) or self.unknown("part of memory", distance, bits, store)
        return self._join(address, bits) or self.unknown("memory", address, bits)

    def _distance_from(self, address: Value, stored: _Stored) -> int | None:
        """Bytes from a store's address to this one; None where unknown."""
        if stored.address.parts != address.parts:
            return None
        distance = signed(address.constant - stored.address.constant)
        if self._equal_start and not address.parts:
            distance = (distance + MEMORY_BYTES // 2) % MEMORY_BYTES - MEMORY_BYTES // 2
        return distance

    def _join(self, address: Value, bits: int) -> Value | None:
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


def signed(number: int, bits: int = 64) -> int:
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def sign_extended(value: Value, bits: int) -> Value:
    """The sign-extended value where it is known; else unchanged."""
    return value if value.parts else Value(signed(value.constant, bits) & ALL_BITS)


Operation = Callable[[int, Sequence[Value]], Value | None]
"""f(bits, sources): the result of an instruction; None where unknown."""


def exact(bits: int, value: Value) -> Value | None:
    """The value; None where carries into unknown bits are lost."""
    return value if bits == 64 or not value.parts else None


def sum_with(factor: int) -> Operation:
    return lambda bits, of: exact(bits, of[0].plus(of[1], factor))


def bitwise(compute: Callable[[int, int], int]) -> Operation:
    def computed(bits: int, of: Sequence[Value]) -> Value | None:
        if of[0] == of[1]:
            return ZERO if compute(1, 1) == 0 else of[0]
        first, second = of[:2]
        if first.parts or second.parts:
            return None
        return Value(compute(first.constant, second.constant) & ALL_BITS)

    return computed


def shifted(compute: Callable[[int, int, int], int]) -> Operation:
    """The operation that shifts by a count; `compute`: f(value, count, bits)."""

    def computed(bits: int, of: Sequence[Value]) -> Value | None:
        if of[0].parts or of[1].parts:
            return None
        return Value(compute(of[0].constant, of[1].constant & (63 if bits == 64 else 31), bits) & ALL_BITS)

    return computed


def shifted_left(bits: int, operands: Sequence[Value]) -> Value | None:
    if operands[1].parts:
        return None
    return exact(bits, ZERO.plus(operands[0], 1 << (operands[1].constant & (63 if bits == 64 else 31))))


def product(bits: int, operands: Sequence[Value]) -> Value | None:
    if len(operands) < 2:
        return None
    first, second = operands[-2:]
    if first.parts and second.parts:
        return None
    return exact(
        bits, ZERO.plus(first, second.constant) if not second.parts else ZERO.plus(second, first.constant)
    )
