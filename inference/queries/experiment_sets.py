"""What the pages of experiment sets show: the list, a set's summary, and its measurements filtered."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, IntegerField, Max, Min, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from inference.models import ExperimentSet, ExperimentTerm, Measurement
from inference.models.scheme_search import search_schemes

SET_COLUMNS = {"added": "id", "name": "name", "measurements": "measurement_count"}
MEASUREMENT_COLUMNS = {"row": "id", "cycles": "cycles_or_0", "length": "experiment__length"}


def experiment_sets(text: str = "") -> QuerySet[ExperimentSet]:
    """All sets with `measurement_count`, those with a text in name or note where one is given."""
    counts = (
        Measurement.objects.filter(experiment_set=OuterRef("pk"))
        .order_by()
        .values("experiment_set")
        .annotate(n=Count("pk"))
        .values("n")
    )
    # A subquery per row: joining the measurements would multiply them with whatever is joined later.
    sets = ExperimentSet.objects.select_related("isa", "machine").annotate(
        measurement_count=Coalesce(Subquery(counts, output_field=IntegerField()), Value(0))
    )
    if text:
        sets = sets.filter(Q(name__icontains=text) | Q(note__icontains=text))
    return sets


@dataclass(frozen=True)
class SetSummary:
    """A set in numbers. `lengths`: the numbers of instructions that occur; `states`: rows in each.

    `repeated`: some number is from several passes, so that spread and passes say something.
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


def summary_of(experiment_set: ExperimentSet) -> SetSummary:
    """Count and range of a set's measurements (four queries)."""
    rows = experiment_set.measurements.order_by()
    terms = ExperimentTerm.objects.filter(experiment__measurements__experiment_set=experiment_set)
    extremes = rows.aggregate(least=Min("cycles"), most=Max("cycles"), passes=Max("passes"))
    states = dict(rows.values_list("state").annotate(n=Count("pk")))
    lengths = rows.values_list("experiment__length", flat=True).distinct().order_by("experiment__length")
    return SetSummary(
        measurements=sum(states.values()),
        schemes=terms.aggregate(n=Count("scheme", distinct=True))["n"],
        lengths=tuple(lengths),
        least=extremes["least"],
        most=extremes["most"],
        states=states,
        repeated=(extremes["passes"] or 0) > 1,
    )


def measurements_in(
    experiment_set: ExperimentSet, search: str = "", length: int | None = None, state: str = ""
) -> QuerySet[Measurement]:
    """A set's measurements: those with a scheme that the search finds, of a length, in a state.

    Raises `SearchError` for a search that cannot be read.
    """
    rows = experiment_set.measurements.select_related("experiment").annotate(
        cycles_or_0=Coalesce("cycles", Value(0.0))
    )
    if search.strip():
        found = search_schemes(experiment_set.isa.schemes.all(), search)
        with_one = ExperimentTerm.objects.filter(scheme__in=found.values("pk")).values("experiment")
        rows = rows.filter(experiment__in=with_one)
    if length is not None:
        rows = rows.filter(experiment__length=length)
    if state:
        rows = rows.filter(state=state)
    return rows
