"""Textbook latencies of pairs of operands, core by core: what chains of dependencies have to find.

An entry is a scheme, which stands for every way from a register of its operands (that of an address among
them) to its first operand, or a link as `ChainLink` prints it. A range is there where sources differ, where
values matter (divisions), or where the way back does (loads). Left out is what a rename stage may eliminate,
and of each core what its sources contradict each other about.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from inference.isa.chains import ChainLink, Latency
from inference.isa.tables import table_beside
from inference.isa.x86.core_tables import core_table
from inference.isa.x86.operand_places import DATA, FLAGS, links_of

_TABLES = table_beside(__file__)
DOCUMENTED_CORES = tuple(_TABLES["cores"])


@cache
def known_latencies(core: str) -> Mapping[ChainLink, Latency]:
    """What is documented of the core with this name; empty for one without a table."""
    entries = core_table(_TABLES, core).numbers
    return {link: _latency(cycles) for entry, cycles in entries.items() for link in _links(entry)}


def documented_latency(core: str, link: ChainLink) -> Latency | None:
    """The least and the most cycles that a link takes on a core; None where that is not documented."""
    return known_latencies(core).get(link)


def latency_source(core: str) -> str:
    """Who says so; "" of a core without a table."""
    return core_table(_TABLES, core).source


def _latency(cycles: str) -> Latency:
    least, _, most = cycles.partition("-")
    return _number(least), _number(most or least)


def _number(text: str) -> float:
    return float(text) if "." in text else int(text)


def _links(entry: str) -> list[ChainLink]:
    """What an entry of a table stands for."""
    if "→" in entry:
        text, _, way = entry.rpartition(": ")
        source, destination = way.split(" → ")
        return [ChainLink(text, source, destination)]
    return [
        link
        for link in links_of(entry)
        if link.destination == "1" and link.source != FLAGS and not link.source.endswith(DATA)
    ]
