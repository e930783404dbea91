"""What `manage.py latencies --show NAME --compare NAME` prints."""

from __future__ import annotations

import json
from collections.abc import Iterator

from inference.features.latencies.comparison import (
    USUAL_ORDER,
    KnownLatency,
    chosen_latencies,
    compared_json,
    comparison_of_latencies,
)
from inference.models import LatencySet
from inference.web.paging import Order


def comparison_lines(row: LatencySet, other: LatencySet, *, as_json: bool) -> Iterator[str]:
    """The counts, then the schemes that differ, the largest differences first; as JSON all in one line.

    Raises `ExchangeError` for different instruction sets.
    """
    found = comparison_of_latencies(row, other)
    counts = found.counts()
    schemes = chosen_latencies(found, row.isa_id, Order.of(USUAL_ORDER), different=True)
    if as_json:
        named = {"first": row.name, "second": other.name}
        yield json.dumps({**named, **counts, "differences": compared_json(schemes)})
        return
    yield (
        f"{counts['both']} schemes in both: {counts['same']} the same, {counts['different']} different, "
        f"{counts['unknown']} not comparable; {counts['only_first']} only in {row.name!r}, "
        f"{counts['only_second']} only in {other.name!r}"
    )
    for scheme in schemes:
        yield scheme.scheme
        for pair in scheme.pairs:
            mark = "≠" if pair.relation == "different" else " "
            yield f"{mark} {pair.source} → {pair.destination}: {_told(pair.first)} | {_told(pair.second)}"


def _told(known: KnownLatency | None) -> str:
    """A latency in a few characters."""
    if known is None:
        return "–"
    if known.breaks:
        return "no dependency"
    if known.least is None or known.most is None:
        return "–" if known.at_most is None else f"≤ {known.at_most:.2f}"
    return f"{known.least:.2f}" + ("" if known.least == known.most else f" to {known.most:.2f}")
