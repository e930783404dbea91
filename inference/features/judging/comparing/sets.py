"""Comparisons of two experiment sets: how well their common experiments repeat (thesis §3.2.2).

The median of an experiment's settled measurements counts. Differences are relative to the first set. Small
sets are compared when they are viewed, large ones by a run, whose result counts until one of the sets
changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from django.urls import reverse
from django.utils.http import urlencode

from inference.core.judging.agreement import Agreement
from inference.core.judging.sheet import AnswerSheet
from inference.core.metrics import DIGITS, SchemeError
from inference.core.protocols import Json
from inference.features.judging.engine.differences_view import (
    TOLERANCES,
    Closeness,
    closeness,
    closeness_by_length,
    differences_by_scheme,
)
from inference.features.judging.engine.evaluation_sheets import (
    experiment_items,
    measured_cycles,
    median_items,
    unsaved_comparison,
)
from inference.features.judging.engine.item_answers import answers_of_other_set
from inference.features.judging.engine.query import (
    FULL_COMPARISON,
    SheetKey,
    ViewQuestion,
    agreement_of,
    columns_of,
    comparison_rows,
    sheet_of,
)
from inference.features.judging.engine.request import COMPARE_SETS
from inference.features.library.sets.query import STORED_FROM
from inference.formats.problems import ExchangeError
from inference.models import ComparedColumn, Comparison, ExperimentSet, Measurement, Run
from inference.storage.rows import rows_of
from inference.storage.streaming import set_chunks

OF_FORMER_FILES = {"schemes": "differences", "lengths": "within"}
"""{rows of a former CSV file: the view that replaces it}."""
SET_ROWS = ExperimentSet.objects.select_related("isa", "machine", "run").defer("summary")


@dataclass(frozen=True, eq=False)
class ComparedSets:
    """A comparison of two sets: `n` common experiments, and the numbers of those in `only` the first or
    second."""

    first: ExperimentSet
    second: ExperimentSet
    row: Comparison

    @cached_property
    def question(self) -> ViewQuestion:
        columns = columns_of(self.row)
        return ViewQuestion(self.row, columns, columns[0])

    @cached_property
    def agreement(self) -> Agreement:
        return agreement_of(self.question.column, FULL_COMPARISON)

    @property
    def n(self) -> int:
        return self.agreement.scores.n

    @cached_property
    def only(self) -> tuple[int, int]:
        stored = self.row.unsaved is None
        there = self.row.run.result["of_second"] if stored else settled_experiments(self.second)
        return self.row.n - self.n, there - self.n

    @cached_property
    def closeness(self) -> Closeness | None:
        """The closeness of all common experiments; None without any."""
        return closeness(self.question)

    @property
    def lengths(self) -> dict[int, Closeness]:
        return closeness_by_length(self.question)

    @property
    def schemes(self) -> tuple[SchemeError, ...]:
        """The mean differences by scheme, the largest first."""
        return differences_by_scheme(self.question)

    def figures(self) -> Json:
        """Scores, median difference in per cent, and numbers of experiments that only one set has."""
        median = self.agreement.median
        return {
            **self.agreement.scores.as_json(),
            "only_first": self.only[0],
            "only_second": self.only[1],
            "median": None if median is None else round(median, DIGITS),
        }


def counts_within(close: Closeness | None) -> list[tuple[float, int]]:
    """(tolerance in per cent, number of experiments within it)."""
    counts = (0,) * len(TOLERANCES) if close is None else close.within
    return list(zip(TOLERANCES, counts, strict=True))


def require_comparable(first: ExperimentSet, second: ExperimentSet) -> None:
    """Raises `ExchangeError` for the same set twice, or different instruction sets."""
    if first.pk == second.pk:
        raise ExchangeError(f"{first.name!r} cannot be compared with itself: choose two sets")
    if first.isa_id != second.isa_id:
        raise ExchangeError(f"{first.name!r} and {second.name!r} are for different instruction sets")


def compared_sets(
    first: ExperimentSet, second: ExperimentSet, *, at_once: bool = False
) -> ComparedSets | None:
    """The comparison if it is stored or the sets are small, None if a run has to compute it.

    `at_once`: compute it even for large sets, about 3 s for 10^6 measurements in each. Raises
    `ExchangeError` for sets that cannot be compared.
    """
    require_comparable(first, second)
    state = state_of_sets(first, second)
    stored = comparison_rows().filter(run__kind=COMPARE_SETS, run__config=pair_config(first, second))
    row = stored.order_by("-pk").first()
    if row is not None and row.run.result["of"] == state:
        return ComparedSets(first, second, row)
    if at_once or all(set_state["count"] < STORED_FROM for set_state in state):
        return ComparedSets(first, second, _unsaved_comparison(first, second, state))
    return None


def comparing_run(first: ExperimentSet, second: ExperimentSet) -> Run | None:
    """The unfinished run that computes the comparison, None without one."""
    runs = Run.objects.filter(kind=COMPARE_SETS, config=pair_config(first, second))
    return runs.exclude(state__in=Run.FINAL).first()


def pair_config(first: ExperimentSet, second: ExperimentSet) -> Json:
    return {"first": first.pk, "second": second.pk}


def state_of_sets(first: ExperimentSet, second: ExperimentSet) -> list[Json]:
    """The state of both sets, which tells whether a stored comparison is up to date."""
    return [rows_of(first), rows_of(second)]


def settled_experiments(row: ExperimentSet) -> int:
    settled = row.measurements.filter(state=Measurement.State.SETTLED)
    return settled.order_by().values("experiment").distinct().count()


def _unsaved_comparison(first: ExperimentSet, second: ExperimentSet, state: list[Json]) -> Comparison:
    key = SheetKey(_pair_sheet, (first.pk, second.pk, str(state)))
    table = sheet_of(key).items.table
    query = urlencode(pair_config(first, second))
    return unsaved_comparison(
        key,
        [{"kind": ComparedColumn.Kind.SET, "name": second.name, "experiment_set": second}],
        f"{reverse('sets-compare')}?{query}",
        f"{reverse('sets-compare-csv')}?{query}",
        isa=first.isa,
        experiment_set=first,
        source=first.name,
        reference=first.name,
        schemes=[] if table is None else list(table.schemes),
    )


def _pair_sheet(first: int, second: int, state_of_sets: str) -> AnswerSheet:
    first_row, second_row = (SET_ROWS.get(pk=pk) for pk in (first, second))
    chunks = list(set_chunks(first_row))
    items, cycles = median_items(experiment_items(chunks), measured_cycles(chunks))
    return AnswerSheet(items, cycles, [answers_of_other_set(items, second_row)])
