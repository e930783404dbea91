"""Core models as a picture, and as a table of what each port is for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from inference.core.core_model import CoreOverview
from inference.core.judging.contradictions import NOT_SETTLED
from inference.figures.core_diagram import core_drawing
from inference.formats.csv_cells import written
from inference.formats.errors import ExchangeError
from inference.formats.provenance import head_of

KINDS_HEADER = ("kind", "ports", "units", "schemes", "cycles", "least latency", "most latency", NOT_SETTLED)


def write_diagram(name: str, overview: CoreOverview, port_names: Mapping[str, str]) -> str:
    """The picture as a file. Raises `ExchangeError` for a model of which nothing can be drawn."""
    if not overview.ports and overview.front_end is None:
        raise ExchangeError(f"the core model {name!r} has neither ports nor a front end to draw")
    return core_drawing(overview, port_names).file()


def write_kinds_csv(
    name: str, overview: CoreOverview, port_names: Mapping[str, str], unsettled: Mapping[str, int]
) -> str:
    """A row per kind of instructions: the ports that run most of them, and how long they take.

    `unsettled`: of how many schemes of a kind other results say something else. Raises `ExchangeError` for a
    model without ports.
    """
    if not overview.ports:
        raise ExchangeError(f"the core model {name!r} has no port mapping, without which there is no table")
    rows = _rows(overview, port_names, unsettled)
    return written(KINDS_HEADER, rows, head_of(**{"core model": name}))


def _rows(
    overview: CoreOverview, port_names: Mapping[str, str], unsettled: Mapping[str, int]
) -> Iterator[list[object]]:
    for kind in overview.kinds:
        ports = " ".join(port_names.get(port, port) for port in kind.ports)
        latencies = (None, None) if kind.latencies is None else kind.latencies
        contradicted = unsettled.get(kind.name, 0)
        yield [kind.name, ports, len(kind.ports), kind.schemes, kind.cycles, *latencies, contradicted]
