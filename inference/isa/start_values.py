"""Values that registers and memory of a measured block start with, and others to measure it with again.

Some instructions take another time with other values: a shift by 0, a masked load of nothing, a division.
What is measured with one choice of values is known for that choice alone, so findings are repeated with the
values of `repetitions`, each set for all that the block reads of its start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

START = 0x62345600
"""What registers, and all words of memory, start with where they are alike: BHive's choice moved to where no
process has its own memory."""

_BITS = 64
_ONES = 2**_BITS - 1
_MOST_DECIMAL = 256
_WORD = 8  # bytes, so that what was aligned still is
_USUAL_FLOATS = 0x3F8CCCCD3F8CCCCD  # 1.1 as a float, near 0.01 as a double: neither a special value
_FLOATS_OF_ONE = 0x3F8000013F800001


@dataclass(frozen=True)
class StartValues:
    """What a block starts with.

    Attributes:
        registers: Of general-purpose registers, 64 bits by name.
        vector: 64-bit pattern of all vector registers.
        memory: 64-bit pattern of all memory.
        masks: Whether mask registers hold ones, else zeros.
    """

    registers: Mapping[str, int]
    vector: int
    memory: int
    masks: bool = True


class InputKind(StrEnum):
    """Where an input of a block comes from."""

    REGISTER = "register"
    VECTOR = "vector"
    MASK = "mask"
    MEMORY = "memory"


@dataclass(frozen=True)
class BlockInput:
    """What a block reads before it writes it, otherwise than to address memory.

    Attributes:
        kind: Of vector and mask registers, and of memory, there is one input each: they start alike. Of a
            general-purpose register there is one for each part that is read, `cl` and `rcx`.
        name: As it is read: `cl`, `rax`, `xmm1, xmm2`, `memory`.
        register: The general-purpose register of 64 bits, "" of other kinds.
        low: Its first bit that is read.
        bits: So many are read.
    """

    kind: InputKind
    name: str
    register: str = ""
    low: int = 0
    bits: int = _BITS

    @property
    def source(self) -> str:
        """The whole register, or the kind: what has another value when the input has one."""
        return self.register or self.kind.value

    def value(self, start: StartValues) -> int:
        """What the block reads, of vectors and memory the pattern; of masks 64 bits."""
        content = {
            InputKind.REGISTER: start.registers.get(self.register, 0),
            InputKind.VECTOR: start.vector,
            InputKind.MASK: _ONES if start.masks else 0,
            InputKind.MEMORY: start.memory,
        }[self.kind]
        return content >> self.low & (1 << self.bits) - 1

    def value_text(self, start: StartValues) -> str:
        """The same: small numbers in decimal, others in hexadecimal digits."""
        value = self.value(start)
        return str(value) if value < _MOST_DECIMAL else f"{value:#x}"

    def replaced(self, start: StartValues, source: StartValues) -> StartValues:
        """`start`, with this input as in `source`."""
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
    """The inputs of a block, and the general-purpose registers of 64 bits that it addresses memory by."""

    inputs: tuple[BlockInput, ...]
    addresses: frozenset[str]

    def values(self, start: StartValues) -> dict[str, str]:
        """{name of an input: what is read of it}, as texts: not all readers of JSON have 64-bit numbers."""
        return {block_input.name: block_input.value_text(start) for block_input in self.inputs}

    def moved(self, start: StartValues, source: StartValues) -> StartValues:
        """`source`, but for what memory is addressed by: that is as in `start`.

        What is read otherwise as well becomes a few bytes more, unless `source` has 0 there: memory stays
        where it was, and a count in the lowest bits is another one.
        """
        read = {block_input.register for block_input in self.inputs}
        addresses = {
            name: start.registers[name] + (_WORD if name in read and source.registers[name] else 0)
            for name in self.addresses & start.registers.keys()
        }
        return replace(source, registers={**source.registers, **addresses})


@dataclass(frozen=True)
class Repetition:
    """Values to measure a block with again; `label` names them."""

    label: str
    start: StartValues


def repetitions(usual: StartValues, reads: BlockReads) -> list[Repetition]:
    """The values by which it shows whether a block's time depends on them: 0, 1, small numbers, all ones.

    All that addresses no memory gets them, read or not, so that many blocks share a frame. Those of which the
    block reads the same as before are left out.
    """
    distinct = [reads.values(usual)]
    repeated = []
    for label, source in _sources(usual).items():
        start = reads.moved(usual, source)
        values = reads.values(start)
        if values not in distinct:
            distinct.append(values)
            repeated.append(Repetition(label, start))
    return repeated


def _sources(usual: StartValues) -> dict[str, StartValues]:
    names = list(usual.registers)
    # Small, odd, different ones: no count, divisor or comparison of them is a special case.
    small = {name: 2 * place + 3 for place, name in enumerate(names)}
    return {
        "0": StartValues(dict.fromkeys(names, 0), 0, 0, masks=False),
        "1": StartValues(dict.fromkeys(names, 1), _FLOATS_OF_ONE, 1),
        "small": StartValues(small, _USUAL_FLOATS, _USUAL_FLOATS),
        "all ones": StartValues(dict.fromkeys(names, _ONES), _ONES, _ONES),
    }
