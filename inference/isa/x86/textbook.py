"""Textbook inverse throughputs of single starter schemes, as a reference for measurements.

Cycles per instruction; only numbers on which the vendors' guides and Agner Fog's instruction tables agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache

from inference.isa.tables import table_of_module
from inference.isa.x86.core_tables import core_table

_TABLES = table_of_module(__file__)


@cache
def documented_cpi(name: str) -> Mapping[str, tuple[float, str]]:
    """{scheme text: (cycles per instruction, source)} of a microarchitecture; empty for an unknown name."""
    table = core_table(_TABLES, name)
    return {text: (float(Fraction(cycles)), table.source) for text, cycles in table.numbers.items()}
