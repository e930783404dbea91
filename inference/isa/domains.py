"""Which part of a core a scheme's text says that it occupies: integer, vector or memory units."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum


class Domain(StrEnum):
    """The execution domain of a scheme."""

    INTEGER = "integer"
    VECTOR = "vector"
    MEMORY = "memory"


_OPERAND = re.compile(r"(?<![A-Z])(?:GPR|ADDR|MEM|MOFFS|[XYZ]?MM|FPR|VEC|ELEM)")
_DOMAINS = {"GPR": Domain.INTEGER, "ADDR": Domain.INTEGER, "MEM": Domain.MEMORY, "MOFFS": Domain.MEMORY}


def domain_of(scheme: str) -> Domain | None:
    """The domain of a scheme that has a single µop; None where its operands are of several, or of none.

    Memory accessed decides, as a µop that accesses memory does nothing else; otherwise the registers do.
    """
    found = {_DOMAINS.get(name, Domain.VECTOR) for name in _OPERAND.findall(scheme)}
    if Domain.MEMORY in found:
        return Domain.MEMORY
    return found.pop() if len(found) == 1 else None


def domains_of(schemes: Iterable[str]) -> dict[str, str]:
    """{scheme: domain} of those that have one."""
    found = {scheme: domain_of(scheme) for scheme in schemes}
    return {scheme: domain.value for scheme, domain in found.items() if domain is not None}
