"""Which addresses the instructions of a block use: its first iterations, carried out on numbers and unknowns.

A value is a sum of unknown parts and a constant, so that `[rax+8]` and `[rbx]` are the same place after
`lea rbx, [rax+8]`. Where registers and memory start with one number, as machines that measure blocks have it,
nearly all values are numbers, and all pages are one (`inference.agent.paging`): accesses meet that are far
apart in their code. What an instruction computes of the same values is the same unknown again, so an address
can be steady without being known.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import accumulate, count
from typing import NamedTuple

from inference.isa.dependences import PAGE_BYTES
from inference.isa.start_values import START
from inference.isa.x86.choosing import RCX, RSP
from inference.isa.x86.steps import InMemory, Operand, RegisterPart, Step, step_of

Parts = tuple[tuple[int, int], ...]
"""Unknown numbers, each by its number, with their factors."""

_ITERATIONS = 4
"""Carried out at most: by then, values have gone round."""
_WORD = 8
_ALL = (1 << 64) - 1


class BlockAddress(NamedTuple):
    """Where `parts` are equal, surely `offset` bytes from the same place.

    `step`: by how many bytes it moves from iteration to iteration, None where nobody knows. `page`: see
    `inference.isa.dependences.MemoryPlace`.
    """

    parts: Parts
    offset: int
    step: int | None
    page: int = 0


class InstructionAddresses(NamedTuple):
    """Of the operand in memory, and of what `push` and `pop` access; None without. `shift`: what `rcx` holds
    where a shift moves by it, None where that is not known or not always the same."""

    memory: BlockAddress | None = None
    stack: BlockAddress | None = None
    shift: int | None = None


def addresses_of(codes: Sequence[bytes], *, alike: bool, code_bytes: int = 0) -> list[InstructionAddresses]:
    """Of each instruction, given by its code.

    `alike`: registers and memory start with `START`. `code_bytes`: by how many the code of an iteration is
    behind that of the one before, none in a loop.
    """
    steps = list(map(step_of, codes))
    begins = list(accumulate(map(len, codes[:-1]), initial=0))
    run = _Run(alike=alike, code_bytes=code_bytes)
    before: list[_Accessed] = []
    found: list[_Accessed] = []
    for _ in range(_ITERATIONS):
        before, found = found, run.iteration(steps, begins)
        if before == found:  # nothing moves any more
            break
    return [
        InstructionAddresses(
            _moving(earlier.memory, later.memory, alike=alike),
            _moving(earlier.stack, later.stack, alike=alike),
            _number(later.shift) if earlier.shift == later.shift else None,
        )
        for earlier, later in zip(before, found, strict=True)
    ]


def _moving(earlier: Value | None, later: Value | None, *, alike: bool) -> BlockAddress | None:
    if earlier is None or later is None:
        return None
    step = _signed(later.constant - earlier.constant) if earlier.parts == later.parts else None
    if alike and not later.parts:
        return BlockAddress((), later.constant % PAGE_BYTES, step, later.constant // PAGE_BYTES)
    return BlockAddress(later.parts, _signed(later.constant), step)


def _number(value: Value | None) -> int | None:
    return None if value is None or value.parts else value.constant


class Value(NamedTuple):
    """A number of 64 bits: a constant, and unknown parts. A tuple, since most work is to compare such."""

    constant: int
    parts: Parts = ()

    def plus(self, other: Value, factor: int = 1) -> Value:
        """With a multiple of another."""
        constant = (self.constant + factor * other.constant) & _ALL
        if not other.parts:
            return Value(constant, self.parts)
        factors = dict(self.parts)
        for name, times in other.parts:
            factors[name] = (factors.get(name, 0) + factor * times) & _ALL
        return Value(constant, tuple(sorted((name, times) for name, times in factors.items() if times)))


_ZERO = Value(0)


class _Accessed(NamedTuple):
    """The addresses of an operand in memory and of an access to the stack, and by what it shifts."""

    memory: Value | None
    stack: Value | None
    shift: Value | None


class _Stored(NamedTuple):
    address: Value
    bits: int
    value: Value


class _Run:
    """Registers and memory while a block is carried out."""

    def __init__(self, *, alike: bool, code_bytes: int) -> None:
        self._alike = alike
        self._code_bytes = code_bytes
        self._numbers: dict[Hashable, int] = {}
        start = Value(START)
        self._registers = {n: start if alike else self._unknown("register", n) for n in range(16)}
        self._flags = self._unknown("flags")
        self._stored: list[_Stored] = []
        self._turn = 0

    def iteration(self, steps: Sequence[Step], begins: Sequence[int]) -> list[_Accessed]:
        """The addresses that each instruction of a block uses when it is carried out once more; `begins`: how
        far its code is behind the first byte."""
        self._turn += 1
        return [self._carry_out(*one) for one in zip(count(), steps, begins, strict=False)]

    def _carry_out(self, number: int, step: Step, begin: int) -> _Accessed:
        """The addresses that an instruction uses; what it writes is written."""
        memory = None if step.memory is None else self._address(step.memory, begin)
        shift = self._registers[RCX] if step.is_shift_by_register else None
        stack = None
        if step.pushed:
            rsp = self._registers[RSP]
            stack = rsp.plus(Value(min(step.pushed, 0) & _ALL))
            self._registers[RSP] = rsp.plus(Value(step.pushed & _ALL))
        loaded = (
            self._loaded(memory, step.memory.bits) if memory and step.memory and step.reads_memory else None
        )
        if step.mnemonic == "push" and stack is not None:
            self._store(stack, 8 * -step.pushed, self._source(number, step, 0, loaded))
        elif step.mnemonic == "pop" and stack is not None:
            self._write(step, memory, self._loaded(stack, 8 * step.pushed))
        else:
            self._compute(number, step, memory, loaded)
        return _Accessed(memory, stack, shift)

    def _compute(self, number: int, step: Step, memory: Value | None, loaded: Value | None) -> None:
        """Write the result of an instruction: exactly where it is known how, else an unknown one."""
        inputs = [self._registers[part.family] for part in step.reads]
        inputs += [] if loaded is None else [loaded]
        inputs += [self._flags] if step.reads_flags else []
        inputs += [Value(self._turn)] if step.reads_others else []
        key = (number, *inputs)
        result = self._exactly(number, step, memory, loaded)
        if result is not None:
            self._write(step, memory, result)
        elif step.mnemonic not in _WITHOUT_RESULT:
            for part in step.writes:
                self._registers[part.family] = self._unknown(key, part.family)
            if memory is not None and step.memory is not None and step.writes_memory:
                self._store(memory, step.memory.bits, self._unknown(key, "memory"))
        if step.writes_flags:
            self._flags = self._unknown("flags", key)

    def _exactly(self, number: int, step: Step, memory: Value | None, loaded: Value | None) -> Value | None:
        """What an instruction writes into its first operand; None where that is not known."""
        if step.mnemonic == "lea":
            return memory
        if (compute := _EXACT.get(step.mnemonic)) is None:
            return None
        sources = [self._source(number, step, place, loaded) for place in range(len(step.operands))]
        if step.mnemonic in ("movsx", "movsxd"):
            sources[1] = _extended(step.operands[1], sources[1])
        return compute(step.bits, sources)

    def _unknown(self, *what: Hashable) -> Value:
        """The same number for the same thing."""
        return Value(0, ((self._numbers.setdefault(what, len(self._numbers)), 1),))

    def _address(self, place: InMemory, begin: int) -> Value:
        if place.in_code:
            behind = begin + place.displacement + self._turn * self._code_bytes
            return self._unknown("code").plus(Value(behind))
        value = Value(place.displacement)
        for part, scale in ((place.base, 1), (place.index, place.scale)):
            if part is not None:
                value = value.plus(self._registers[part.family], scale)
        return value if place.is_known else self._unknown("vector of addresses", value)

    def _source(self, number: int, step: Step, place: int, loaded: Value | None) -> Value:
        """What an operand holds, of fewer than 64 bits extended by zeros."""
        operand = step.operands[place]
        if isinstance(operand, int):
            return Value(operand & _ALL)
        if isinstance(operand, RegisterPart):
            return self._part(self._registers[operand.family], operand)
        return loaded if loaded is not None else self._unknown(number, "operand", place)

    def _part(self, value: Value, part: RegisterPart) -> Value:
        if part.bits == 64:
            return value
        if value.parts:
            return self._unknown("part", part.bits, part.high, value)
        return Value(value.constant >> (8 * part.high) & (1 << part.bits) - 1)

    def _write(self, step: Step, memory: Value | None, result: Value) -> None:
        """Into the first operand, which a part of a register is merged with."""
        target = step.operands[0]
        if isinstance(target, InMemory):
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
                    result = Value(old.constant & ~mask & _ALL | result.constant << 8 * target.high)
            self._registers[target.family] = result

    def _store(self, address: Value, bits: int, value: Value) -> None:
        self._stored = [one for one in self._stored if (one.address, one.bits) != (address, bits)]
        self._stored.append(_Stored(address, bits, value))

    def _loaded(self, address: Value, bits: int) -> Value:
        """What was stored there last; else what memory started with."""
        for one in reversed(self._stored):
            ahead = self._ahead(address, one)
            if ahead is None:
                continue
            if ahead == 0 and bits == one.bits:
                return one.value
            if -bits < 8 * ahead < one.bits:
                return self._of_parts(address, bits) or self._unknown("part of memory", ahead, bits, one)
        return self._of_parts(address, bits) or self._unknown("memory", address, bits)

    def _ahead(self, address: Value, stored: _Stored) -> int | None:
        """By how many bytes an address is behind that of a store; None where that is not known."""
        if stored.address.parts != address.parts:
            return None
        ahead = _signed(address.constant - stored.address.constant)
        if self._alike and not address.parts:
            ahead = (ahead + PAGE_BYTES // 2) % PAGE_BYTES - PAGE_BYTES // 2
        return ahead

    def _of_parts(self, address: Value, bits: int) -> Value | None:
        """What several stores, and memory as it started, make together; None where that is no number."""
        if not self._alike or address.parts:
            return None
        loaded = bytearray()
        for k in range(min(bits // 8, _WORD)):
            byte = self._byte(address.plus(Value(k)))
            if byte is None:
                return None
            loaded.append(byte)
        return Value(int.from_bytes(loaded, "little"))

    def _byte(self, address: Value) -> int | None:
        for one in reversed(self._stored):
            ahead = self._ahead(address, one)
            if ahead is not None and 0 <= 8 * ahead < one.bits:
                return None if one.value.parts else one.value.constant >> 8 * ahead & 0xFF
        return START.to_bytes(_WORD, "little")[address.constant % _WORD]


def _extended(source: Operand, value: Value) -> Value:
    """By its sign, as far as that is known."""
    if value.parts or not isinstance(source, RegisterPart | InMemory):
        return value
    return Value(_signed(value.constant, source.bits) & _ALL)


def _signed(number: int, bits: int = 64) -> int:
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


_Computed = Callable[[int, Sequence[Value]], Value | None]
"""f(bits, operands): what an instruction computes that addresses are made of, None where it is not known."""


def _sum(factor: int) -> _Computed:
    return lambda bits, of: _exact(bits, of[0].plus(of[1], factor))


def _exact(bits: int, value: Value) -> Value | None:
    """Carries are lost where less than all bits of a number are known."""
    return value if bits == 64 or not value.parts else None


def _bitwise(compute: Callable[[int, int], int]) -> _Computed:
    def computed(bits: int, of: Sequence[Value]) -> Value | None:
        if of[0] == of[1]:
            return _ZERO if compute(1, 1) == 0 else of[0]
        return None if of[0].parts or of[1].parts else Value(compute(of[0].constant, of[1].constant) & _ALL)

    return computed


def _shifted(compute: Callable[[int, int, int], int]) -> _Computed:
    def computed(bits: int, of: Sequence[Value]) -> Value | None:
        if of[0].parts or of[1].parts:
            return None
        return Value(compute(of[0].constant, of[1].constant & (63 if bits == 64 else 31), bits) & _ALL)

    return computed


def _shifted_left(bits: int, of: Sequence[Value]) -> Value | None:
    if of[1].parts:
        return None
    return _exact(bits, _ZERO.plus(of[0], 1 << (of[1].constant & (63 if bits == 64 else 31))))


def _product(bits: int, of: Sequence[Value]) -> Value | None:
    if len(of) < 2:
        return None
    first, second = of[-2:]
    if first.parts and second.parts:
        return None
    return _exact(
        bits, _ZERO.plus(first, second.constant) if not second.parts else _ZERO.plus(second, first.constant)
    )


def _equal(bits: int, of: Sequence[Value]) -> Value | None:
    return _exact(bits, of[0]) if of[0] == of[1] else None


_CONDITIONS = "a ae b be e g ge l le ne no np ns o p s"
_EXACT: Mapping[str, _Computed] = {
    "mov": lambda _bits, of: of[1],
    "movzx": lambda _bits, of: of[1],
    "movsx": lambda _bits, of: of[1],
    "movsxd": lambda _bits, of: of[1],
    "inc": lambda bits, of: _exact(bits, of[0].plus(Value(1))),
    "dec": lambda bits, of: _exact(bits, of[0].plus(Value(1), -1)),
    "neg": lambda bits, of: _exact(bits, _ZERO.plus(of[0], -1)),
    "not": lambda bits, of: _exact(bits, Value(_ALL).plus(of[0], -1)),
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
