"""What the operands and features of x86-64's schemes are called."""

from __future__ import annotations

import re

from inference.isa.operand_slots import OperandNames

FLAGS = ("cf", "pf", "af", "zf", "sf", "of", "df", "if", "ac", "uif", "c0", "c1", "c2", "c3")
"""As schemes name them."""

NAMES = OperandNames(
    FLAGS,
    {
        "GPR": re.compile(r"GPR\[\w+\]|[re]?[abcd]x|[abcd][lh]|[re]?[sd]i|[re]?bp"),
        "vector": re.compile(r"[XYZ]MM.*|[xyz]mm\d+"),
    },
)
"""Registers by kind, whatever their width, or their number where an instruction fixes it, but for the stack
pointer."""

_BASE = frozenset(
    "BASE X64 CMOV CX8 CMPXCHG16B MULTIBYTENOP PAUSE CPUID MSR TSC SYSCALL SEP CET_IBT".split()  # noqa: SIM905
)
_FAMILIES = {"SSE4.1": "SSE4", "SSE4.2": "SSE4", "FXSR": "SSE"}


def extension_family(extension: str) -> str:
    """The family of a scheme's extension.

    BASE is what every 64-bit processor has; SSE4 joins both halves, AVX512 everything of this name.
    """
    families = []
    for name in extension.split("+"):
        if name.startswith("AVX512"):
            return "AVX512"
        families.append("BASE" if name in _BASE else _FAMILIES.get(name, name))
    special = [name for name in dict.fromkeys(families) if name != "BASE"]
    return "+".join(special) or "BASE"
