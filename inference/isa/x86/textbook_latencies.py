"""Textbook latencies of pairs of operands, by core, as a reference for chains.

An entry is a scheme, which stands for all ways from a register of its operands (that of an address included)
to its first operand, or a link as `ChainLink` prints it. An entry is a range where sources differ, where
values make a difference (divisions), or where the way back does (loads). Instructions that a rename stage may
eliminate are omitted, and so are numbers of a core on which its sources contradict each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from inference.isa.chains import ChainLink, Latency
from inference.isa.tables import table_of_module
from inference.isa.x86.core_tables import core_table
from inference.isa.x86.link_ends import DATA, FLAGS, links_of

_TABLES = table_of_module(__file__)
DOCUMENTED_CORES = tuple(_TABLES["cores"])


@cache
def documented_latencies(core: str) -> Mapping[ChainLink, Latency]:
    """The documented latencies of a core, in cycles; empty for a core without a table."""
    entries = core_table(_TABLES, core).numbers
    return {link: _latency(cycles) for entry, cycles in entries.items() for link in _links(entry)}


def latency_source(core: str) -> str:
    """The documents of a core's table; "" without a table."""
    return core_table(_TABLES, core).source


def _latency(cycles: str) -> Latency:
    lowest, _, highest = cycles.partition("-")
    return _number(lowest), _number(highest or lowest)


def _number(text: str) -> float:
    return float(text) if "." in text else int(text)


def _links(entry: str) -> list[ChainLink]:
    if "→" in entry:
        text, _, way = entry.rpartition(": ")
        source, destination = way.split(" → ")
        return [ChainLink(text, source, destination)]
    return [
        link
        for link in links_of(entry)
        if link.destination == "1" and link.source != FLAGS and not link.source.endswith(DATA)
    ]
