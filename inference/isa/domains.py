"""Execution domains of schemes: which units of a core they occupy, by their texts.

A scheme that computes with memory has no domain of its own: its µops are a load, a store and a computation,
which other schemes show one by one.

Names may be in any style that `inference.isa.name_parsing` knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from inference.isa.name_parsing import Key, SchemeNameParts, read
from inference.isa.tables import table_of_module


class MemoryPart(StrEnum):
    LOAD = "load"
    STORE = "store"


class ExecutionDomain(StrEnum):
    """The units that a µop occupies."""

    INTEGER = "integer"
    VECTOR = "vector"
    MEMORY = "memory"


_OPERAND_NAME = re.compile(r"(?<![A-Z])(?:GPR|ADDR|MEM|MOFFS|[XYZ]?MM|FPR|VEC|ELEM)")
"""What an operand is, in a scheme's text."""

_STORED_MEMORY = re.compile(r"(?:MEM|MOFFS)(?:\[[0-9]++\])?:R?W")  # `MEM[64]:W`, `MEM[64]:RW`
_DOMAINS = {
    "GPR": ExecutionDomain.INTEGER,
    "ADDR": ExecutionDomain.INTEGER,
    "MEM": ExecutionDomain.MEMORY,
    "MOFFS": ExecutionDomain.MEMORY,
}


def domain_of(scheme: str) -> ExecutionDomain | None:
    """The domain of a scheme with a single µop; None where its operands belong to several domains, or to
    none.

    An accessed memory operand decides, since a µop that accesses memory does nothing else; otherwise the
    registers do. A NOP does not access its operand.

    >>> domain_of("add GPR[64]:RW, GPR[64]:R")
    <ExecutionDomain.INTEGER: 'integer'>
    """
    if scheme.startswith("nop "):
        return None
    domains = domains_in(scheme)
    if ExecutionDomain.MEMORY in domains:
        return ExecutionDomain.MEMORY
    return domains.pop() if len(domains) == 1 else None


def domains_of(schemes: Iterable[str]) -> dict[str, str]:
    """{scheme: domain} of the schemes that have one."""
    domains = {scheme: domain_of(scheme) for scheme in schemes}
    return {scheme: domain.value for scheme, domain in domains.items() if domain is not None}


def units_of(schemes: Iterable[str]) -> dict[str, str]:
    """{scheme: domain} as in `domains_of`, but with "load" and "store" in place of "memory"."""
    return {
        scheme: _memory_unit(scheme) if domain == ExecutionDomain.MEMORY else domain
        for scheme, domain in domains_of(schemes).items()
    }


def _memory_unit(scheme: str) -> str:
    return (MemoryPart.STORE if _STORED_MEMORY.search(scheme) else MemoryPart.LOAD).value


def single_domains(schemes: Iterable[str]) -> dict[str, str]:
    """{scheme: domain} of the schemes all of whose µops belong to one domain, however many there are.

    These are computations on registers of one kind, and plain loads.
    """
    domains = {scheme: _single_domain(scheme) for scheme in schemes}
    return {scheme: domain.value for scheme, domain in domains.items() if domain is not None}


def _single_domain(scheme: str) -> ExecutionDomain | None:
    reading = read(scheme)
    if reading is None or not reading.understood:
        return None
    domains = domains_in(",".join(reading.operands).upper())
    if ExecutionDomain.MEMORY in domains:
        memory = memory_of(reading)
        return ExecutionDomain.MEMORY if memory is not None and memory[0] == 1 and is_move(reading) else None
    return domains.pop() if len(domains) == 1 else None


def domains_in(operands: str) -> set[ExecutionDomain]:
    return {_DOMAINS.get(name, ExecutionDomain.VECTOR) for name in _OPERAND_NAME.findall(operands)}


_MEMORY = re.compile(r"mem\[(\d+)\]")
_LOCKING_MNEMONIC = "xchg"  # with memory it locks the bus, though nothing says so
_REGISTERS = {
    8: ("gpr[8]", "xmm"),
    16: ("gpr[16]", "xmm"),
    32: ("gpr[32]", "xmm"),
    64: ("gpr[64]", "mm", "xmm"),
    128: ("xmm",),
    256: ("ymm",),
    512: ("zmm",),
}
_GENERAL_WIDTHS = (64, 32, 16, 8)


@dataclass(frozen=True)
class MemoryForm:
    """A scheme with memory in place of a register of `register_form`; `access`: r, w or rw of `bits` bits."""

    scheme: str
    register_form: str
    bits: int
    access: str


def memory_of(reading: SchemeNameParts) -> tuple[int, int, str] | None:
    """(position, bits, access) of the only memory operand; None for none, several or an unusual one."""
    places = [(place, name) for place, name in enumerate(reading.operands) if name.startswith("mem[")]
    if len(places) != 1:
        return None
    place, name = places[0]
    match = _MEMORY.fullmatch(name)
    return None if match is None else (place, int(match[1]), reading.accesses[place])


