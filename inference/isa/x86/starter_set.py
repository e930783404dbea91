"""The starter set: schemes for a first inference that takes minutes and still shows every part of a core."""

from __future__ import annotations

from itertools import chain

from inference.isa.tables import table_beside

_TABLE = table_beside(__file__)
STARTER_SET = frozenset(chain.from_iterable(_TABLE["schemes"].values()))
"""Texts of the starter schemes; all of them are in the default inference set and need no more than AVX2."""
DIVISIONS = frozenset(_TABLE["latencies"]["divisions"])
"""What a starter set of latencies has beside that of throughputs."""
