"""What a run that checks the port mapping model has told, folded from its journal: live as years later."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from inference.core.model_check import Alone, AloneSummary, summary_of
from inference.core.protocols import Json
from inference.features.judging.engine.tables import code, number
from inference.features.judging.model_check.events import MixesMeasured, OrdersMeasured, SchemesAlone
from inference.formats import journal_events
from inference.models import PortMapping, Run, RunEvent
from inference.web.published_page import CellKind, PublishedColumn, PublishedTable

KINDS = (SchemesAlone.kind, MixesMeasured.kind, OrdersMeasured.kind)
"""The events that this takes in; see `inference.features.judging.model_check.job`."""


@dataclass(frozen=True)
class ModelCheck:
    """Schemes alone in the order of their measurement, mixes and orders by length as the events have them."""

    alone: tuple[Alone, ...]
    mixes: tuple[Json, ...]
    orders: tuple[Json, ...]

    @property
    def summary(self) -> AloneSummary:
        return summary_of(self.alone)


def model_check_of(run: Run) -> ModelCheck:
    """Everything told so far; what an attempt told again replaces what was told before (one query)."""
    alone: dict[str, Alone] = {}
    lengths: dict[str, dict[int, Json]] = {MixesMeasured.kind: {}, OrdersMeasured.kind: {}}
    events = RunEvent.objects.filter(run=run, kind__in=KINDS).order_by("seq")
    for kind, payload in events.values_list("kind", "payload"):
        event = journal_events.read(kind, payload)
        if isinstance(event, SchemesAlone):
            alone |= {row.scheme: row for row in event.rows}
        elif isinstance(event, MixesMeasured | OrdersMeasured):
            lengths[kind][event.length] = payload
    mixes, orders = (tuple(found[length] for length in sorted(found)) for found in lengths.values())
    return ModelCheck(tuple(alone.values()), mixes, orders)


def reference_of(run: Run) -> PortMapping | None:
    """The port mapping that the run compares with; None without one, and when it has been deleted."""
    return PortMapping.objects.filter(pk=run.config.get("reference")).first()


def schemes_table(alone: Iterable[Alone]) -> PublishedTable:
    """A row for every scheme, with its error in per cent of the measurement."""
    rows = tuple(
        (
            *(scheme.scheme, scheme.verdict.value, scheme.measured, scheme.modelled),
            *(None if scheme.error is None else 100 * scheme.error, scheme.note),
        )
        for scheme in alone
    )
    heads = (
        *(code("scheme"), PublishedColumn("verdict", CellKind.CHOICE), number("cycles measured", 3)),
        *(number("cycles modelled", 3), number("error %", 1), PublishedColumn("note")),
    )
    return PublishedTable("schemes", "Schemes alone", heads, rows)


def mixes_table(mixes: Iterable[Json]) -> PublishedTable:
    """A row for every length, without scores where nothing predicts."""
    rows = []
    for of_length in mixes:
        scores = of_length["scores"] or {}
        counts = (of_length[name] for name in ("length", "asked", "settled"))
        agreement = (scores.get(name) for name in ("mape", "pearson", "kendall"))
        rows.append((*counts, *agreement, of_length["slower"], of_length["faster"]))
    heads = (
        *(number(title, 0) for title in ("instructions", "experiments", "settled")),
        *(number("MAPE %", 1), number("Pearson r", 3), number("Kendall tau", 3)),
        *(number("slower than in turn", 0), number("faster than alone", 0)),
    )
    return PublishedTable("mixes", "Random mixes by length", heads, tuple(rows))


def orders_table(orders: Iterable[Json]) -> PublishedTable:
    """A row for every length, as in Table 3.1."""
    names = ("length", "asked", "samples", "mean", "largest", "notable")
    rows = tuple(tuple(of_length[name] for name in names) for of_length in orders)
    heads = (
        *(number(title, 0) for title in ("instructions", "experiments", "compared")),
        *(number("mean CPI", 4), number("largest CPI", 3), number("over 0.05 CPI", 0)),
    )
    return PublishedTable("orders", "The same mixes in other orders", heads, rows)


TABLES: dict[str, Callable[[ModelCheck], PublishedTable]] = {
    "schemes": lambda check: schemes_table(check.alone),
    "mixes": lambda check: mixes_table(check.mixes),
    "orders": lambda check: orders_table(check.orders),
}
"""{name: table} of what is exported."""
