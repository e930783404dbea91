"""Which part of a core a scheme's text says that it occupies: integer, vector or memory units."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum

from inference.isa.reading import read
from inference.isa.register_forms import is_move, memory_of


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
