"""Schemes of AArch64 in sampled blocks, and their instructions with chosen operands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from random import Random

from inference.isa.aarch64.allocation import MEMORY, AArch64Allocator
from inference.isa.aarch64.decoding import WORD_BYTES, decode, table
from inference.isa.aarch64.sampling.slots import INDEX, NumberedRegister, WordSlots, slots
from inference.isa.encodings import WORD_BITS
from inference.isa.operand_slots import (
    Address,
    ChoiceError,
    Content,
    DecodedOperands,
    FilledInstruction,
    Filling,
    Slots,
)
from inference.isa.scheme import Scheme
from inference.isa.words.accesses import GENERAL, InMemory, OperandValue, RegisterPart
from inference.isa.words.allocation import AllocationError

_IRRELEVANT_REASONS = (
    "each copy waits for the flags",
    "its time depends on the values",
    "goes past the caches",
)
"""Prefixes of reasons against measuring copies of a scheme that do not apply to blocks."""

_ATTEMPTS = 10_000
"""Random words until one has the scheme; few schemes need more than ten."""
_FIRST_VALUE = 3


@dataclass(frozen=True, eq=False)
class AArch64BlockScheme:
    scheme: Scheme

    @cached_property
    def slots(self) -> WordSlots:
        free = slots(self.scheme)
        return replace(free, distinct=tuple(sorted({*free.distinct, *self._telling(free.registers)})))

    def _telling(self, registers: Sequence[NumberedRegister]) -> Iterator[int]:
        """Registers that are equal in a more special scheme only: `csinc` with equal sources is `cinc`."""
        for (first, slot), (second, other) in combinations(enumerate(registers), 2):
            if (slot.bank, slot.span) == (other.bank, other.span):
                operands = list(self.pattern)
                for number, register in enumerate(registers):
                    operands[register.place] = _register(operands[register.place], register.bank, number)
                operands[other.place] = _register(operands[other.place], other.bank, first)
                word = table().by_text[self.scheme.text].word(operands)
                if word is not None and decode(word).scheme != self.scheme.text:
                    yield from (first, second)

    @property
    def prefix(self) -> str:
        return ""

    @property
    def isa_sets(self) -> Sequence[str]:
        return self.scheme.extension.split("+")

    @property
    def extension_family(self) -> str:
        return self.scheme.extension

    def obstacle(self, groups: frozenset[str]) -> str:
        """Why blocks do not contain it; there are no groups to request."""
        return "" if self.scheme.exclusion.startswith(_IRRELEVANT_REASONS) else self.scheme.exclusion

    @cached_property
    def pattern(self) -> tuple[OperandValue, ...]:
        """The explicit operands of an instruction of this scheme and of no more special one."""
        form = table().by_text[self.scheme.text]
        fields = [field for field, _ in form.fields]
        random = Random(self.scheme.text)  # noqa: S311 (nothing is secret here)
        for attempt in range(_ATTEMPTS):
            values = {
                field.place: random.getrandbits(WORD_BITS) if attempt else _FIRST_VALUE for field in fields
            }
            word = form.encoding.match
            for field in fields:
                word |= field.placed(values[field.place])
            instruction = decode(word)
            if instruction.scheme == self.scheme.text:
                return instruction.operands
        raise LookupError(f"no word is an instruction of {self.scheme.text}")


def filler(schemes: Sequence[AArch64BlockScheme]) -> Callable[[int, Filling], FilledInstruction]:
    """A function that encodes instructions of these schemes; see `OperandChooser`."""
    forms = [table().by_text[member.scheme.text] for member in schemes]

    def filled(number: int, filling: Filling) -> FilledInstruction:
        member = schemes[number]
        operands = list(member.pattern)
        contents: list[Content] = []
        for slot, family in zip(member.slots.registers, filling, strict=False):  # memory comes after them
            assert isinstance(family, int), "registers are chosen by number"
            operands[slot.place] = _register(operands[slot.place], slot.bank, family)
            contents.append(slot.units[family])
        place = member.slots.memory_place
        if place is not None:
            address, memory = filling[-1], operands[place]
            assert isinstance(address, Address), "memory is chosen by address"
            assert isinstance(memory, InMemory), "the slot is of memory"
            displacement = address.displacement - 2**64 * (address.displacement >> 63)
            index = None if memory.index is None else _register(memory.index, GENERAL, INDEX)
            operands[place] = replace(memory, base=address.base - 1, index=index, displacement=displacement)
            contents.append(address)
        word = forms[number].word(operands)
        assert word is not None, "slots have the registers and addresses that can be encoded"
        return tuple(contents), word.to_bytes(WORD_BYTES, "little")

    return filled


def _register(operand: OperandValue, bank: str, number: int) -> RegisterPart:
    """The register operand with another register."""
    assert isinstance(operand, RegisterPart), "the slot is of a register"
    return operand._replace(bank=bank, number=number)


def independent_fillings(schemes: Sequence[AArch64BlockScheme]) -> list[Filling]:
    """Operands for predictors without dependencies (Algorithm 3.1). Raises `ChoiceError`."""
    demands = [member.slots.demands for member in schemes]
    try:
        allocator = AArch64Allocator(demands)
    except AllocationError as error:
        raise ChoiceError from error
    return [_filling(member.slots, allocator) for member in schemes]


def _filling(slots: WordSlots, allocator: AArch64Allocator) -> Filling:
    registers = allocator.registers(slots.demands)
    if not slots.memories:
        return tuple(registers)
    indices = slots.memories[0].indices
    if slots.demands.memory:
        return (*registers, Address(MEMORY + 1, indices, 1, allocator.slot(slots.demands) % 2**64))
    *registers, base = registers
    return (*registers, Address(base + 1, indices))


def decode_operands(code: bytes, slots: Mapping[str, Slots]) -> Iterator[DecodedOperands | None]:
    """The instructions of the code, a word each; see `OperandChooser`."""
    for begin in range(0, len(code), WORD_BYTES):
        part = code[begin : begin + WORD_BYTES]
        yield _decoded_operands(part, slots) if len(part) == WORD_BYTES else None


def _decoded_operands(code: bytes, slots: Mapping[str, Slots]) -> DecodedOperands | None:
    instruction = decode(int.from_bytes(code, "little"))
    if instruction.scheme is None or instruction.scheme not in slots:
        return None
    encoded = slots[instruction.scheme]
    assert isinstance(encoded, WordSlots), "slots of another instruction set"
    return instruction.scheme, encoded.contents(instruction.operands), code
