"""Changes of AArch64 blocks that show why tools disagree about them (`inference.isa.block_changes`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from inference.isa.aarch64 import STACK_POINTER
from inference.isa.aarch64.decoding import WORD_BYTES, decoded, table
from inference.isa.aarch64.sampling import LAYOUT
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
    VECTOR,
    ZERO,
    ZERO_NUMBER,
    DecodedInstruction,
    OperandValue,
    RegisterPart,
    location_of,
    word_accesses,
)

__all__ = ["changed_block"]

_FLAGS = frozenset(f"flag {name}" for name in "nzcv")
_POINTERS = (*LAYOUT.bases, 27, *LAYOUT.plain_bases, *range(18))
"""Registers with addresses in order of preference: sampled blocks address memory through the first ones."""

_VECTORS = range(32)
_NO_OP = 0xD503201F
_ADD = 0x91000000  # add x0, x0, #0
_COMPARE = 0xEB00001F  # cmp x0, x0
_LOAD_VECTOR = 0x3DC00000  # ldr q0, [x0]
_MOVE_VECTOR = 0x4EA01C00  # mov v0.16b, v0.16b
_SOURCE, _SECOND_SOURCE = 5, 16  # lowest bits of the fields


def changed_block(code: bytes, *, executes: bool = False) -> AArch64ChangedBlock:
    """The block and its changes. Raises `BlockError` for code that is no basic block."""
    return AArch64ChangedBlock(code, executes=executes)


class AArch64ChangedBlock(CuttableBlock):
    """See `inference.isa.block_changes.ChangedBlock`. Raises `BlockError` for code that is no basic block.

    `executes`: the changed blocks are executed, so that the stack pointer must not change.
    """

    def __init__(self, code: bytes, *, executes: bool = False) -> None:
        self._instructions = [] if len(code) % WORD_BYTES else decoded(code)
        if not self._instructions or any(step.form is None for step in self._instructions):
            raise BlockError("these bytes are no basic block")
        self._accesses = [word_accesses(step) for step in self._instructions]
        self._written = {
            access.location for step in self._accesses for access in step.writes if access.location
        }
        self._pointer = next(
            (number for number in _POINTERS if location_of(GENERAL, number) not in self._written), None
        )
        breakers: dict[Carrier, bytes] = {}
        readers: dict[Carrier, Sequence[int]] = {}
        for carrier, locations, word in self._carriers(executes=executes):
            breakers[carrier] = _bytes(word)
            readers[carrier] = [n for n, step in enumerate(self._accesses) if _reads(step, locations)]
        steps = [_bytes(step.word) for step in self._instructions]
        super().__init__(steps, breakers, readers, _bytes(_NO_OP))

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
        vector = self._free_vectors(1)
        if self._is_loaded_again or self._pointer is None or vector is None:
            return []
        steps = [self._without_load(number, self._pointer, vector) for number in range(len(self._steps))]
        if not any(steps):
            return []
        code = b"".join(step or own for step, own in zip(steps, self._steps, strict=True))
        return [BlockChange(ChangeKind.REGISTERS, code * self.copies, self.copies)]

    def _without_load(self, number: int, pointer: int, vector: int) -> bytes:
        """Moves from registers that the block does not write, in place of a load; b"" for another
        instruction, and where a part of a register is loaded, a list of them, or the base moves.
        """
        step, form = self._instructions[number], self._instructions[number].form
        if form is None or not self._accesses[number].loads or any(part.implicit for part in form.operands):
            return b""
        words = []
        for operand, value in zip(form.operands, step.operands, strict=True):
            if isinstance(value, RegisterPart):
                if operand.access != "W" or value.span > 1:
                    return b""
                words.append(_move(value, pointer, vector))
        return b"".join(map(_bytes, words))

    def _carriers(self, *, executes: bool) -> Iterator[tuple[Carrier, frozenset[object], int]]:
        """Each carrier with its locations, and the word of the instruction that cuts it."""
        if self._pointer is None:
            return
        for location in sorted(self._written - _FLAGS, key=_bank_and_number):
            bank, number = _bank_and_number(location)
            is_stack = (bank, number) == (GENERAL, STACK_POINTER)
            if is_stack and executes:
                continue
            kind = CarrierKind.STACK if is_stack else CarrierKind.REGISTER
            name = "sp" if is_stack else f"{'x' if bank == GENERAL else 'v'}{number}"
            first = _ADD if bank == GENERAL else _LOAD_VECTOR
            yield self._with_role(
                kind, name, frozenset({location}), first | self._pointer << _SOURCE | number
            )
        if any(_reads(step, _FLAGS) or _writes(step, _FLAGS) for step in self._accesses):
            compare = _COMPARE | self._pointer << _SOURCE | self._pointer << _SECOND_SOURCE
            yield self._with_role(CarrierKind.FLAGS, "flags", _FLAGS, compare)
        for number, place in self._stored_places():
            word = self._store_of_other_data(self._instructions[number])
            if word is not None:
                yield self._with_role(CarrierKind.MEMORY, _name_of(place), frozenset({place}), word)

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
            if isinstance(value, RegisterPart) and value.bank == VECTOR:
                free = self._free_vectors(value.span)
                if free is None:
                    return None
                operands[place] = value._replace(number=free)
            elif isinstance(value, RegisterPart):
                operands[place] = value._replace(bank=ZERO, number=ZERO_NUMBER)
        return table().by_text[step.form.text].word(operands)

    def _free_vectors(self, span: int) -> int | None:
        """The first of so many registers in a row that the block does not write; None without."""
        return next(
            (
                number
                for number in reversed(_VECTORS[: len(_VECTORS) - span + 1])
                if not {location_of(VECTOR, number + k) for k in range(span)} & self._written
            ),
            None,
        )


def _move(register: RegisterPart, pointer: int, vector: int) -> int:
    """A move to the register from one of these."""
    if register.bank == ZERO:
        return _NO_OP
    if register.bank == GENERAL:
        return _ADD | pointer << _SOURCE | register.number
    return _MOVE_VECTOR | vector << _SECOND_SOURCE | vector << _SOURCE | register.number


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


def _name_of(place: MemoryPlace) -> str:
    parts = [
        f"x{name.partition(' ')[2]}" + (f"*{scale}" if scale > 1 else "") for name, scale in place.registers
    ]
    return f"[{', '.join([*parts, f'#{place.displacement}'] if place.displacement else parts)}]"


def _bytes(word: int) -> bytes:
    return word.to_bytes(WORD_BYTES, "little")
