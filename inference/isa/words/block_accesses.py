"""The access facet of instruction sets of words: reads and writes of blocks' instructions, start values."""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Protocol

from inference.isa.addresses import InstructionAddresses
from inference.isa.code.block import Block, BlockInstruction
from inference.isa.code.control_flow import LOOP
from inference.isa.dependences import InstructionAccesses, MemoryPlace, OperandAccess, Reduction
from inference.isa.machine_bodies import DEFAULTS, BodyAccesses, LoopSize, Options
from inference.isa.start_values import BlockInput, BlockReads, InputKind
from inference.isa.words.accesses import (
    ADDRESS,
    FLOAT,
    GENERAL,
    INDEX,
    VECTOR,
    DecodedInstruction,
    RegisterPart,
    word_accesses,
)
from inference.isa.words.assembling import WordAssembler
from inference.isa.words.blocks import WordBlockInstruction

_CACHED_LINES = 1 << 14  # lines of loop bodies, which differ in few registers


class FusionMaker(Protocol):
    """The part of a front end's facet that says which instructions may be fused; see `AccessReader`."""

    def pairs_of(self, block: Block) -> tuple[str, ...]: ...

    def moves_of(self, block: Block) -> tuple[str, ...]: ...

    def fused_places(self, block: Block, fused: Collection[str]) -> frozenset[int]: ...


class WordAccessReader:
    """The access facet.

    Args:
        decode: The instruction of a number.
        assembler: Makes loop bodies.
        code_of_line: Machine code of a line of them.
        fusion: See there.
        stack_pointer: Its number; it is no input of a block.
    """

    def __init__(
        self,
        decode: Callable[[int], DecodedInstruction],
        assembler: Callable[[], WordAssembler],
        code_of_line: Callable[[str], bytes],
        fusion: FusionMaker,
        stack_pointer: int,
    ) -> None:
        self._decode = decode
        self._assembler = assembler
        self._code_of_line = lru_cache(_CACHED_LINES)(code_of_line)
        self._stack_pointer = stack_pointer
        self.pairs_of = fusion.pairs_of
        self.moves_of = fusion.moves_of
        self.fused_places = fusion.fused_places

    @abstractmethod
    def addresses_of(
        self, block: Sequence[DecodedInstruction], *, equal_start: bool, code_bytes: int = 0
    ) -> list[InstructionAddresses]:
        """The addresses of each instruction.

        Args:
            block: The instructions.
            equal_start: Whether registers and memory start with one number.
            code_bytes: Distance of the code of consecutive iterations, 0 in a loop.
        """

    @abstractmethod
    def reduction_of(self, instruction: BlockInstruction) -> Reduction | None:
        """How the instruction accumulates a value in a register; None where it does not."""

    @abstractmethod
    def register_name(self, bank: str, number: int, bits: int) -> str:
        """The usual name of a register, used in so many bits."""

    def name_of_location(self, location: str) -> str:
        """The usual name of a location."""
        bank, _, number = location.partition(" ")
        return self.register_name(bank, int(number), 0) if number.isdecimal() else location

    def accesses_of(self, block: Block, *, equal_start: bool = False) -> tuple[InstructionAccesses, ...]:
        """The reads and writes of each instruction, in order; see `inference.isa.blocks`."""
        return self._accesses(
            [self._decoded(instruction) for instruction in block.instructions],
            equal_start=equal_start,
            code_bytes=0 if block.kind == LOOP else len(block.code),
        )

    def stores_of(self, instruction: BlockInstruction) -> int:
        writes = word_accesses(self._decoded(instruction)).writes
        return sum(access.memory is not None for access in writes)

    def zero_bit_shifts(self, block: Block, registers: Mapping[str, int]) -> int:
        """0: shifts leave the flags alone, whatever they shift by."""
        del block, registers
        return 0

    def loop_body(self, terms: Sequence[tuple[str, int]], options: Options = DEFAULTS) -> BodyAccesses:
        """The measured body of an experiment. Raises `CannotMeasureError`."""
        body = self._assembler().unroll(terms, options.instructions)
        codes = list(map(self._code_of_line, body.lines))  # a call of llvm-mc for each would take 30 ms
        instructions = [self._decode(int.from_bytes(code, "little")) for code in codes]
        accesses = self._accesses(instructions, equal_start=True, code_bytes=0)
        return BodyAccesses(accesses, body.copies, sum(map(len, codes)))

    def loop_size(self, terms: Sequence[tuple[str, int]], options: Options = DEFAULTS) -> LoopSize:
        """The size of the measured body. Raises `CannotMeasureError`."""
        body = self._assembler().unroll(terms, options.instructions)
        size = sum(len(self._code_of_line(line)) for line in body.lines)
        return LoopSize(len(body.lines), size, body.copies)

    def reads_of(self, codes: Iterable[bytes]) -> BlockReads:
        """The start values that a block reads, from the code of each instruction: registers first, in order.

        Registers that only address memory are no inputs: with other values the block would access other
        memory, which is another finding. Neither are flags, which always start cleared.
        """
        tracker = _InputTracker(self.register_name, self._stack_pointer)
        for code in codes:
            tracker.execute(self._decode(int.from_bytes(code, "little")))
        return tracker.result()

    def _decoded(self, instruction: BlockInstruction) -> DecodedInstruction:
        if isinstance(instruction, WordBlockInstruction):
            return instruction.decoded
        return self._decode(int.from_bytes(instruction.code, "little"))

    def _accesses(
        self, words: Sequence[DecodedInstruction], *, equal_start: bool, code_bytes: int
    ) -> tuple[InstructionAccesses, ...]:
        entries = [word_accesses(word) for word in words]
        if sum(entry.in_memory for entry in entries) < 2:  # nothing that it could meet
            return tuple(entries)
        addresses = self.addresses_of(words, equal_start=equal_start, code_bytes=code_bytes)
        return tuple(
            _with_address(entry, address) if entry.in_memory else entry
            for entry, address in zip(entries, addresses, strict=True)
        )


