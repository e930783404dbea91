"""The access facet of AArch64: reads and writes of blocks' instructions, start values, pairs that may be
fused.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from inference.isa.aarch64 import STACK_POINTER
from inference.isa.aarch64.addresses import addresses_of
from inference.isa.aarch64.assembling import Assembler
from inference.isa.aarch64.decoding import decode, decoded
from inference.isa.aarch64.front_end import fused_places, moves_of, pairs_of
from inference.isa.aarch64.statements import read_instruction
from inference.isa.addresses import InstructionAddresses
from inference.isa.code.block import Block, BlockInstruction
from inference.isa.code.control_flow import LOOP
from inference.isa.dependences import InstructionAccesses, MemoryPlace, OperandAccess, Reduction
from inference.isa.machine_bodies import DEFAULTS, BodyAccesses, CannotMeasureError, LoopSize, Options
from inference.isa.start_values import BlockInput, BlockReads, InputKind
from inference.isa.words.accesses import (
    ADDRESS,
    GENERAL,
    INDEX,
    VECTOR,
    DecodedInstruction,
    RegisterPart,
    word_accesses,
)
from inference.isa.words.blocks import WordBlockInstruction

__all__ = [
    "accesses_of",
    "fused_places",
    "loop_body",
    "loop_size",
    "moves_of",
    "name_of_location",
    "pairs_of",
    "reads_of",
    "reduction_of",
    "stores_of",
    "zero_bit_shifts",
]

_CACHED_LINES = 1 << 14  # lines of loop bodies, which differ in few registers
_FLAGS = "NZCV"
_EXACT = re.compile(
    r"add|adds|sub|subs|and|ands|orr|eor|mul|[us]?(?:min|max)|mla|mls|[us]ml[as]l2?|[us]aba|[us]adalp|madd|msub"
    r"|[us]maddl|[us]msubl|f(?:min|max)(?:nm)?"
)
"""Operations that may be regrouped: the sum is the same in any order."""

_ROUNDED = re.compile(r"fadd|fsub|fmul|fml[as]|fn?m(?:add|sub)")
"""Operations of which another order would round otherwise."""

_FROM_FIRST = re.compile(r"f?subs?")
"""The accumulator has to be the first source."""

_SEPARATE = re.compile(r"[us]?madd|msub|[us]m(?:add|sub)l|fn?m(?:add|sub)")
"""The accumulator is a source of its own, the last one."""


def accesses_of(block: Block, *, equal_start: bool = False) -> tuple[InstructionAccesses, ...]:
    """The reads and writes of each instruction, in order; see `inference.isa.blocks`."""
    return _accesses(
        [_decoded_instruction(instruction) for instruction in block.instructions],
        equal_start=equal_start,
        code_bytes=0 if block.kind == LOOP else len(block.code),
    )


def _accesses(
    words: Sequence[DecodedInstruction], *, equal_start: bool, code_bytes: int
) -> tuple[InstructionAccesses, ...]:
    entries = [word_accesses(word) for word in words]
    if sum(entry.in_memory for entry in entries) < 2:  # nothing that it could meet
        return tuple(entries)
    addresses = addresses_of(words, equal_start=equal_start, code_bytes=code_bytes)
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


def _decoded_instruction(instruction: BlockInstruction) -> DecodedInstruction:
    if isinstance(instruction, WordBlockInstruction):
        return instruction.decoded
    return decode(int.from_bytes(instruction.code, "little"))


def stores_of(instruction: BlockInstruction) -> int:
    writes = word_accesses(_decoded_instruction(instruction)).writes
    return sum(access.memory is not None for access in writes)


def zero_bit_shifts(block: Block, registers: Mapping[str, int]) -> int:
    """0: shifts leave the flags alone, whatever they shift by."""
    del block, registers
    return 0


def reduction_of(instruction: BlockInstruction) -> Reduction | None:
    """How the instruction accumulates a value in a register; None where it does not."""
    mnemonic, _, operands = (instruction.scheme or "").partition(" ")
    is_exact = _EXACT.fullmatch(mnemonic) is not None
    places = operands.split(", ")
    if not (is_exact or _ROUNDED.fullmatch(mnemonic)) or len(places) < 3:
        return None
    if places[0].endswith(":RW"):
        return Reduction(("1",), is_exact)
    if _SEPARATE.fullmatch(mnemonic):
        return Reduction(("4",), is_exact)
    plain = len(places) == 3 and places[2].endswith(":R") and places[1] == places[2]
    only_first = _FROM_FIRST.fullmatch(mnemonic) is not None or not plain
    return Reduction(("2",) if only_first else ("2", "3"), is_exact)


def loop_body(terms: Sequence[tuple[str, int]], options: Options = DEFAULTS) -> BodyAccesses:
    """The measured body of an experiment. Raises `CannotMeasureError`."""
    body = Assembler().unroll(terms, options.instructions)
    code = b"".join(map(_line_code, body.lines))  # a call of llvm-mc for each body would take 30 ms
    instructions = _accesses(decoded(code), equal_start=True, code_bytes=0)
    return BodyAccesses(instructions, body.copies, len(code))


def loop_size(terms: Sequence[tuple[str, int]], options: Options = DEFAULTS) -> LoopSize:
    """The size of the measured body. Raises `CannotMeasureError`."""
    body = Assembler().unroll(terms, options.instructions)
    return LoopSize(len(body.lines), 4 * len(body.lines), body.copies)


@lru_cache(maxsize=_CACHED_LINES)
def _line_code(line: str) -> bytes:
    word = read_instruction(line).word()
    if word is None:
        raise CannotMeasureError(line, "it has no encoding")
    return word.to_bytes(4, "little")


def name_of_location(location: str) -> str:
    """The usual name of a location: `x3`, `sp`, `v5`, `NZCV` for each of the flags."""
    bank, _, number = location.partition(" ")
    if bank == GENERAL:
        return "sp" if int(number) == STACK_POINTER else f"x{number}"
    return f"v{number}" if bank == VECTOR else _FLAGS if bank == "flag" else location


def reads_of(codes: Iterable[bytes]) -> BlockReads:
    """The start values that a block reads, from the code of each instruction: registers first, in order.

    Registers that only address memory are no inputs: with other values the block would access other memory,
    which is another finding. Neither are flags, which always start cleared.
    """
    tracker = _InputTracker()
    for code in codes:
        tracker.execute(decode(int.from_bytes(code, "little")))
    return tracker.result()


class _InputTracker:
    """Registers and memory read and written so far."""

    def __init__(self) -> None:
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
            elif bank in (GENERAL, VECTOR) and access.location not in self._written:
                self._read[access.location].add(_bits(decoded, access.operand))
        self._written |= {access.location for access in accesses.writes if access.location}

    def result(self) -> BlockReads:
        addresses = frozenset(_name(number, 64) for number in self._addresses)
        return BlockReads(tuple(self._inputs()), addresses)

    def _inputs(self) -> Iterator[BlockInput]:
        numbers: dict[str, list[int]] = {GENERAL: [], VECTOR: []}
        for location in self._read:
            bank, _, digits = location.partition(" ")
            numbers[bank].append(int(digits))
        for number in sorted(numbers[GENERAL]):
            if number != STACK_POINTER:
                bits = max(self._read[f"{GENERAL} {number}"])
                yield BlockInput(InputKind.REGISTER, _name(number, bits), _name(number, 64), 0, bits)
        if vectors := sorted(numbers[VECTOR]):
            yield BlockInput(InputKind.VECTOR, ", ".join(f"v{number}" for number in vectors))
        if self._reads_memory:
            yield BlockInput(InputKind.MEMORY, "memory")


def _bits(decoded: DecodedInstruction, operand: str) -> int:
    value = decoded.operands[int(operand) - 1] if operand.isdecimal() else None
    return value.bits if isinstance(value, RegisterPart) else 64


def _name(number: int, bits: int) -> str:
    if number == STACK_POINTER:
        return "sp"
    return f"{'x' if bits > 32 else 'w'}{number}"
