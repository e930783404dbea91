"""The scheme table of a mapping: µops, and how long one instance takes, predicted and measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from django.http import HttpRequest

from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping as Mapping
from inference.core.mapping import Uops
from inference.core.throughput import inverse_throughput
from inference.isa.search import SearchError
from inference.models import ExperimentSet, ExperimentTerm, InstructionScheme, Measurement, PortMapping
from inference.models.scheme_search import search_schemes
from inference.queries.paging import PAGE_SIZE, Order, Page
from inference.views.address import whole_number


@dataclass(frozen=True)
class Singleton:
    """What measuring one instance of a scheme gave: the median over the sets, and its experiment."""

    cycles: float
    experiment_id: int


@dataclass(frozen=True)
class Row:
    """One scheme of the table; `predicted` and `measured` are cycles of one instance."""

    pk: int
    text: str
    uops: Uops
    predicted: float
    singleton: Singleton | None

    @property
    def measured(self) -> float | None:
        """Cycles of one instance, None where that was never measured."""
        return None if self.singleton is None else self.singleton.cycles

    @property
    def difference(self) -> float | None:
        """Predicted against measured, in per cent of the measurement."""
        return None if self.measured is None else 100 * (self.predicted - self.measured) / self.measured


UNKNOWN_LAST = float("-inf")
COLUMNS: dict[str, Callable[[Row], Any]] = {
    "text": lambda row: row.text,
    "predicted": lambda row: row.predicted,
    "measured": lambda row: UNKNOWN_LAST if row.measured is None else row.measured,
    "difference": lambda row: UNKNOWN_LAST if row.difference is None else abs(row.difference),
    "uops": lambda row: sum(count for _, count in row.uops),
}


def schemes_tab(request: HttpRequest, row: PortMapping, value: Mapping) -> dict[str, Any]:
    """The table, searched with the syntax of the instruction set's page."""
    q = request.GET.get("q", "").strip()
    set_id = whole_number(request, "set")
    order = Order.read(request.GET.get("sort", ""), {key: key for key in COLUMNS}, "text")
    context: dict[str, Any] = {
        "q": q,
        "sort": str(order),
        "measured_in": set_id,
        "sets": ExperimentSet.objects.filter(isa=row.isa, measurements__experiment__length=1).distinct(),
        "page": Page((), 0),
    }
    try:
        rows = _rows(row, value, q, set_id)
    except SearchError as error:
        return {**context, "error": str(error)}
    rows.sort(key=COLUMNS[order.column], reverse=order.descending)
    return {**context, "page": _page(rows, whole_number(request, "page", 0) or 0)}


def _rows(row: PortMapping, value: Mapping, q: str, set_id: int | None) -> list[Row]:
    described = InstructionScheme.objects.filter(pk__in=row.usages.values("scheme"))
    found = search_schemes(described, q) if q else described
    singletons = measured_singletons(row, set_id)
    return [
        Row(
            pk=pk,
            text=text,
            uops=value.usage[text],
            predicted=inverse_throughput(value, Experiment.of([text])),
            singleton=singletons.get(pk),
        )
        for pk, text in found.values_list("pk", "text")
    ]


def measured_singletons(row: PortMapping, set_id: int | None) -> dict[int, Singleton]:
    """{scheme id: what one instance was measured to take}, in one set or in all of the instruction set."""
    terms = ExperimentTerm.objects.filter(experiment__isa=row.isa, experiment__length=1)
    measured = Measurement.objects.filter(
        experiment__in=terms.values("experiment"), state=Measurement.State.SETTLED
    )
    if set_id is not None:
        measured = measured.filter(experiment_set=set_id)
    schemes = dict(terms.values_list("experiment_id", "scheme_id"))
    cycles: dict[int, list[float]] = defaultdict(list)
    for experiment_id, value in measured.values_list("experiment_id", "cycles"):
        cycles[experiment_id].append(value)
    return {
        schemes[experiment_id]: Singleton(median(values), experiment_id)
        for experiment_id, values in cycles.items()
    }


def _page(rows: Sequence[Row], number: int) -> Page[Row]:
    """Page `number` from 0: the whole table is in memory here, since every column is computed."""
    start = number * PAGE_SIZE
    return Page(
        rows[start : start + PAGE_SIZE],
        len(rows),
        next_cursor=str(number + 1) if start + PAGE_SIZE < len(rows) else None,
        previous_cursor=str(number - 1) if number else None,
    )