def _with_address(entry: InstructionAccesses, addresses: InstructionAddresses) -> InstructionAccesses:
    address = addresses.memory
    if address is None:
        return entry
    parts, offset, step, page = address

    def placed(access: OperandAccess) -> OperandAccess:
        if (memory := access.memory) is None:
            return access
        place = MemoryPlace(parts, offset, memory.bits, step, page, memory.registers, memory.displacement)
        return access._replace(memory=place)

    return entry._replace(reads=tuple(map(placed, entry.reads)), writes=tuple(map(placed, entry.writes)))


class _InputTracker:
    """Registers and memory read and written so far."""

    def __init__(self, register_name: Callable[[str, int, int], str], stack_pointer: int) -> None:
        self._register_name = register_name
        self._stack_pointer = stack_pointer
        self._written: set[str] = set()
        self._addresses: set[int] = set()
        self._read: dict[str, set[int]] = defaultdict(set)  # {location: widths of the operands in bits}
        self._reads_memory = False

    def execute(self, decoded: DecodedInstruction) -> None:
        accesses = word_accesses(decoded)
        for access in accesses.reads:
            bank, _, number = access.location.partition(" ")
            if access.memory is not None:
                self._reads_memory = True
            elif access.operand.endswith((ADDRESS, INDEX)):
                self._addresses.add(int(number))
            elif bank in (GENERAL, FLOAT, VECTOR) and access.location not in self._written:
                self._read[access.location].add(_bits(decoded, access.operand))
        self._written |= {access.location for access in accesses.writes if access.location}

    def result(self) -> BlockReads:
        addresses = frozenset(self._register_name(GENERAL, number, 64) for number in self._addresses)
        return BlockReads(tuple(self._inputs()), addresses)

    def _inputs(self) -> Iterator[BlockInput]:
        numbers: dict[str, list[int]] = {GENERAL: [], FLOAT: [], VECTOR: []}
        for location in self._read:
            bank, _, digits = location.partition(" ")
            numbers[bank].append(int(digits))
        name = self._register_name
        for number in sorted(numbers[GENERAL]):
            if number != self._stack_pointer:
                bits = max(self._read[f"{GENERAL} {number}"])
                yield BlockInput(
                    InputKind.REGISTER, name(GENERAL, number, bits), name(GENERAL, number, 64), 0, bits
                )
        for bank in (FLOAT, VECTOR):
            if numbers[bank]:
                names = [name(bank, number, 0) for number in sorted(numbers[bank])]
                yield BlockInput(InputKind.VECTOR, ", ".join(names))
        if self._reads_memory:
            yield BlockInput(InputKind.MEMORY, "memory")


def _bits(decoded: DecodedInstruction, operand: str) -> int:
    value = decoded.operands[int(operand) - 1] if operand.isdecimal() else None
    return value.bits if isinstance(value, RegisterPart) else 64
