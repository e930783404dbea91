"""How the reasons begin for which schemes are not in the default set: databases tell these apart by that.

Each instruction set's folder gives such reasons to its schemes (`Scheme.exclusion`).
"""

from __future__ import annotations

GROUPS = {"legacy-sse": "legacy SSE", "mmx": "MMX:", "x87": "x87:", "avx512": "AVX-512"}
"""{a set of schemes to be chosen by name: how its reason begins}."""

SELECTABLE = (*GROUPS.values(), "a special case of", "an undocumented second encoding")
"""Beginnings of reasons that do not keep a scheme from being measured."""

BREAKABLE = (
    "reads and writes the flags",
    "reads and writes the fixed register",
    "reads and writes one of ah",
    "uses up its mask",
)
"""Beginnings of reasons that hold unless dependencies are broken by other instructions."""

TOP_OF_STACK = "reads and writes st0"
"""The same of x87's: no other instruction breaks that dependency, but a chain is one."""

ONLY_IN_CHAINS = ("each copy waits for the flags", "its time depends on the values")
"""Beginnings of reasons that keep a scheme from being measured alone, but not in a chain."""

LEGACY_SSE = GROUPS["legacy-sse"]
"""Of the schemes that stand for their forms with VEX."""

NOT_IN_A_BODY = (
    "Calls, returns, push and pop are in no set, though a sixth of what compilers emit: their copies cannot "
    "stand side by side in a loop body, since each changes where execution goes on or where the stack ends. "
    "Conditional jumps are measured with the comparison before them, by the part “Front end”."
)
"""Why the most frequent instructions of programs are in no set of schemes."""
