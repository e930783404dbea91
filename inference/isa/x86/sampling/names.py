"""Names of operands and features in x86-64's schemes."""

from __future__ import annotations

import re

from inference.isa.operand_slots import OperandNames

FLAGS = ("cf", "pf", "af", "zf", "sf", "of", "df", "if", "ac", "uif", "c0", "c1", "c2", "c3")
"""Names in schemes."""

NAMES = OperandNames(
    FLAGS,
    {
        "GPR": re.compile(r"GPR\[\w+\]|[re]?[abcd]x|[abcd][lh]|[re]?[sd]i|[re]?bp"),
        "vector": re.compile(r"[XYZ]MM.*|[xyz]mm\d+"),
    },
)
"""Registers by kind, in all widths, or fixed ones by their names, without the stack pointer."""

_BASE = frozenset(
    "BASE X64 CMOV CX8 CMPXCHG16B MULTIBYTENOP PAUSE CPUID MSR TSC SYSCALL SEP CET_IBT".split()  # noqa: SIM905
)
_FAMILIES = {"SSE4.1": "SSE4", "SSE4.2": "SSE4", "FXSR": "SSE"}


def extension_family(extension: str) -> str:
    """The family of a scheme's extension.

    BASE is common to all 64-bit processors; SSE4 joins both halves, AVX512 all extensions of this name.
    """
    families = []
    for name in extension.split("+"):
        if name.startswith("AVX512"):
            return "AVX512"
        families.append("BASE" if name in _BASE else _FAMILIES.get(name, name))
    special = [name for name in dict.fromkeys(families) if name != "BASE"]
    return "+".join(special) or "BASE"