def is_move(reading: SchemeNameParts) -> bool:
    """Whether it only copies, loads or stores."""
    return reading.head.startswith(("mov", "vmov")) and len(reading.operands) == 2


def memory_forms(readings: Mapping[str, SchemeNameParts], *, any_width: bool = False) -> Iterator[MemoryForm]:
    """The schemes with memory whose register form is among the given ones; moves have none.

    Args:
        readings: {scheme: its name taken apart}.
        any_width: Accept registers of other widths than the memory operand's where there is no equal one.
    """
    by_key: dict[Key, str] = {reading.key: scheme for scheme, reading in readings.items()}
    for scheme, reading in readings.items():
        memory = memory_of(reading)
        if memory is None or is_move(reading) or reading.head == _LOCKING_MNEMONIC:
            continue
        place, bits, access = memory
        before, after = reading.operands[:place], reading.operands[place + 1 :]
        names = _REGISTERS.get(bits, ())
        if any_width and bits <= _GENERAL_WIDTHS[0]:
            names = (*names, *(f"gpr[{width}]" for width in _GENERAL_WIDTHS))
        keys = ((reading.head, (*before, name, *after)) for name in names)
        other = next((by_key[key] for key in keys if key in by_key), None)
        if other is not None:
            # Some styles say of the register alone how it is accessed.
            yield MemoryForm(scheme, other, bits, access or readings[other].accesses[place])


def forms_among(schemes: Iterable[str]) -> dict[str, tuple[str, str]]:
    """{scheme with memory: (its register form, access)} of these schemes, with registers of any width."""
    readings = {scheme: reading for scheme in schemes if (reading := read(scheme)) and reading.understood}
    return {form.scheme: (form.register_form, form.access) for form in memory_forms(readings, any_width=True)}


LOADS, STORES = ("load", "vector load"), ("store", "vector store")
"""Unit classes of stores from integer and from vector registers."""

_CROSSING = "int ↔ vector"
_MASK = "mask"
_TABLES: Mapping[str, Mapping[str, str]] = table_of_module(__file__)
_INTEGER, _VECTOR, _FLOATING = (_TABLES[kind] for kind in ("integer", "vector", "floating"))

UNIT_CLASSES = tuple(
    dict.fromkeys(
        (*_INTEGER.values(), *LOADS, *STORES, _CROSSING, _MASK, *_FLOATING.values(), *_VECTOR.values())
    )
)
"""All unit classes, in the order of plots."""

_ELIMINATED = frozenset((_INTEGER["move"], _INTEGER["nop"], _VECTOR["move"]))
_GROUPS = (
    ("ALU", _INTEGER.values()),
    ("FP", {*_FLOATING.values(), *_VECTOR.values()} - {_CROSSING}),
    ("LD", LOADS),
    ("ST", STORES),
    ("BR", (_INTEGER["branch"], _INTEGER["call"])),
)
UNIT_GROUPS = {kind: group for group, kinds in _GROUPS for kind in kinds if kind not in _ELIMINATED}
"""{unit class: the group of units that ports are named after}, of the classes that show a port's group."""

_X86_FLOATING = re.compile(r"(?!v?p)\w*[ps][sdh]")
_COMPUTED_ADDRESS = re.compile(r"MEM\[\d+,(?:pre|post|base\+)")
"""An address that another unit may compute than the one that accesses it, or a base that moves."""

_MASK_REGISTER = re.compile(r"(?<![A-Z])K(?![A-Z])")


def unit_class(text: str, mnemonic: str, category: str, memory: str) -> str:
    """The unit class of a scheme by its properties; "" for one that needs several units.

    Args:
        text: Text of the scheme.
        mnemonic: Mnemonic of its instruction.
        category: Category as in `inference.isa.scheme.Scheme`.
        memory: As there: "R", "W" or "RW", "A" where an address is only computed, "" for none.
    """
    domains = domains_in(text.upper())
    vector = ExecutionDomain.VECTOR in domains
    if memory in ("R", "W"):
        if _COMPUTED_ADDRESS.search(text):
            return ""
        kinds = LOADS if memory == "R" else STORES
        return kinds[vector] if category == "move" else ""  # what extends may compute as well
    if memory == "RW" or category not in (*_INTEGER, *_VECTOR):
        return ""
    if _MASK_REGISTER.search(text):
        return _MASK
    if vector and ExecutionDomain.INTEGER in domains:
        return _CROSSING
    return _vector_class(mnemonic, category) if vector else _INTEGER.get(category, "")


def _vector_class(mnemonic: str, category: str) -> str:
    if category in _FLOATING and _is_floating(mnemonic):
        return _FLOATING[category]
    return _VECTOR.get(category, "")


def _is_floating(mnemonic: str) -> bool:
    return mnemonic.startswith("f") or _X86_FLOATING.fullmatch(mnemonic) is not None
