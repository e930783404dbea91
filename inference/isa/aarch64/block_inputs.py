"""Start values of registers and memory that a block of AArch64 reads (`start_values`).

Registers that only address memory are no inputs: with other values the block would access other memory, which
is another finding. Neither are flags, which always start cleared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from inference.isa.aarch64.decoding import decode
from inference.isa.start_values import BlockInput, BlockReads, InputKind
from inference.isa.words.accesses import ADDRESS, INDEX, word_accesses
from inference.isa.words.instruction import GENERAL, STACK_POINTER, VECTOR, DecodedInstruction, RegisterPart


def reads_of(codes: Iterable[bytes]) -> BlockReads:
    """The start values that a block reads, from the code of each instruction: registers first, in order."""
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
