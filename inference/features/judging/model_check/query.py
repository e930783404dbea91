"""What a run that checks the port mapping model has told, folded from its journal: live as years later."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from inference.core.model_check import Alone, AloneSummary, summary_of
from inference.core.protocols import Json
from inference.features.judging.model_check.events import MixesMeasured, OrdersMeasured, SchemesAlone
from inference.formats import journal_events
from inference.formats.csv_cells import written
from inference.models import PortMapping, Run, RunEvent

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


TABLES: dict[str, Callable[[ModelCheck], str]] = {
    "schemes": lambda check: write_alone_csv(check.alone),
    "mixes": lambda check: write_mixes_csv(check.mixes),
    "orders": lambda check: write_orders_csv(check.orders),
}
"""{name: CSV} of what is exported, without a head."""


ALONE = ("scheme", "verdict", "cycles measured", "cycles modelled", "error %", "note")
MIXES = (
    *("instructions", "experiments", "settled", "MAPE %", "Pearson r", "Kendall tau"),
    *("slower than in turn", "faster than alone"),
)
ORDERS = ("instructions", "experiments", "compared", "mean CPI", "largest CPI", "over 0.05 CPI")


def write_alone_csv(alone: Iterable[Alone]) -> str:
    """A row for every scheme."""
    return written(
        ALONE,
        (
            (
                each.scheme,
                each.verdict.value,
                each.measured,
                each.modelled,
                None if each.error is None else 100 * each.error,
                each.note,
            )
            for each in alone
        ),
    )


def write_mixes_csv(mixes: Iterable[Mapping[str, Any]]) -> str:
    """A row for every length."""
    rows = []
    for each in mixes:
        scores = each["scores"] or {}
        agreement = (scores.get(name) for name in ("mape", "pearson", "kendall"))
        numbers = (each[name] for name in ("length", "asked", "settled"))
        rows.append((*numbers, *agreement, each["slower"], each["faster"]))
    return written(MIXES, rows)


def write_orders_csv(orders: Iterable[Mapping[str, Any]]) -> str:
    """A row for every length, as in Table 3.1."""
    names = ("length", "asked", "samples", "mean", "largest", "notable")
    return written(ORDERS, ([each[name] for name in names] for each in orders))
