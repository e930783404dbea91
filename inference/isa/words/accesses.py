"""A decoded instruction of one word, and the locations that it reads and writes by the operands of its form.

A location is `general 3`, `vector 5` or `flag n`. A register that is always 0 is none: nothing waits for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from inference.isa.code.control_flow import Flow
from inference.isa.dependences import CODE, InstructionAccesses, MemoryPlace, OperandAccess
from inference.isa.scheme import TIMED_BY_VALUES, Operand, Scheme

GENERAL, VECTOR, FLOAT, ZERO = "general", "vector", "float", "zero"
"""Banks of registers; `FLOAT`: floating-point registers that are no vectors; `ZERO`: what is always 0."""

ZERO_NUMBER = 31
"""Number of the operand of the bank `ZERO`."""


class RegisterPart(NamedTuple):
    """A register, or a part of one, as an operand.

    Attributes:
        bank: `GENERAL`, `VECTOR`, `FLOAT`, or `ZERO` for what reads as 0 and keeps nothing.
        number: Number of the register, of several ones of the first; behind 31 follows 0.
        bits: All bits that the operand has: of the element, of all registers of a list.
        span: Number of registers.
        element: Index of the element in each of them, None for the registers' low bits.
    """

    bank: str
    number: int
    bits: int
    span: int = 1
    element: int | None = None


@dataclass(frozen=True, slots=True)  # no tuple: these have a method `index`
class InMemory:
    """A memory operand, or an address that is only computed.

    Attributes:
        base: Number of the general-purpose register; None: the instruction's own address.
        index: Added to the base; behind a moving base it is what the base moves by.
        extend: How the index is extended: `lsl` (not at all), `uxtw`, `sxtw`, `sxtx`; "" without index.
        shift: Bits by which the index is shifted.
        displacement: Displacement in bytes; of a moving base what it moves by.
        bits: Accessed bits, 0 for an address.
        moves: `pre`, `post` or "": whether the base is moved before or after the access.
        page: The displacement counts from the start of the instruction's page of 4 KiB.
    """

    base: int | None
    index: RegisterPart | None = None
    extend: str = ""
    shift: int = 0
    displacement: int = 0
    bits: int = 0
    moves: str = ""
    page: bool = False


class NamedImmediate(NamedTuple):
    """An immediate that is no plain number: a shift, an extension, a condition, a name.

    Attributes:
        word: `lsl`, `sxtw`, `eq`, `ish`, …; "" for a floating-point number.
        value: Value of the shift; of others the number that is encoded.
    """

    word: str
    value: float = 0


OperandValue = RegisterPart | InMemory | NamedImmediate | int | None
"""None: the operand is fixed by the scheme, such as `#0`."""


class DecodedInstruction(NamedTuple):
    """An instruction of one word.

    Attributes:
        word: The machine code as a number.
        mnemonic: Mnemonic as the disassembler writes it (`cmp`, not `subs`); "" where the word is none that
            is known.
        scheme: The text of its scheme, None without one.
        form: The scheme, with the accesses of its operands; None for an unknown word.
        operands: The values of the form's explicit operands, in the order of `form.operands`.
        flow: See `CodeStep`.
        distance: Bytes from the instruction to the target of a direct jump or call; None without.
        obstacle: Why it cannot be part of a measured block, "" where it can; the end of a sentence.
        reason: Why it has no scheme, "" where it has one; the end of a sentence.
        size: Bytes of the machine code.
    """

    word: int
    mnemonic: str
    scheme: str | None
    form: Scheme | None
    operands: tuple[OperandValue, ...]
    flow: Flow
    distance: int | None
    obstacle: str
    reason: str
    size: int = 4

    @property
    def code(self) -> bytes:
        return self.word.to_bytes(self.size, "little")


ADDRESS, INDEX, DATA, BASE, FLAGS = "address", "index", "data", "base", "flags"
"""Names of the parts of operands, as in `ChainLink`."""

_REGISTERS = 32  # of a bank; behind the last one follows the first
_CACHED_INSTRUCTIONS = 1 << 14


def location_of(bank: str, number: int) -> str:
    return f"{bank} {number}"


def locations_of(part: RegisterPart) -> tuple[str, ...]:
    """The registers of an operand; none for one that is always 0."""
    if part.bank == ZERO:
        return ()
    return tuple(location_of(part.bank, (part.number + k) % _REGISTERS) for k in range(part.span))


@lru_cache(maxsize=_CACHED_INSTRUCTIONS)
def word_accesses(decoded: DecodedInstruction) -> InstructionAccesses:
    """All accesses but the addresses in memory, which depend on the block; none for an unknown word."""
    form = decoded.form
    if form is None:
        return InstructionAccesses(None, (), ())
    reads: list[OperandAccess] = []
    writes: list[OperandAccess] = []
    places = [operand for operand in form.operands if not operand.implicit]
    for number, (operand, value) in enumerate(zip(places, decoded.operands, strict=True), start=1):
        if isinstance(value, InMemory):
            reads += _address_reads(str(number), value)
        for access in _data_accesses(str(number), operand, value):
            reads += [access] if "R" in operand.access else []
            writes += [access] if "W" in operand.access else []
    for operand in form.operands:
        for access in _implicit_accesses(operand, decoded) if operand.implicit else ():
            # The address is what reads a moving base.
            reads += [access] if "R" in operand.access and access.operand != BASE else []
            writes += [access] if "W" in operand.access else []
    registers = [value for value in decoded.operands if isinstance(value, RegisterPart)]
    locations = [location for part in registers for location in locations_of(part)]
    return InstructionAccesses(
        decoded.scheme,
        tuple(reads),
        tuple(writes),
        same_register=len(registers) > 1 and len({(part.bank, part.number) for part in registers}) == 1,
        vector=any(location.startswith((VECTOR, FLOAT)) for location in locations),
        by_values=form.category in TIMED_BY_VALUES,
        only_loads=_only_loads(reads, writes),
    )


def _only_loads(reads: Iterable[OperandAccess], writes: Iterable[OperandAccess]) -> bool:
    """Whether a load uses nothing but its address: on machines of words, such ones compute nothing else."""
    reads_memory = any(access.memory is not None for access in reads)
    sources = (access.operand for access in reads if access.memory is None)
    return (
        reads_memory
        and all(source.endswith((ADDRESS, INDEX)) for source in sources)
        and all(access.memory is None for access in writes)
    )


def _address_reads(name: str, place: InMemory) -> Iterator[OperandAccess]:
    if place.base is not None:
        yield OperandAccess(f"{name} {ADDRESS}", location_of(GENERAL, place.base))
    if place.index is not None:
        yield from (OperandAccess(f"{name} {INDEX}", location) for location in locations_of(place.index))


def _data_accesses(name: str, operand: Operand, value: OperandValue) -> Iterator[OperandAccess]:
    if isinstance(value, RegisterPart):
        yield from (OperandAccess(name, location) for location in locations_of(value))
    elif isinstance(value, InMemory) and operand.kind == "memory":
        yield OperandAccess(f"{name} {DATA}", memory=memory_place(value))


def _implicit_accesses(operand: Operand, decoded: DecodedInstruction) -> Iterator[OperandAccess]:
    if operand.kind == "flags":
        yield from (OperandAccess(FLAGS, f"flag {name}") for name in operand.registers)
    elif operand.name == BASE:
        place = next(value for value in decoded.operands if isinstance(value, InMemory))
        if place.base is not None:
            yield OperandAccess(BASE, location_of(GENERAL, place.base))
    else:
        for name in operand.registers:
            yield OperandAccess(operand.name, location_of(GENERAL, int(name[1:])))


def memory_place(place: InMemory) -> MemoryPlace:
    """The access at an unknown address; a base that moves behind it is accessed where it is."""
    registers: Counter[str] = Counter()
    registers[CODE if place.base is None else location_of(GENERAL, place.base)] += 1
    behind = place.moves == "post"
    if place.index is not None and not behind:
        for location in locations_of(place.index):
            registers[location] += 1 << place.shift
    displacement = 0 if behind else place.displacement
    return MemoryPlace(None, 0, place.bits, None, 0, tuple(sorted(registers.items())), displacement)
