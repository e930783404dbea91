"""The starter set: schemes for a first inference of minutes that still covers every part of a core."""

from __future__ import annotations

from itertools import chain

from inference.isa.tables import table_of_module

_TABLE = table_of_module(__file__)
STARTER_SET = frozenset(chain.from_iterable(_TABLE["schemes"].values()))
"""Texts of the starter schemes; all are in the default inference set and need no more than AVX2."""

DIVISIONS = frozenset(_TABLE["latencies"]["divisions"])
"""The schemes of a starter set of latencies beside those of throughputs."""
