"""What measuring single instances of schemes gave."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import median

from inference.models import ISA, ExperimentTerm, Measurement


@dataclass(frozen=True)
class Singleton:
    """What measuring one instance of a scheme gave: the median over the sets, and its experiment."""

    cycles: float
    experiment_id: int


def measured_singletons(isa: ISA, set_id: int | None = None) -> dict[int, Singleton]:
    """{scheme id: what one instance was measured to take}, in one set or in all of the instruction set."""
    terms = ExperimentTerm.objects.filter(experiment__isa=isa, experiment__length=1)
    measured = Measurement.objects.filter(
        experiment__in=terms.values("experiment"), state=Measurement.State.SETTLED
    )
    if set_id is not None:
        measured = measured.filter(experiment_set=set_id)
    schemes = dict(terms.values_list("experiment_id", "scheme_id"))
    cycles: dict[int, list[float]] = defaultdict(list)
    for experiment_id, value in measured.values_list("experiment_id", "cycles"):
        cycles[experiment_id].append(value)
    return {
        schemes[experiment_id]: Singleton(median(values), experiment_id)
        for experiment_id, values in cycles.items()
    }
