"""A set in numbers: worked out once, and kept with the set as long as its measurements are the same.

Whoever writes measurements need not know of it: what is kept names how many rows it is of and the newest of
them. Rows are added and removed, never changed, and no id is given twice, so these two tell any other rows.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from django.db.models import Count, Max, Min

from inference.models import ExperimentSet, ExperimentTerm, Measurement


@dataclass(frozen=True)
class SetSummary:
    """Numbers of a set. `lengths`: the numbers of instructions that occur; `states`: rows in each.

    `schemes`: how many occur; `least`, `most`: cycles, None where nothing has any. `repeated`: some number
    is from several passes, so that spread and passes say something.
    """

    measurements: int
    schemes: int
    lengths: tuple[int, ...]
    least: float | None
    most: float | None
    states: dict[str, int]
    repeated: bool = False

    @property
    def doubtful(self) -> bool:
        """Whether some measurement is not settled."""
        return any(state != Measurement.State.SETTLED for state in self.states)


def summarise(experiment_set: ExperimentSet) -> SetSummary:
    """Go through the set's measurements (three queries; 3 s for 10^6 of them)."""
    rows = experiment_set.measurements.order_by()
    terms = ExperimentTerm.objects.filter(experiment__measurements__experiment_set=experiment_set)
    by_state = list(
        rows.values("state").annotate(
            n=Count("pk"), least=Min("cycles"), most=Max("cycles"), passes=Max("passes")
        )
    )
    lengths = rows.values_list("length", flat=True).distinct().order_by("length")
    return SetSummary(
        measurements=sum(each["n"] for each in by_state),
        schemes=terms.aggregate(n=Count("scheme", distinct=True))["n"],
        lengths=tuple(lengths),
        least=min((each["least"] for each in by_state if each["least"] is not None), default=None),
        most=max((each["most"] for each in by_state if each["most"] is not None), default=None),
        states={each["state"]: each["n"] for each in by_state},
        repeated=any(each["passes"] > 1 for each in by_state),
    )


def kept_summary(experiment_set: ExperimentSet) -> SetSummary | None:
    """What was kept with the set, None where its measurements are others by now (two quick queries)."""
    kept = experiment_set.summary
    if kept is None or kept["rows"] != rows_of(experiment_set):
        return None
    numbers = kept["numbers"]
    return SetSummary(**{**numbers, "lengths": tuple(numbers["lengths"])})


def keep_summary(experiment_set: ExperimentSet) -> SetSummary:
    """Work the numbers out and keep them with the set."""
    rows = rows_of(experiment_set)  # first: what comes in between makes the numbers out of date, not wrong
    summary = summarise(experiment_set)
    experiment_set.summary = {"rows": rows, "numbers": asdict(summary)}
    experiment_set.save(update_fields=["summary"])
    return summary


def rows_of(experiment_set: ExperimentSet) -> dict[str, Any]:
    """What tells the measurements of a set from any others (two quick queries)."""
    rows = experiment_set.measurements.order_by()
    # Each by itself is answered by the index alone.
    return {"count": rows.count(), **rows.aggregate(newest=Max("pk"))}
