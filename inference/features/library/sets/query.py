"""What pages of experiment sets show: the list, a set's summary, and its measurements filtered."""

from __future__ import annotations

from django.db.models import QuerySet

from inference.models import ExperimentSet, ExperimentTerm, Measurement, Run
from inference.models.experiment import cycles_or_0
from inference.models.row_counts import row_count
from inference.models.scheme_search import search_schemes
from inference.storage.rows import SetSummary, keep_summary, kept_summary, summarise
from inference.web.paging import having_words

SET_COLUMNS = {"added": "id", "name": "name", "measurements": "measurement_count"}
MEASUREMENT_COLUMNS = {"row": "id", "cycles": "cycles_or_0", "length": "length"}
KEPT_FROM = 20_000
"""Measurements from which it takes longer to work out a set's numbers than to look at what is kept."""


def experiment_sets(text: str = "") -> QuerySet[ExperimentSet]:
    """All sets with `measurement_count`, those with a text in name or note where one is given."""
    sets = ExperimentSet.objects.select_related("isa", "machine").filter(having_words(text))
    return sets.annotate(measurement_count=row_count(Measurement.objects.all(), "experiment_set"))


def summary_of(experiment_set: ExperimentSet) -> SetSummary:
    """Count and range of a set's measurements, as they are now.

    A large set keeps its numbers. Not while something is running, which may write for long: a page does not
    wait for the database.
    """
    kept = kept_summary(experiment_set)
    if kept is not None:
        return kept
    if experiment_set.measurements.count() < KEPT_FROM or Run.objects.exclude(state__in=Run.FINAL).exists():
        return summarise(experiment_set)
    return keep_summary(experiment_set)


def measurements_in(
    experiment_set: ExperimentSet, search: str = "", length: int | None = None, state: str = ""
) -> QuerySet[Measurement]:
    """A set's measurements: those with a scheme that the search finds, of a length, in a state.

    Raises `SearchError` for a search that cannot be read.
    """
    rows = experiment_set.measurements.annotate(cycles_or_0=cycles_or_0())
    if search.strip():
        found = search_schemes(experiment_set.isa.schemes.all(), search)
        with_one = ExperimentTerm.objects.filter(scheme__in=found.values("pk")).values("experiment")
        rows = rows.filter(experiment__in=with_one)
    if length is not None:
        rows = rows.filter(length=length)
    if state:
        rows = rows.filter(state=state)
    return rows
