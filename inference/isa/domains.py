"""What a scheme's text says that it occupies of a core: integer, vector or memory units, and of which kind.

A scheme that computes with memory has no kind of its own: its µops are those of a load, a store and a
computation, which other schemes show one by one.

Names may be in any style that `inference.isa.reading` knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from inference.isa.reading import Key, SchemeNameParts, read
from inference.isa.tables import table_beside


class MemoryPart(StrEnum):
    """What a scheme that accesses memory does there."""

    LOAD = "load"
    STORE = "store"


class ExecutionDomain(StrEnum):
    """The execution domain of a scheme."""

    INTEGER = "integer"
    VECTOR = "vector"
    MEMORY = "memory"


_OPERAND = re.compile(r"(?<![A-Z])(?:GPR|ADDR|MEM|MOFFS|[XYZ]?MM|FPR|VEC|ELEM)")
_WRITTEN = re.compile(r"(?:MEM|MOFFS)(?:\[[0-9]++\])?:R?W")
_DOMAINS = {
    "GPR": ExecutionDomain.INTEGER,
    "ADDR": ExecutionDomain.INTEGER,
    "MEM": ExecutionDomain.MEMORY,
    "MOFFS": ExecutionDomain.MEMORY,
}


def domain_of(scheme: str) -> ExecutionDomain | None:
    """The domain of a scheme that has a single µop; None where its operands are of several, or of none.

    Memory accessed decides, as a µop that accesses memory does nothing else; otherwise the registers do.
    A NOP only names its operand.
    """
    if scheme.startswith("nop "):
        return None
    found = domains_in(scheme)
    if ExecutionDomain.MEMORY in found:
        return ExecutionDomain.MEMORY
    return found.pop() if len(found) == 1 else None


def domains_of(schemes: Iterable[str]) -> dict[str, str]:
    """{scheme: domain} of those that have one."""
    found = {scheme: domain_of(scheme) for scheme in schemes}
    return {scheme: domain.value for scheme, domain in found.items() if domain is not None}


def units_of(schemes: Iterable[str]) -> dict[str, str]:
    """{scheme: domain} as `domains_of`, with what loads told from what stores."""
    return {
        scheme: _memory_unit(scheme) if domain == ExecutionDomain.MEMORY else domain
        for scheme, domain in domains_of(schemes).items()
    }


def _memory_unit(scheme: str) -> str:
    return (MemoryPart.STORE if _WRITTEN.search(scheme) else MemoryPart.LOAD).value


def undivided(schemes: Iterable[str]) -> dict[str, str]:
    """{scheme: domain} of those all of whose µops are of one, however many these are.

    That is what computes on registers of one kind, and plain loads. Names may be in any style that
    `inference.isa.reading` knows.
    """
    found = {scheme: _domain_of_all(scheme) for scheme in schemes}
    return {scheme: domain.value for scheme, domain in found.items() if domain is not None}


def _domain_of_all(scheme: str) -> ExecutionDomain | None:
    reading = read(scheme)
    if reading is None or not reading.understood:
        return None
    found = domains_in(",".join(reading.operands).upper())
    if ExecutionDomain.MEMORY in found:
        memory = memory_of(reading)
        return ExecutionDomain.MEMORY if memory is not None and memory[0] == 1 and is_move(reading) else None
    return found.pop() if len(found) == 1 else None


def domains_in(operands: str) -> set[ExecutionDomain]:
    """All that operands, as scheme texts write them, are of."""
    return {_DOMAINS.get(name, ExecutionDomain.VECTOR) for name in _OPERAND.findall(operands)}


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


LOADS, STORES = ("load", "vector load"), ("store", "vector store")
"""On integer and on vector registers."""

_CROSSING = "int ↔ vector"
_MASK = "mask"
_TABLES: Mapping[str, Mapping[str, str]] = table_beside(__file__)
_INTEGER, _VECTOR, _FLOATING = (_TABLES[kind] for kind in ("integer", "vector", "floating"))

UNIT_CLASSES = tuple(
    dict.fromkeys(
        (*_INTEGER.values(), *LOADS, *STORES, _CROSSING, _MASK, *_FLOATING.values(), *_VECTOR.values())
    )
)
"""All of them, in the order in which pictures list them."""

_X86_FLOATING = re.compile(r"(?!v?p)\w*[ps][sdh]")
_MASK_REGISTER = re.compile(r"(?<![A-Z])K(?![A-Z])")


def unit_class(text: str, mnemonic: str, category: str, memory: str) -> str:
    """Of a scheme by what its instruction set says of it; "" for one that is several things at once.

    `category`, `memory`: as `inference.isa.scheme.Scheme` has them.
    """
    domains = domains_in(text.upper())
    vector = ExecutionDomain.VECTOR in domains
    if memory in ("R", "W"):
        kinds = LOADS if memory == "R" else STORES
        return kinds[vector] if category == "move" else ""  # what extends may compute as well
    if memory == "RW" or category not in (*_INTEGER, *_VECTOR):
        return ""
    if _MASK_REGISTER.search(text):
        return _MASK
    if vector and ExecutionDomain.INTEGER in domains:
        return _CROSSING
    return _of_vector(mnemonic, category) if vector else _INTEGER.get(category, "")


def _of_vector(mnemonic: str, category: str) -> str:
    if category in _FLOATING and _is_floating(mnemonic):
        return _FLOATING[category]
    return _VECTOR.get(category, "")


def _is_floating(mnemonic: str) -> bool:
    return mnemonic.startswith("f") or _X86_FLOATING.fullmatch(mnemonic) is not None
