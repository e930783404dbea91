"""Start values of registers and memory of a measured block, and further ones to repeat measurements with.

Some instructions take another time with other values: a shift by 0, a masked load of nothing, a division. A
measurement is valid for its values alone, so findings are repeated with the values of `repetitions`, each for
all start values that the block reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

START = 0x62345600
"""Start value of registers and memory words where they are alike: BHive's choice, moved to an address that no
process uses."""

_BITS = 64  # of a general-purpose register
_ALL_BITS = 2**_BITS - 1
_MAX_DECIMAL = 256  # larger values are written in hexadecimal digits
_WORD = 8  # bytes, so that what was aligned still is
_USUAL_FLOATS = 0x3F8CCCCD3F8CCCCD  # 1.1 as a float, near 0.01 as a double: neither a special value
_UNIT_FLOATS = 0x3F8000013F800001  # two single-precision numbers 1.0


@dataclass(frozen=True)
class StartValues:
    """The start values of a block.

    Attributes:
        registers: Values of general-purpose registers, 64 bits by name.
        vector: 64-bit pattern of all vector registers.
        memory: 64-bit pattern of all memory.
        masks: Whether mask registers hold ones, else zeros.
    """

    registers: Mapping[str, int]
    vector: int
    memory: int
    masks: bool = True


class InputKind(StrEnum):
    REGISTER = "register"
    VECTOR = "vector"
    MASK = "mask"
    MEMORY = "memory"


@dataclass(frozen=True)
class BlockInput:
    """A value that a block reads before it writes it, other than to address memory.

    Attributes:
        kind: There is one input each for vector registers, mask registers and memory: they start alike. Of a
            general-purpose register there is one for each part that is read, `cl` and `rcx`.
        name: Name as it is read: `cl`, `rax`, `xmm1, xmm2`, `memory`.
        register: The general-purpose register of 64 bits, "" of other kinds.
        low: The index of the lowest bit that is read.
        bits: Number of bits that are read.
    """

    kind: InputKind
    name: str
    register: str = ""
    low: int = 0
    bits: int = _BITS

    @property
    def source(self) -> str:
        """The full register, or the kind: the start value that determines the input."""
        return self.register or self.kind.value

    def value(self, start: StartValues) -> int:
        """The input's value: the pattern of vectors and memory, 64 bits of masks."""
        content = {
            InputKind.REGISTER: start.registers.get(self.register, 0),
            InputKind.VECTOR: start.vector,
            InputKind.MASK: _ALL_BITS if start.masks else 0,
            InputKind.MEMORY: start.memory,
        }[self.kind]
        return content >> self.low & (1 << self.bits) - 1

    def value_text(self, start: StartValues) -> str:
        """The value: numbers below 256 in decimal, others in hexadecimal digits."""
        value = self.value(start)
        return str(value) if value < _MAX_DECIMAL else f"{value:#x}"

    def replaced(self, start: StartValues, source: StartValues) -> StartValues:
        """`start`, with the value of this input in `source`."""
        if self.kind is InputKind.REGISTER:
            value = source.registers.get(self.register, 0)
            return replace(start, registers={**start.registers, self.register: value})
        if self.kind is InputKind.VECTOR:
            return replace(start, vector=source.vector)
        if self.kind is InputKind.MASK:
            return replace(start, masks=source.masks)
        return replace(start, memory=source.memory)


@dataclass(frozen=True)
class BlockReads:
    """The inputs of a block, and the general-purpose registers of 64 bits in its addresses."""

    inputs: tuple[BlockInput, ...]
    addresses: frozenset[str]

    def values(self, start: StartValues) -> dict[str, str]:
        """{name of an input: its value}, as texts: not all readers of JSON support 64-bit numbers."""
        return {block_input.name: block_input.value_text(start) for block_input in self.inputs}

    def with_addresses(self, start: StartValues, source: StartValues) -> StartValues:
        """`source`, but with the address registers of `start`.

        An address register that is also read otherwise moves by 8 bytes, unless `source` has 0 there: memory
        stays nearly the same, and a count in the lowest bits changes.
        """
        read = {block_input.register for block_input in self.inputs}
        addresses = {
            name: start.registers[name] + (_WORD if name in read and source.registers[name] else 0)
            for name in self.addresses & start.registers.keys()
        }
        return replace(source, registers={**source.registers, **addresses})


@dataclass(frozen=True)
class Repetition:
    """Further start values to measure a block with; `label` names them."""

    label: str
    start: StartValues


def repetitions(default: StartValues, reads: BlockReads) -> list[Repetition]:
    """Start values that show whether a block's time depends on them: 0, 1, small numbers, all ones.

    Every value except address registers is replaced, read or not, so that many blocks share a frame. Values
    that do not change what the block reads are omitted.
    """
    previous_values = [reads.values(default)]
    new_repetitions = []
    for label, source in _sources(default).items():
        start = reads.with_addresses(default, source)
        values = reads.values(start)
        if values not in previous_values:
            previous_values.append(values)
            new_repetitions.append(Repetition(label, start))
    return new_repetitions


def _sources(default: StartValues) -> dict[str, StartValues]:
    names = list(default.registers)
    # Small, odd, different ones: no count, divisor or comparison of them is a special case.
    small = {name: 2 * place + 3 for place, name in enumerate(names)}
    return {
        "0": StartValues(dict.fromkeys(names, 0), 0, 0, masks=False),
        "1": StartValues(dict.fromkeys(names, 1), _UNIT_FLOATS, 1),
        "small": StartValues(small, _USUAL_FLOATS, _USUAL_FLOATS),
        "all ones": StartValues(dict.fromkeys(names, _ALL_BITS), _ALL_BITS, _ALL_BITS),
    }
