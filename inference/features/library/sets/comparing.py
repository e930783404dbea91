"""Two experiment sets side by side: how well the experiments that both have measured repeat (thesis §3.2.2).

Of an experiment that a set has several times, the median of its settled measurements counts. Differences are
relative to the first set. What is kept of a comparison has a bounded size, however large the sets are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import TypeAdapter

from inference.core.arrays import Floats, Int64s
from inference.core.event_fields import stored_as
from inference.core.metrics import Scores, score
from inference.core.residuals import Residuals, SchemeError
from inference.figures.heatmap import HeatMap, heat_map
from inference.formats.problems import ExchangeError
from inference.formats.quoting import written
from inference.models import ExperimentSet, Measurement, SetComparison
from inference.storage.exported import provenance_of
from inference.storage.listing import WorstPredictions, listing_of
from inference.storage.rows import rows_of
from inference.storage.streaming import CHUNK, set_chunks

TOLERANCES = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
"""Per cent: the shares that are within so much of each other are kept."""


class LengthAgreement(NamedTuple):
    """The `n` common experiments of so many instructions: mean absolute difference in per cent, and how many
    are within each of the tolerances.
    """

    length: int
    n: int
    mean: float
    within: tuple[int, ...]

    def share(self, tolerance: float) -> float:
        """Per cent of them that are within a tolerance."""
        return 100 * self.within[TOLERANCES.index(tolerance)] / self.n


@dataclass(frozen=True)
class SetReport:
    """How two sets compare: `n` experiments that both have, and as many that `only` the one or the other has.

    `median`: of the absolute differences, in per cent, None for n = 0. `within`: how many are within each of
    `TOLERANCES`. `listing` names experiments by their rows' ids: the worst, and those of each bin of the heat
    map, which has the second set upwards and the first to the right.
    """

    n: int
    only: tuple[int, int]
    scores: Scores
    median: float | None
    within: tuple[int, ...]
    lengths: tuple[LengthAgreement, ...]
    heat_map: HeatMap
    listing: Annotated[
        WorstPredictions, stored_as(dict[str, Any], WorstPredictions.as_json, WorstPredictions.from_json)
    ]

    @property
    def schemes(self) -> Sequence[SchemeError]:
        """The largest mean difference first."""
        return self.listing.schemes or ()

    def share(self, tolerance: float) -> float | None:
        """Per cent of the common experiments that are within a tolerance; None where there is none."""
        return 100 * self.within[TOLERANCES.index(tolerance)] / self.n if self.n else None

    def as_json(self) -> dict[str, Any]:
        """Plain data; `from_json` reads it back."""
        written: dict[str, Any] = _STORED.dump_python(self, mode="json")
        return written

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SetReport:
        return _STORED.validate_python(data)


_STORED = TypeAdapter(SetReport)


def require_comparable(first: ExperimentSet, second: ExperimentSet) -> None:
    """Raises `ExchangeError` for a set beside itself, and for sets of different instruction sets."""
    if first.pk == second.pk:
        raise ExchangeError(f"{first.name!r} would be compared with itself: choose two sets")
    if first.isa_id != second.isa_id:
        raise ExchangeError(f"{first.name!r} and {second.name!r} are for different instruction sets")


def compare_sets(first: ExperimentSet, second: ExperimentSet) -> SetReport:
    """Go through both sets: about 3 s for 10^6 measurements in each. Raises `ExchangeError`."""
    require_comparable(first, second)
    here, there = _medians(first), _medians(second)
    common, at, beside = np.intersect1d(here.experiments, there.experiments, True, return_indices=True)
    a, b = here.cycles[at], there.cycles[beside]
    residuals = Residuals()
    lengths = np.zeros(len(common), dtype=np.int64)
    for part, table, places in _tables_of(first, here.rows[at]):
        residuals.add(table, places, a[part], b[part])
        lengths[part] = table.lengths[places]
    drawn = heat_map(a, b)
    apart = 100 * np.abs(b - a) / a
    return SetReport(
        n=len(common),
        only=(len(here.experiments) - len(common), len(there.experiments) - len(common)),
        scores=score(a, b),
        median=round(float(np.median(apart)), 4) if len(apart) else None,
        within=_within(apart),
        lengths=tuple(_by_length(lengths, apart)),
        heat_map=drawn,
        listing=listing_of(common, a, b, drawn, residuals),
    )


def keep_comparison(first: ExperimentSet, second: ExperimentSet) -> SetComparison:
    """Compare, and keep the result in place of an older one. Raises `ExchangeError`."""
    rows = _state(first, second)  # before: what comes in meanwhile makes the result out of date, not wrong
    return store_comparison(first, second, rows, compare_sets(first, second))


def store_comparison(
    first: ExperimentSet, second: ExperimentSet, rows: list[Any], report: SetReport
) -> SetComparison:
    """Keep a report in place of an older one; `rows`: of which measurements it is."""
    kept, _ = SetComparison.objects.update_or_create(
        first=first, second=second, defaults={"rows": rows, "report": report.as_json()}
    )
    return kept


def kept_comparison(first: ExperimentSet, second: ExperimentSet) -> SetReport | None:
    """What is kept of two sets as they are now, None where there is nothing."""
    kept = SetComparison.objects.filter(first=first, second=second).first()
    if kept is None or kept.rows != _state(first, second):
        return None
    return SetReport.from_json(kept.report)


def _state(first: ExperimentSet, second: ExperimentSet) -> list[Any]:
    return [rows_of(first), rows_of(second)]


@dataclass(frozen=True, eq=False)
class _Medians:
    """int64[n] experiments ascending, float64[n] cycles, int64[n] a row of each, as a place in the set."""

    experiments: Int64s
    cycles: Floats
    rows: Int64s


def _medians(experiment_set: ExperimentSet) -> _Medians:
    settled = experiment_set.measurements.filter(state=Measurement.State.SETTLED)
    pairs = settled.order_by("id").values_list("experiment_id", "cycles").iterator(chunk_size=CHUNK)
    kind = np.dtype([("experiment", np.int64), ("cycles", np.float64)])
    found = np.fromiter(pairs, dtype=kind)
    order = np.lexsort((found["cycles"], found["experiment"]))
    experiments, starts, counts = np.unique(found["experiment"][order], return_index=True, return_counts=True)
    cycles = found["cycles"][order]
    middle = (cycles[starts + (counts - 1) // 2] + cycles[starts + counts // 2]) / 2
    return _Medians(experiments, middle, np.minimum.reduceat(order, starts) if len(starts) else order)


def _tables_of(experiment_set: ExperimentSet, rows: Int64s) -> Iterator[tuple[Int64s, Any, Int64s]]:
    """Chunk by chunk: which of the `rows` are in it, its table of experiments, and their places there.

    `rows` are places among the settled measurements of the set, in any order.
    """
    order = np.argsort(rows)
    ordered = rows[order]
    start = 0
    for chunk in set_chunks(experiment_set):
        end = start + len(chunk.ids)
        low, high = np.searchsorted(ordered, (start, end))
        if high > low:
            yield order[low:high], chunk.table, ordered[low:high] - start
        start = end


def _within(apart: Floats) -> tuple[int, ...]:
    return tuple(int(np.count_nonzero(apart <= tolerance + 1e-9)) for tolerance in TOLERANCES)


def _by_length(lengths: Int64s, apart: Floats) -> Iterator[LengthAgreement]:
    for length in np.unique(lengths).tolist():
        those = apart[lengths == length]
        yield LengthAgreement(length, len(those), round(float(those.mean()), 4), _within(those))


def write_schemes_csv(report: SetReport, head: str = "") -> str:
    """A row per scheme, the largest mean absolute difference first."""
    header = ("scheme", "experiments", "mean difference %", "mean absolute difference %")
    return written(header, ((e.scheme, e.n, e.signed, e.absolute) for e in report.schemes), head)


def write_lengths_csv(report: SetReport, head: str = "") -> str:
    """A row per number of instructions, with the shares within each tolerance in per cent."""
    within = (f"within {tolerance:g} %" for tolerance in TOLERANCES)
    header = ("instructions", "experiments", "mean absolute difference %", *within)
    rows = (
        (each.length, each.n, each.mean, *(round(each.share(tolerance), 4) for tolerance in TOLERANCES))
        for each in report.lengths
    )
    return written(header, rows, head)


CSV_WRITERS = {"schemes": write_schemes_csv, "lengths": write_lengths_csv}
"""By what the rows of the table are."""


def comparison_head(first: ExperimentSet, second: ExperimentSet) -> str:
    """Lines of comments: which is which, and who made them."""
    both = (("first", first), ("second", second))
    return "".join(f"# {which}\n{provenance_of(row).commented('#')}" for which, row in both)
