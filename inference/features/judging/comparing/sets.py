"""Two experiment sets side by side: how well the experiments that both have measured repeat (thesis §3.2.2).

Of an experiment that a set has several times, the median of its settled measurements counts. Differences are
relative to the first set. Small sets are compared when they are looked at, large ones by a run once; what it
has stored counts until one of the sets changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

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
from inference.features.judging.engine.item_answers import MedianAnswers, measured_elsewhere
from inference.features.judging.engine.judge_jobs import JudgeJob
from inference.features.judging.engine.query import (
    EVERYTHING,
    Key,
    ViewQuestion,
    agreement_of,
    columns_of,
    comparison_rows,
    sheet_of,
)
from inference.features.judging.engine.request import COMPARE_SETS, JudgeConfig
from inference.features.judging.engine.sources import SourceKind
from inference.features.library.sets.query import KEPT_FROM
from inference.formats.errors import ExchangeError
from inference.models import ComparedColumn, Comparison, ExperimentSet, Measurement, Run
from inference.runs.kinds import Store, Task
from inference.runs.request import RunRequest, needed_row, read_row
from inference.storage.set_summary import rows_of
from inference.storage.streaming import set_chunks

OF_FORMER_FILES = {"schemes": "differences", "lengths": "within"}
"""{what the rows of the former file are: the view that it is}."""
SET_ROWS = ExperimentSet.objects.select_related("isa", "machine", "run").defer("summary")


@dataclass(frozen=True, eq=False)
class ComparedSets:
    """A comparison of two sets: `n` experiments that both have, and as many that `only` the one or the other
    has.
    """

    first: ExperimentSet
    second: ExperimentSet
    row: Comparison

    @cached_property
    def question(self) -> ViewQuestion:
        """What the views of the engine are asked."""
        columns = columns_of(self.row)
        return ViewQuestion(self.row, columns, columns[0])

    @cached_property
    def agreement(self) -> Agreement:
        return agreement_of(self.question.column, EVERYTHING)

    @property
    def n(self) -> int:
        return self.agreement.scores.n

    @cached_property
    def only(self) -> tuple[int, int]:
        stored = self.row.unsaved is None
        there = self.row.run.result["of_second"] if stored else _settled_experiments(self.second)
        return self.row.n - self.n, there - self.n

    @cached_property
    def closeness(self) -> Closeness | None:
        """Of all experiments; None where the sets have none in common."""
        return closeness(self.question)

    @property
    def lengths(self) -> dict[int, Closeness]:
        return closeness_by_length(self.question)

    @property
    def schemes(self) -> tuple[SchemeError, ...]:
        """The largest mean difference first."""
        return differences_by_scheme(self.question)

    def figures(self) -> Json:
        """What API and shell give alike."""
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
    """Raises `ExchangeError` for a set beside itself, and for sets of different instruction sets."""
    if first.pk == second.pk:
        raise ExchangeError(f"{first.name!r} would be compared with itself: choose two sets")
    if first.isa_id != second.isa_id:
        raise ExchangeError(f"{first.name!r} and {second.name!r} are for different instruction sets")


def compared_sets(
    first: ExperimentSet, second: ExperimentSet, *, at_once: bool = False
) -> ComparedSets | None:
    """The comparison if it is stored or small sets make it quick, None where a run has to make it.

    `at_once`: made now however large the sets are, about 3 s for 10^6 measurements in each. Raises
    `ExchangeError` for sets that cannot be compared.
    """
    require_comparable(first, second)
    state = _state(first, second)
    stored = comparison_rows().filter(run__kind=COMPARE_SETS, run__config=_config(first, second))
    row = stored.order_by("-pk").first()
    if row is not None and row.run.result["of"] == state:
        return ComparedSets(first, second, row)
    if at_once or all(one["count"] < KEPT_FROM for one in state):
        return ComparedSets(first, second, _unsaved(first, second, state))
    return None


def comparing_run(first: ExperimentSet, second: ExperimentSet) -> Run | None:
    """The run that makes the comparison, if one was asked for and is not over."""
    runs = Run.objects.filter(kind=COMPARE_SETS, config=_config(first, second))
    return runs.exclude(state__in=Run.FINAL).first()


def _config(first: ExperimentSet, second: ExperimentSet) -> Json:
    return {"first": first.pk, "second": second.pk}


def _state(first: ExperimentSet, second: ExperimentSet) -> list[Json]:
    """Which measurements a comparison is of."""
    return [rows_of(first), rows_of(second)]


def _settled_experiments(row: ExperimentSet) -> int:
    settled = row.measurements.filter(state=Measurement.State.SETTLED)
    return settled.order_by().values("experiment").distinct().count()


def _unsaved(first: ExperimentSet, second: ExperimentSet, state: list[Json]) -> Comparison:
    key = Key(_pair_sheet, (first.pk, second.pk, str(state)))
    table = sheet_of(key).items.table
    query = urlencode(_config(first, second))
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


def _pair_sheet(first: int, second: int, _state: str) -> AnswerSheet:
    one, other = (SET_ROWS.get(pk=pk) for pk in (first, second))
    chunks = list(set_chunks(one))
    items, cycles = median_items(experiment_items(chunks), measured_cycles(chunks))
    return AnswerSheet(items, cycles, [measured_elsewhere(items, other)])


class SetPair(RunRequest):
    """The numbers of two experiment sets."""

    noun = "a comparison of sets"
    first: int
    second: int


class CompareSetsJob(JudgeJob):
    """Runs of kind `compare-sets`; see `SetPair`."""

    def check(self, config: Json) -> Json:
        """The description; raises `ConfigError` and, for sets that cannot be compared, `ExchangeError`."""
        pair = SetPair.read(config)
        require_comparable(*(read_row(SET_ROWS, name, pk) for name, pk in pair.as_json().items()))
        return pair.as_json()

    def work(self, task: Task) -> Store:
        """Compare, to be stored when the run is finished. Raises `JobError` where a set is gone."""
        first, second = (needed_row(SET_ROWS, task.run.config[name]) for name in ("first", "second"))
        state = _state(first, second)  # before: what comes in meanwhile makes it out of date, not wrong
        config = JudgeConfig(experiment_set=first.pk, sources=[f"{SourceKind.SET}:{second.pk}"])

        def facts(sheet: AnswerSheet, _columns: Any) -> Json:
            points = sheet.compare(0)
            share = Closeness.of(100 * abs(points.errors)).share(5.0) if len(points) else None
            return {
                **_config(first, second),
                "name": f"{first.name} and {second.name}",
                "n": len(points),
                "within_5": None if share is None else round(share, 2),
                "of": state,
                "of_second": _settled_experiments(second),
            }

        reader = MedianAnswers(task, first, config, [])
        return self.compared(task, config, reader, facts, needs_reference=False)
