"""Changes of blocks of words that show why tools disagree about them (`inference.isa.block_changes`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from inference.isa.block_changes import (
    BlockChange,
    Carrier,
    CarrierKind,
    CarrierRole,
    ChangeKind,
    CuttableBlock,
)
from inference.isa.code.block import BlockError
from inference.isa.dependences import InstructionAccesses, MemoryPlace
from inference.isa.words.accesses import (
    GENERAL,
    ZERO,
    ZERO_NUMBER,
    DecodedInstruction,
    OperandValue,
    RegisterPart,
    location_of,
    word_accesses,
)
from inference.isa.words.table import WordTable

_REGISTERS = 32  # of each bank
_WORD_BYTES = 4
_FLAG = "flag "


class ChangeLanguage(NamedTuple):
    """The instructions of an instruction set that changes of blocks consist of, as words.

    Attributes:
        decoded: The instructions of machine code.
        table: Encodes instructions.
        pointers: Registers with addresses in order of preference: sampled blocks address memory through the
            first ones.
        stack_pointer: Its number.
        no_op: An instruction without effect.
        cut: An instruction that writes a register of a bank, given its number and the number of a pointer.
        compare: One that writes all flags, given the number of a pointer; None where there are no flags.
        move: One that writes a register of a bank from another one: bank, number, number of the source.
        register_name: The name of a register of a bank, by its number.
    """

    decoded: Callable[[bytes], Sequence[DecodedInstruction]]
    table: Callable[[], WordTable]
    pointers: Sequence[int]
    stack_pointer: int
    no_op: int
    cut: Callable[[str, int, int], int]
    compare: Callable[[int], int] | None
    move: Callable[[str, int, int], int]
    register_name: Callable[[str, int], str]


class WordChanger:
    """The facet of changes of an instruction set of words (`inference.isa.block_facets.BlockChanger`)."""

    def __init__(self, language: ChangeLanguage) -> None:
        self._language = language

    def changed_block(self, code: bytes, *, executes: bool = False) -> ChangedWordBlock:
        """The block and its changes. Raises `BlockError` for code that is no basic block."""
        return ChangedWordBlock(code, self._language, executes=executes)


class ChangedWordBlock(CuttableBlock):
    """See `inference.isa.block_changes.ChangedBlock`. Raises `BlockError` for code that is no basic block.

    `executes`: the changed blocks are executed, so that the stack pointer must not change.
    """

    def __init__(self, code: bytes, language: ChangeLanguage, *, executes: bool = False) -> None:
        self._language = language
        self._instructions = list(language.decoded(code))
        steps = [step.code for step in self._instructions]
        if b"".join(steps) != code or any(step.form is None for step in self._instructions) or not steps:
            raise BlockError("these bytes are no basic block")
        self._accesses = [word_accesses(step) for step in self._instructions]
        self._written = {
            access.location for step in self._accesses for access in step.writes if access.location
        }
        self._pointer = next(
            (number for number in language.pointers if location_of(GENERAL, number) not in self._written),
            None,
        )
        breakers: dict[Carrier, bytes] = {}
        readers: dict[Carrier, Sequence[int]] = {}
        for carrier, locations, word in self._carriers(executes=executes):
            breakers[carrier] = _bytes(word)
            readers[carrier] = [n for n, step in enumerate(self._accesses) if _reads(step, locations)]
        super().__init__(steps, breakers, readers, _bytes(language.no_op))

    def loads_before_stores(self) -> list[BlockChange]:
        loads = [step.loads for step in self._accesses]
        stores = [any(access.memory is not None for access in step.writes) for step in self._accesses]
        mixed = any(both for both in zip(loads, stores, strict=True) if all(both))
        if self.copies == 1 or mixed or not (any(loads) and any(stores)):
            return []
        steps = list(zip(self._steps, stores, strict=True))
        first = b"".join(code for code, is_store in steps if not is_store)
        last = b"".join(code for code, is_store in steps if is_store)
        code = first * self.copies + last * self.copies
        return [BlockChange(ChangeKind.LOADS_FIRST, code, self.copies)]

    def registers_for_loads(self) -> list[BlockChange]:
        if self._is_loaded_again or self._pointer is None:
            return []
        steps = [self._without_load(number, self._pointer) for number in range(len(self._steps))]
        if not any(steps):
            return []
        code = b"".join(step or unchanged for step, unchanged in zip(steps, self._steps, strict=True))
        return [BlockChange(ChangeKind.REGISTERS, code * self.copies, self.copies)]

    def _without_load(self, number: int, pointer: int) -> bytes:
        """Moves from registers that the block does not write, in place of a load; b"" for another
        instruction, and where a part of a register is loaded, a list of them, the base moves, or no register
        is free.
        """
        step, form = self._instructions[number], self._instructions[number].form
        if form is None or not self._accesses[number].loads or any(part.implicit for part in form.operands):
            return b""
        words = []
        for operand, value in zip(form.operands, step.operands, strict=True):
            if isinstance(value, RegisterPart):
                source = pointer if value.bank in (GENERAL, ZERO) else self._free(value.bank, 1)
                if operand.access != "W" or value.span > 1 or source is None:
                    return b""
                is_zero = value.bank == ZERO
                move = self._language.move(value.bank, value.number, source)
                words.append(self._language.no_op if is_zero else move)
        return b"".join(map(_bytes, words))

    def _carriers(self, *, executes: bool) -> Iterator[tuple[Carrier, frozenset[object], int]]:
        """Each carrier with its locations, and the word of the instruction that cuts it."""
        if self._pointer is None:
            return
        language = self._language
        flags = frozenset(name for step in self._accesses for name in _flags(step))
        for location in sorted(self._written - flags, key=_bank_and_number):
            bank, number = _bank_and_number(location)
            is_stack = (bank, number) == (GENERAL, language.stack_pointer)
            if is_stack and executes:
                continue
            kind = CarrierKind.STACK if is_stack else CarrierKind.REGISTER
            name = language.register_name(bank, number)
            cut = language.cut(bank, number, self._pointer)
            yield self._with_role(kind, name, frozenset({location}), cut)
        if flags and language.compare is not None:
            yield self._with_role(CarrierKind.FLAGS, "flags", flags, language.compare(self._pointer))
        for number, place in self._stored_places():
            word = self._store_of_other_data(self._instructions[number])
            if word is not None:
                yield self._with_role(CarrierKind.MEMORY, self._name_of(place), frozenset({place}), word)

    def _with_role(
        self, kind: CarrierKind, name: str, locations: frozenset[object], word: int
    ) -> tuple[Carrier, frozenset[object], int]:
        writers = tuple(n for n, step in enumerate(self._accesses) if _writes(step, locations))
        readers = [n for n, step in enumerate(self._accesses) if _reads(step, locations)]
        if {*writers} & {*readers}:
            role = CarrierRole.ACCUMULATOR
        else:
            role = CarrierRole.BETWEEN if readers else CarrierRole.RESULT
        return Carrier(kind, name, role, writers), locations, word

    def _stored_places(self) -> list[tuple[int, MemoryPlace]]:
        """(instruction, place) of each store at an address that the block does not change."""
        places: dict[MemoryPlace, int] = {}
        for number, step in enumerate(self._accesses):
            for access in step.writes:
                place = access.memory
                if place is not None and not {name for name, _ in place.registers} & self._written:
                    places.setdefault(place, number)
        return [(number, place) for place, number in places.items()]

    def _store_of_other_data(self, step: DecodedInstruction) -> int | None:
        """The store with data that the block does not write; None where too few registers are free."""
        if step.form is None:
            return None
        operands: list[OperandValue] = list(step.operands)
        for place, value in enumerate(step.operands):
            if isinstance(value, RegisterPart) and value.bank not in (GENERAL, ZERO):
                free = self._free(value.bank, value.span)
                if free is None:
                    return None
                operands[place] = value._replace(number=free)
            elif isinstance(value, RegisterPart):
                operands[place] = value._replace(bank=ZERO, number=ZERO_NUMBER)
        forms = self._language.table().by_text
        form = forms.get(step.scheme or "", forms[step.form.text])  # a compressed store has fewer registers
        return form.word(operands)

    def _free(self, bank: str, span: int) -> int | None:
        """The first of so many registers in a row that the block does not write; None without."""
        return next(
            (
                number
                for number in range(_REGISTERS - span, -1, -1)
                if not {location_of(bank, number + k) for k in range(span)} & self._written
            ),
            None,
        )

    def _name_of(self, place: MemoryPlace) -> str:
        parts = [
            self._language.register_name(*_bank_and_number(name)) + (f"*{scale}" if scale > 1 else "")
            for name, scale in place.registers
        ]
        return f"[{', '.join([*parts, f'#{place.displacement}'] if place.displacement else parts)}]"


def _flags(step: InstructionAccesses) -> Iterator[str]:
    """The flags that an instruction reads or writes."""
    for access in (*step.reads, *step.writes):
        if access.location.startswith(_FLAG):
            yield access.location


def _reads(step: InstructionAccesses, locations: frozenset[object]) -> bool:
    return any(access.location in locations or _is_among(access.memory, locations) for access in step.reads)


def _writes(step: InstructionAccesses, locations: frozenset[object]) -> bool:
    return any(access.location in locations or access.memory in locations for access in step.writes)


def _is_among(place: MemoryPlace | None, locations: frozenset[object]) -> bool:
    """Whether a place in memory overlaps one of the locations, judging by how their addresses are written."""
    return place is not None and any(
        isinstance(location, MemoryPlace)
        and location.registers == place.registers
        and location.displacement < place.displacement + place.bits // 8
        and place.displacement < location.displacement + location.bits // 8
        for location in locations
    )


def _bank_and_number(location: str) -> tuple[str, int]:
    bank, _, number = location.partition(" ")
    return bank, int(number)


def _bytes(word: int) -> bytes:
    return word.to_bytes(_WORD_BYTES, "little")
