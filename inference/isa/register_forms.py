"""Schemes that differ in one operand alone, which is memory in the one and a register in the other.

Names may be in any style that `inference.isa.reading` knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from inference.isa.reading import Key, SchemeNameParts, read

_MEMORY = re.compile(r"mem\[(\d+)\]")
_LOCKED = "xchg"  # with memory it locks the bus, though nothing says so
_REGISTERS = {
    8: ("gpr[8]", "xmm"),
    16: ("gpr[16]", "xmm"),
    32: ("gpr[32]", "xmm"),
    64: ("gpr[64]", "mm", "xmm"),
    128: ("xmm",),
    256: ("ymm",),
    512: ("zmm",),
}
_WORDS = (64, 32, 16, 8)


@dataclass(frozen=True)
class MemoryForm:
    """A scheme with memory instead of a register of another; how it accesses these `bits`: r, w or rw."""

    scheme: str
    register_form: str
    bits: int
    access: str


def memory_of(reading: SchemeNameParts) -> tuple[int, int, str] | None:
    """(place, bits, access) of the only memory operand; None for none, several or an unusual one."""
    found = [(place, name) for place, name in enumerate(reading.operands) if name.startswith("mem[")]
    if len(found) != 1:
        return None
    place, name = found[0]
    match = _MEMORY.fullmatch(name)
    return None if match is None else (place, int(match[1]), reading.accesses[place])


def is_move(reading: SchemeNameParts) -> bool:
    """Whether it copies, loads or stores and does nothing else."""
    return reading.head.startswith(("mov", "vmov")) and len(reading.operands) == 2


def memory_forms(readings: Mapping[str, SchemeNameParts], *, any_width: bool = False) -> Iterator[MemoryForm]:
    """Those of {scheme: its reading} whose register form is among them; moves have none.

    `any_width`: of those that have none with registers as wide as their memory, with other general-purpose
    registers.
    """
    by_key: dict[Key, str] = {reading.key: scheme for scheme, reading in readings.items()}
    for scheme, reading in readings.items():
        memory = memory_of(reading)
        if memory is None or is_move(reading) or reading.head == _LOCKED:
            continue
        place, bits, access = memory
        before, after = reading.operands[:place], reading.operands[place + 1 :]
        names = _REGISTERS.get(bits, ())
        if any_width and bits <= _WORDS[0]:
            names = (*names, *(f"gpr[{width}]" for width in _WORDS))
        keys = ((reading.head, (*before, name, *after)) for name in names)
        other = next((by_key[key] for key in keys if key in by_key), None)
        if other is not None:
            # Some styles say of the register alone how it is accessed.
            yield MemoryForm(scheme, other, bits, access or readings[other].accesses[place])


def forms_among(schemes: Iterable[str]) -> dict[str, tuple[str, str]]:
    """{scheme with memory: (its register form, access)} of these schemes, of whatever width."""
    readings = {scheme: found for scheme in schemes if (found := read(scheme)) and found.understood}
    return {each.scheme: (each.register_form, each.access) for each in memory_forms(readings, any_width=True)}
