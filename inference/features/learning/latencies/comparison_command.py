"""What `manage.py latencies --show NAME --compare NAME …` prints."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from inference.features.learning.latencies.comparison import (
    USUAL_ORDER,
    KnownLatency,
    chosen_latencies,
    compared_json,
    comparison_of_latencies,
)
from inference.models import LatencySet
from inference.web.paging import Order


def comparison_lines(rows: Sequence[LatencySet], *, as_json: bool) -> Iterator[str]:
    """The counts, then the schemes that differ, the largest differences first; as JSON all in one line.

    Raises `ExchangeError` for sets that cannot be compared.
    """
    found = comparison_of_latencies(*rows)
    counts = found.counts()
    schemes = chosen_latencies(found, rows[0].isa_id, Order.of(USUAL_ORDER), different=True)
    if as_json:
        told = {"sets": [row.name for row in rows], **counts, "only": found.only}
        yield json.dumps({**told, "differences": compared_json(schemes)})
        return
    only = (f"{n} only in {row.name!r}" for row, n in zip(rows, found.only, strict=True))
    shared = "both" if len(rows) == 2 else "several"
    yield (
        f"{counts['shared']} schemes in {shared}: {counts['same']} the same, "
        f"{counts['different']} different, {counts['unknown']} not comparable; {', '.join(only)}"
    )
    for scheme in schemes:
        yield scheme.scheme
        for pair in scheme.pairs:
            mark = "≠" if pair.relation == "different" else " "
            yield f"{mark} {pair.source} → {pair.destination}: {' | '.join(map(_told, pair.said))}"


def _told(known: KnownLatency | None) -> str:
    """A latency in a few characters."""
    if known is None:
        return "–"
    if known.breaks:
        return "no dependency"
    if known.least is None or known.most is None:
        return "–" if known.at_most is None else f"≤ {known.at_most:.2f}"
    return f"{known.least:.2f}" + ("" if known.least == known.most else f" to {known.most:.2f}")
