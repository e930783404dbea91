"""Names of numbers that instructions contain: system registers, barriers, prefetches."""

from __future__ import annotations

import re
from collections.abc import Mapping

_NUMBERED = re.compile(r"s([23])_([0-7])_c(1[0-5]|\d)_c(1[0-5]|\d)_([0-7])", re.IGNORECASE)

_SYSTEM = {
    "nzcv": (3, 3, 4, 2, 0),
    "daif": (3, 3, 4, 2, 1),
    "fpcr": (3, 3, 4, 4, 0),
    "fpsr": (3, 3, 4, 4, 1),
    "tpidr_el0": (3, 3, 13, 0, 2),
    "tpidrro_el0": (3, 3, 13, 0, 3),
    "ctr_el0": (3, 3, 0, 0, 1),
    "dczid_el0": (3, 3, 0, 0, 7),
    "cntfrq_el0": (3, 3, 14, 0, 0),
    "cntpct_el0": (3, 3, 14, 0, 1),
    "cntvct_el0": (3, 3, 14, 0, 2),
    "rndr": (3, 3, 2, 4, 0),
    "midr_el1": (3, 0, 0, 0, 0),
    "id_aa64pfr0_el1": (3, 0, 0, 4, 0),
    "id_aa64isar0_el1": (3, 0, 0, 6, 0),
    "id_aa64isar1_el1": (3, 0, 0, 6, 1),
    "id_aa64mmfr0_el1": (3, 0, 0, 7, 0),
}
"""Those that programs read or write: op0, op1, CRn, CRm, op2."""


def _number(op0: int, op1: int, crn: int, crm: int, op2: int) -> int:
    return (op0 - 2) << 14 | op1 << 11 | crn << 7 | crm << 3 | op2


_NUMBERS = {name: _number(*parts) for name, parts in _SYSTEM.items()}
_NAMES = {number: name for name, number in _NUMBERS.items()}


def system_register_name(number: int) -> str:
    """The name of a system register by the 15 bits of `mrs`; without a usual name that of its parts.

    >>> system_register_name(0x5E82), system_register_name(0x4282)
    ('tpidr_el0', 'S3_0_C5_C0_2')
    """
    parts = 2 + (number >> 14), number >> 11 & 7, number >> 7 & 15, number >> 3 & 15, number & 7
    return _NAMES.get(number) or "S{}_{}_C{}_C{}_{}".format(*parts)


def system_register_number(name: str) -> int | None:
    """The inverse of `system_register_name`; None for an unknown name."""
    match = _NUMBERED.fullmatch(name)
    return _number(*map(int, match.groups())) if match else _NUMBERS.get(name.lower())


_SHARED = ("osh", "nsh", "ish", "")
BARRIERS: Mapping[int, str] = {
    4 * place
    + kind: f"{domain or ('', 'ld', 'st', 'sy')[kind]}{('', 'ld', 'st', '')[kind] if domain else ''}"
    for place, domain in enumerate(_SHARED)
    for kind in (1, 2, 3)
}
"""Operands of `dmb` and `dsb`: `ish`, `oshld`, `sy`."""

PREFETCHES: Mapping[int, str] = {
    kind << 3 | level << 1 | policy: f"{name}l{level + 1}{('keep', 'strm')[policy]}"
    for kind, name in enumerate(("pld", "pli", "pst"))
    for level in range(3)
    for policy in (0, 1)
}
"""Operands of `prfm`."""
