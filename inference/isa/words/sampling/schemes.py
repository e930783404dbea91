"""Schemes of instructions of words in sampled blocks, and their instructions with chosen operands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import combinations
from random import Random
from typing import NamedTuple

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
from inference.isa.words.accesses import GENERAL, DecodedInstruction, InMemory, OperandValue, RegisterPart
from inference.isa.words.allocation import OperandDemands, WordAllocationError, WordAllocator
from inference.isa.words.sampling.slots import NumberedRegister, OperandLayout, WordSlots, slots
from inference.isa.words.table import WordForm, WordTable

_IRRELEVANT_REASONS = (
    "each copy waits for the flags",
    "its time depends on the values",
    "goes past the caches",
)
"""Prefixes of reasons against measuring copies of a scheme that do not apply to blocks."""

_ATTEMPTS = 10_000
"""Random words until one has the scheme; few schemes need more than ten."""
_FIRST_VALUE = 3
_WORD_BYTES = WORD_BITS // 8


class WordLanguage(NamedTuple):
    """An instruction set of words, as far as sampled blocks need it.

    Attributes:
        schemes: All schemes.
        obstacle: Why no block contains a scheme, beside its exclusion; "" for none.
        layout: Registers and memory of blocks.
        table: Decodes and encodes words.
        decoded: The instructions of machine code; bytes that are none have no scheme.
        allocator: Chooses operands without dependencies. Raises `WordAllocationError`.
        memory: Number of the register that points to the middle of the memory.
    """

    schemes: Callable[[], Sequence[Scheme]]
    obstacle: Callable[[Scheme], str]
    layout: OperandLayout
    table: Callable[[], WordTable]
    decoded: Callable[[bytes], Sequence[DecodedInstruction]]
    allocator: Callable[[Sequence[OperandDemands]], WordAllocator]
    memory: int


@dataclass(frozen=True, eq=False)
class WordBlockScheme:
    scheme: Scheme
    language: WordLanguage

    @cached_property
    def slots(self) -> WordSlots:
        free = slots(self.scheme, self.language.layout)
        return replace(
            free, distinct=tuple(sorted({*free.distinct, *self._distinguishing_registers(free.registers)}))
        )

    @property
    def form(self) -> WordForm:
        return self.language.table().by_text[self.scheme.text]

    def _distinguishing_registers(self, registers: Sequence[NumberedRegister]) -> Iterator[int]:
        """Registers that are equal in a more special scheme only: `csinc` with equal sources is `cinc`."""
        for (first, slot), (second, other) in combinations(enumerate(registers), 2):
            if (slot.bank, slot.count) == (other.bank, other.count):
                operands = list(self.pattern)
                for number, register in enumerate(registers, start=1):  # some sets name 0 the zero register
                    operands[register.place] = _register(operands[register.place], register.bank, number)
                operands[other.place] = _register(operands[other.place], other.bank, first + 1)
                word = self.form.word(operands)
                if word is not None and self._scheme_of(word) != self.scheme.text:
                    yield from (first, second)

    def _scheme_of(self, word: int) -> str | None:
        (instruction,) = self.language.decoded(word.to_bytes(_WORD_BYTES, "little"))
        return instruction.scheme

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
        reason = self.scheme.exclusion
        return self.language.obstacle(self.scheme) or (
            "" if reason.startswith(_IRRELEVANT_REASONS) else reason
        )

    @cached_property
    def pattern(self) -> tuple[OperandValue, ...]:
        """The explicit operands of an instruction of this scheme and of no more special one."""
        form = self.form
        fields = [field for field, _ in form.fields]
        random = Random(self.scheme.text)  # noqa: S311 (nothing is secret here)
        for attempt in range(_ATTEMPTS):
            values = {
                field.place: random.getrandbits(WORD_BITS) if attempt else _FIRST_VALUE for field in fields
            }
            word = form.encoding.match
            for field in fields:
                word |= field.placed(values[field.place])
            if self._scheme_of(word) == self.scheme.text and (operands := form.operands(word)) is not None:
                return operands
        raise LookupError(f"no word is an instruction of {self.scheme.text}")


class WordSampling:
    """The operand facet of an instruction set of words (`inference.isa.operand_slots.OperandChooser`)."""

    def __init__(self, language: WordLanguage) -> None:
        self._language = language
        self.names = language.layout.names

    @cache  # noqa: B019  there is one for each instruction set
    def block_schemes(self) -> Mapping[str, WordBlockScheme]:
        return {scheme.text: WordBlockScheme(scheme, self._language) for scheme in self._language.schemes()}

    def block_scheme(self, text: str) -> WordBlockScheme | None:
        """The scheme of a text, None where there is none."""
        return self.block_schemes().get(text)

    def filler(self, schemes: Sequence[WordBlockScheme]) -> Callable[[int, Filling], FilledInstruction]:
        """A function that encodes instructions of these schemes; see `OperandChooser`."""
        forms = [member.form for member in schemes]

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
                address = filling[-1]
                assert isinstance(address, Address), "memory is chosen by address"
                operands[place] = _move_operand(
                    operands[place], address, self._language.layout.index_register
                )
                contents.append(address)
            word = forms[number].word(operands)
            assert word is not None, "slots have the registers and addresses that can be encoded"
            return tuple(contents), word.to_bytes(_WORD_BYTES, "little")

        return filled

    def independent_fillings(self, schemes: Sequence[WordBlockScheme]) -> list[Filling]:
        """Operands for predictors without dependencies (Algorithm 3.1). Raises `ChoiceError`."""
        demands = [member.slots.demands for member in schemes]
        try:
            allocator = self._language.allocator(demands)
        except WordAllocationError as error:
            raise ChoiceError from error
        return [self._fill(member.slots, allocator) for member in schemes]

    def _fill(self, slots: WordSlots, allocator: WordAllocator) -> Filling:
        registers = allocator.registers(slots.demands)
        if not slots.memories:
            return tuple(registers)
        indices = slots.memories[0].indices
        if slots.demands.memory:
            slot = allocator.slot(slots.demands) % 2**64
            return (*registers, Address(self._language.memory + 1, indices, 1, slot))
        *registers, base = registers
        return (*registers, Address(base + 1, indices))

    def decode_operands(self, code: bytes, slots: Mapping[str, Slots]) -> Iterator[DecodedOperands | None]:
        """The instructions of the code; see `OperandChooser`."""
        begin = 0
        for instruction in self._language.decoded(code):
            end = begin + instruction.size
            yield _decoded_operands(instruction, code[begin:end], slots)
            begin = end
        if begin < len(code):
            yield None


def _decoded_operands(
    instruction: DecodedInstruction, code: bytes, slots: Mapping[str, Slots]
) -> DecodedOperands | None:
    if instruction.scheme is None or instruction.scheme not in slots:
        return None
    encoded = slots[instruction.scheme]
    assert isinstance(encoded, WordSlots), "slots of another instruction set"
    return instruction.scheme, encoded.contents(instruction.operands), code


def _move_operand(operand: OperandValue, address: Address, index_number: int) -> InMemory:
    """The memory operand at another address."""
    assert isinstance(operand, InMemory), "the slot is of memory"
    displacement = address.displacement - 2**64 * (address.displacement >> 63)
    index = None if operand.index is None else _register(operand.index, GENERAL, index_number)
    return replace(operand, base=address.base - 1, index=index, displacement=displacement)


def _register(operand: OperandValue, bank: str, number: int) -> RegisterPart:
    """The register operand with another register."""
    assert isinstance(operand, RegisterPart), "the slot is of a register"
    return operand._replace(bank=bank, number=number)
