"""What measuring single instances of schemes gave."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import median

from django.db.models import QuerySet

from inference.models import ISA, Experiment, ExperimentSet, ExperimentTerm, Measurement


@dataclass(frozen=True)
class Singleton:
    """What measuring one instance of a scheme gave: the median over the sets, and its experiment."""

    cycles: float
    experiment_id: int


def measured_singletons(isa: ISA, set_id: int | None = None) -> dict[int, Singleton]:
    """{scheme id: what one instance was measured to take}, in one set or in all of the instruction set."""
    alone = Experiment.objects.filter(isa=isa, length=1)
    measured = Measurement.objects.filter(experiment__in=alone, state=Measurement.State.SETTLED)
    if set_id is not None:
        measured = measured.filter(experiment_set=set_id)
    terms = ExperimentTerm.objects.filter(experiment__in=alone)
    schemes = dict(terms.values_list("experiment_id", "scheme_id"))
    cycles: dict[int, list[float]] = defaultdict(list)
    for experiment_id, value in measured.values_list("experiment_id", "cycles"):
        cycles[experiment_id].append(value)
    return {
        schemes[experiment_id]: Singleton(median(values), experiment_id)
        for experiment_id, values in cycles.items()
    }


def sets_with_singletons(isa: ISA) -> QuerySet[ExperimentSet]:
    """The sets of an instruction set in which single instances were measured."""
    alone = Measurement.objects.filter(experiment__in=Experiment.objects.filter(isa=isa, length=1))
    return ExperimentSet.objects.filter(pk__in=alone.order_by().values("experiment_set"))
