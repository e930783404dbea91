"""What pages, shell and API show of two experiment sets side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models import QuerySet

from inference.core.experiment import Experiment
from inference.features.library.sets.comparing import (
    SetReport,
    compare_sets,
    keep_comparison,
    kept_comparison,
    require_comparable,
)
from inference.features.library.sets.query import KEPT_FROM
from inference.models import Experiment as ExperimentRow
from inference.models import ExperimentSet, Run
from inference.storage.recorded import settled_medians
from inference.storage.rows import experiment_of, texts_in


@dataclass(frozen=True)
class RepeatedExperiment:
    """An experiment with the median cycles of both sets."""

    experiment_id: int
    experiment: Experiment
    first: float
    second: float

    @property
    def difference(self) -> float:
        """The second against the first, in per cent of the first."""
        return 100 * (self.second - self.first) / self.first


def comparable_sets(experiment_set: ExperimentSet) -> QuerySet[ExperimentSet]:
    """The other sets of the same instruction set, newest first."""
    sets = ExperimentSet.objects.filter(isa=experiment_set.isa_id).exclude(pk=experiment_set.pk)
    return sets.defer("summary", "making", "identity").order_by("-id")


def report_at_hand(first: ExperimentSet, second: ExperimentSet) -> SetReport | None:
    """The comparison if it is kept or small sets make it quick, None where a run has to make it.

    Raises `ExchangeError` for sets that cannot be compared.
    """
    require_comparable(first, second)
    kept = kept_comparison(first, second)
    if kept is not None:
        return kept
    small = all(each.measurements.count() < KEPT_FROM for each in (first, second))
    return compare_sets(first, second) if small else None


def made_report(first: ExperimentSet, second: ExperimentSet) -> SetReport:
    """The comparison, made and kept now where it is not at hand. Raises `ExchangeError`."""
    found = report_at_hand(first, second)
    return SetReport.from_json(keep_comparison(first, second).report) if found is None else found


def comparing_run(first: ExperimentSet, second: ExperimentSet) -> Run | None:
    """The run that makes the comparison, if one was asked for and is not over."""
    asked = {"first": first.pk, "second": second.pk}
    return Run.objects.filter(kind="compare-sets", config=asked).exclude(state__in=Run.FINAL).first()


def pairs_of(
    first: ExperimentSet, second: ExperimentSet, experiments: Iterable[int]
) -> list[RepeatedExperiment]:
    """The experiments with these row ids, in their order; without those that a set has no more."""
    wanted = list(experiments)
    keys = dict(ExperimentRow.objects.filter(pk__in=wanted).values_list("id", "key"))
    texts = texts_in(keys.values())
    here, there = (_medians(each, wanted) for each in (first, second))
    return [
        RepeatedExperiment(pk, experiment_of(keys[pk], texts), here[pk], there[pk])
        for pk in wanted
        if pk in keys and pk in here and pk in there
    ]


def _medians(experiment_set: ExperimentSet, experiments: list[int]) -> Mapping[int, float]:
    return settled_medians(experiment_set.measurements.filter(experiment__in=experiments))


def two_sets(first: int, second: int) -> tuple[ExperimentSet, ExperimentSet]:
    """Both rows. Raises `ExperimentSet.DoesNotExist`, and `ExchangeError` where they cannot be compared."""
    rows = ExperimentSet.objects.select_related("isa", "machine", "run").defer("summary")
    found = rows.get(pk=first), rows.get(pk=second)
    require_comparable(*found)
    return found
