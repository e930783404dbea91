"""Numbers of µops of schemes: from a table, from a counter, or unknown (§6.2.1, Postulate 6.5)."""

from __future__ import annotations

import re

from inference.core.explain.sampling import SampledCycles
from inference.core.explain.settings import AUTO, COUNTER, TABLE, THROUGHPUT, ZEN_MACRO_OPS

COUNTED = "uops"
"""The counter of all µops (or macro-ops) per execution of an experiment."""

PORT = "port "
"""Prefix of the names of counters of executed µops, before the port."""

INTEGER_TOLERANCE = 0.1
"""Largest distance of a count from a whole number."""

_MEMORY = re.compile(r"\bMEM\[(\d++)[^][]*\]")
_LOADING_MOVE = re.compile(r"^v?mov\w*\s(?!MEM)[^,]*:W,\s*MEM\[")
_WIDE = 256  # bits of a memory operand from which Zen+ splits the access into two µops


def source_of_counts(requested: str, table: bool, counter: bool) -> str:
    """The source of counts: `requested` unless that is `AUTO`, else `TABLE`, `COUNTER` or `THROUGHPUT`."""
    if requested != AUTO:
        return requested
    return TABLE if table else COUNTER if counter else THROUGHPUT


def counted_uops(reading: SampledCycles, rule: str) -> float | None:
    """Number of µops by the counter and the rule; None where the counter did not count."""
    count = reading.counters.get(COUNTED)
    if count is None:
        return None
    extra = zen_extra(reading.experiment.schemes[0]) if rule == ZEN_MACRO_OPS else 0
    return count + extra


def zen_extra(scheme: str) -> int:
    """µops that Zen's macro-op counter misses: one per memory operand, two of 256 bits (Postulate 6.5).

    `lea` computes an address only; a loading `mov` is a µop of its own.
    """
    if _LOADING_MOVE.match(scheme):
        return 0
    return sum(2 if int(bits) >= _WIDE else 1 for bits in _MEMORY.findall(scheme))


def integer_count(count: float) -> int | None:
    """The whole number that a count is close to; None for none within `INTEGER_TOLERANCE`."""
    nearest = round(count)
    return nearest if abs(count - nearest) <= INTEGER_TOLERANCE else None
