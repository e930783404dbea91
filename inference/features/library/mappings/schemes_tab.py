"""The scheme table of a mapping: µops, and predicted and measured cycles of one instance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from inference.core.experiment import Experiment
from inference.core.mapping import HiddenUops, Uops, hidden_in, hidden_kinds
from inference.core.mapping import PortMapping as MappingValue
from inference.core.measured_slots import MeasuredSlots, SlotReading
from inference.core.metrics import SchemeError
from inference.core.throughput import inverse_throughput
from inference.features.library.mappings.query import measured_slots_of
from inference.isa.search import SearchError
from inference.models import Evaluation, ExperimentSet, InstructionScheme, PortMapping
from inference.models.scheme_search import FIT, annotate_fit, search_schemes
from inference.storage.evaluations import evaluations_of, residuals_in
from inference.storage.judging import grounds_of
from inference.storage.singletons import Singleton, comparable_sets, measured_singletons, sets_with_singletons
from inference.web.listed_mappings import source_label
from inference.web.paging import Order, Page, page_in_memory
from inference.web.validation import choice_parameter, number_parameter

ALONE_TOLERANCE = 0.10
"""Share of the measured time of one instance above which a prediction is contradicted."""

MEAN_TOLERANCE = 20.0
"""Mean error in per cent over the experiments with a scheme above which its µops are contradicted."""


@dataclass(frozen=True)
class Check:
    """A check of a scheme's µops: number of `experiments` in the best evaluation and their mean `error` in
    per cent, None without any; `contradicted`: address of the contradicting measurements, "" without any.
    """

    experiments: int = 0
    error: float | None = None
    contradicted: str = ""


class Checks:
    """Checks of a mapping's schemes by its most informative evaluation (two queries)."""

    def __init__(self, row: PortMapping) -> None:
        self._row = row
        self.evaluation: Evaluation | None = evaluations_of(row).filter(unit=Evaluation.Unit.CYCLES).first()
        errors = residuals_in(self.evaluation) if self.evaluation is not None else ()
        self._errors: Mapping[str, SchemeError] = {error.scheme: error for error in errors}

    @property
    def on(self) -> str:
        """The label of the evaluation's measurements, "" without an evaluation."""
        return "" if self.evaluation is None else source_label(self.evaluation)

    def of(
        self, pk: int, text: str, predicted: float, measured: float | None, experiment: int | None
    ) -> Check | None:
        """The check of a scheme by its time alone (`experiment`) and in mixes; None without measurements."""
        error = self._errors.get(text)
        if error is None and measured is None:
            return None
        url = ""
        if measured and experiment is not None and abs(predicted - measured) > ALONE_TOLERANCE * measured:
            url = f"{reverse('experiment', args=[experiment])}?mapping={self._row.pk}"
        elif error is not None and error.absolute > MEAN_TOLERANCE and self.evaluation is not None:
            query = {"tab": "accuracy", "set": self.evaluation.experiment_set_id or "held-out", "scheme": pk}
            url = f"{reverse('mapping', args=[self._row.pk])}?{urlencode(query)}#bin"
        if error is None:
            return Check(contradicted=url)
        return Check(error.n, error.absolute, url)


@dataclass(frozen=True)
class SchemeRow:
    """A row of the table.

    Attributes:
        slots: Issue slots.
        predicted, measured: Cycles of one instance.
        hidden: µops that no experiment can reveal.
        counted: Its issue slots from padded experiments.
        check: None without measurements.
        conflicts: Differing results of the machine.
    """

    pk: int
    text: str
    uops: Uops
    slots: int
    predicted: float
    singleton: Singleton | None
    hidden: HiddenUops | None = None
    counted: SlotReading | None = None
    check: Check | None = None
    conflicts: Sequence[str] = ()

    @property
    def measured(self) -> float | None:
        """Cycles of one instance, None if not measured."""
        return None if self.singleton is None else self.singleton.cycles

    @property
    def difference(self) -> float | None:
        """The error in per cent of the measurement."""
        return None if self.measured is None else 100 * (self.predicted - self.measured) / self.measured


UNKNOWN_LAST = float("-inf")
COLUMNS: dict[str, Callable[[SchemeRow], Any]] = {
    "text": lambda row: row.text,
    "predicted": lambda row: row.predicted,
    "measured": lambda row: UNKNOWN_LAST if row.measured is None else row.measured,
    "difference": lambda row: UNKNOWN_LAST if row.difference is None else abs(row.difference),
    "uops": lambda row: sum(count for _, count in row.uops),
    "slots": lambda row: row.slots,
    "checked": lambda row: (row.check is not None, (row.check is not None and row.check.error) or 0.0),
}


def schemes_tab(request: HttpRequest, row: PortMapping, value: MappingValue) -> dict[str, Any]:
    """Context with the table, searched in the syntax of the instruction set's page."""
    q = request.GET.get("q", "").strip()
    set_id = number_parameter(request, "set")
    port = choice_parameter(request, "port", tuple(row.ports), "")
    usual = FIT if q else "text"
    order = Order.read(request.GET.get("sort", ""), {key: key for key in (*COLUMNS, FIT)}, usual)
    label, sets = comparable_sets(row)
    context: dict[str, Any] = {
        "q": q,
        "sort": "" if order.column == FIT else str(order),
        "measured_in": set_id,
        "port": port,
        "port_choices": [(name, f"port {name}") for name in row.ports],
        "sets": sets_with_singletons(row.isa),
        "own_sets_label": label,
        "page": Page((), 0),
        "measured_slots": (measured_slots := measured_slots_of(row)),
        "checks": (checks := Checks(row)),
    }
    try:
        rows = [
            _with_check(line, checks)
            for line in _rows(row, value, q, sets if set_id is None else [set_id], measured_slots)
            if not port or _runs_on(line.uops, row.ports.index(port))
        ]
    except SearchError as error:
        return {**context, "error": str(error)}
    if order.column in COLUMNS:
        rows.sort(key=COLUMNS[order.column], reverse=order.descending)
    return {**context, "page": page_in_memory(rows, number_parameter(request, "page", 0) or 0)}


def _runs_on(uops: Uops, port: int) -> bool:
    return any(mask >> port & 1 for mask, _ in uops)


def _rows(
    row: PortMapping,
    value: MappingValue,
    q: str,
    sets: Sequence[ExperimentSet | int],
    measured_slots: MeasuredSlots | None,
) -> list[SchemeRow]:
    described = InstructionScheme.objects.filter(pk__in=row.usages.values("scheme"))
    matches = annotate_fit(search_schemes(described, q), q).order_by(FIT, "pk") if q else described
    singletons = measured_singletons(row.isa, sets)
    hidden = hidden_kinds(value)
    counted = {} if measured_slots is None else measured_slots.readings
    grounds = grounds_of(row)
    return [
        SchemeRow(
            pk=pk,
            text=text,
            uops=value.usage[text],
            slots=value.slots_of(text),
            predicted=inverse_throughput(value, Experiment.of([text])),
            singleton=singletons.get(pk),
            hidden=hidden_in(value, text, hidden),
            counted=counted.get(text),
            conflicts=grounds.conflict_words(text),
        )
        for pk, text in matches.values_list("pk", "text")
    ]


def _with_check(row: SchemeRow, checks: Checks) -> SchemeRow:
    experiment = None if row.singleton is None else row.singleton.experiment_id
    return replace(row, check=checks.of(row.pk, row.text, row.predicted, row.measured, experiment))
