"""Queries of experiment sets: the list, a set's summary, and filtered measurements."""

from __future__ import annotations

from django.db.models import QuerySet

from inference.core.judging.group_laws import GroupTimes, group_times
from inference.isa.targets import target_of
from inference.models import ExperimentSet, ExperimentTerm, Measurement, Run
from inference.models.experiment import cycles_or_0
from inference.models.row_counts import row_count
from inference.models.scheme_search import search_schemes
from inference.storage.rows import SetSummary, store_summary, stored_summary, summarise
from inference.web.paging import having_words

SET_COLUMNS = {"added": "id", "name": "name", "measurements": "measurement_count"}
MEASUREMENT_COLUMNS = {"row": "id", "cycles": "cycles_or_0", "length": "length"}
STORED_FROM = 20_000
"""Number of measurements from which a summary is stored, because computing it takes longer than reading
it.
"""


def experiment_sets(text: str = "") -> QuerySet[ExperimentSet]:
    """Experiment sets with `measurement_count`, filtered by a text in name or note."""
    sets = ExperimentSet.objects.select_related("isa", "machine").filter(having_words(text))
    return sets.annotate(measurement_count=row_count(Measurement.objects.all(), "experiment_set"))


def summary_of(experiment_set: ExperimentSet) -> SetSummary:
    """The current summary of a set's measurements.

    Summaries of large sets are stored, but not while a run is unfinished: it may hold the write lock for
    long, and pages must not wait.
    """
    stored = stored_summary(experiment_set)
    if stored is not None:
        return stored
    if experiment_set.measurements.count() < STORED_FROM or Run.objects.exclude(state__in=Run.FINAL).exists():
        return summarise(experiment_set)
    return store_summary(experiment_set)


def register_groups_in(experiment_set: ExperimentSet) -> list[GroupTimes]:
    """How times grow with the number of registers in a group, from settled measurements of single schemes.

    [] for an instruction set without groups of registers.
    """
    families = target_of(experiment_set.isa.name).register_groups
    if not families:
        return []
    singles = experiment_set.measurements.filter(length=1, state=Measurement.State.SETTLED)
    pairs = singles.values_list("experiment__terms__scheme__text", "cycles")
    return list(group_times(families, {text: cycles or 0.0 for text, cycles in pairs}))


def measurements_in(
    experiment_set: ExperimentSet, search: str = "", length: int | None = None, state: str = ""
) -> QuerySet[Measurement]:
    """A set's measurements, filtered by schemes that match a search, by length, and by state.

    Raises `SearchError` for an invalid search.
    """
    rows = experiment_set.measurements.annotate(cycles_or_0=cycles_or_0())
    if search.strip():
        schemes = search_schemes(experiment_set.isa.schemes.all(), search)
        experiments = ExperimentTerm.objects.filter(scheme__in=schemes.values("pk")).values("experiment")
        rows = rows.filter(experiment__in=experiments)
    if length is not None:
        rows = rows.filter(length=length)
    if state:
        rows = rows.filter(state=state)
    return rows
