"""Measured times of single instructions, and the sets whose times a mapping is compared with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any

from django.db.models import Q, QuerySet

from inference.models import ISA, Experiment, ExperimentSet, ExperimentTerm, Measurement, PortMapping
from inference.storage.evaluations import other_core


def settled_medians(measurements: QuerySet[Measurement], column: str = "experiment_id") -> dict[Any, float]:
    """{value of a column: median of the settled measurements in cycles} (one query)."""
    times: defaultdict[Any, list[float]] = defaultdict(list)
    settled = measurements.filter(state=Measurement.State.SETTLED).order_by()
    for value, cycles in settled.values_list(column, "cycles"):
        if cycles is not None:
            times[value].append(cycles)
    return {value: median(samples) for value, samples in times.items()}


def own_sets(row: PortMapping) -> QuerySet[ExperimentSet]:
    """A mapping's own sets: those measured on its machine, or, without one, read by its run."""
    if row.machine_id is not None:
        return ExperimentSet.objects.filter(isa=row.isa_id, machine=row.machine_id)
    source = {} if row.run is None else row.run.config.get("source")
    learnt = source.get("datasets", ()) if isinstance(source, dict) else ()
    return ExperimentSet.objects.filter(
        Q(run__isnull=False, run=row.run_id) | Q(pk__in=learnt), isa=row.isa_id
    )


@dataclass(frozen=True)
class Singleton:
    """The time of one instance of a scheme, the median over sets, and its experiment."""

    cycles: float
    experiment_id: int


def measured_singletons(isa: ISA, sets: Iterable[ExperimentSet | int]) -> dict[int, Singleton]:
    """{scheme id: time of one instance} in sets of one source, rows or ids."""
    alone = Experiment.objects.filter(isa=isa, length=1)
    measured = Measurement.objects.filter(experiment__in=alone, experiment_set__in=sets)
    terms = ExperimentTerm.objects.filter(experiment__in=alone)
    schemes = dict(terms.values_list("experiment_id", "scheme_id"))
    return {schemes[pk]: Singleton(cycles, pk) for pk, cycles in settled_medians(measured).items()}


def comparable_sets(row: PortMapping) -> tuple[str, list[ExperimentSet]]:
    """(label, sets of one source) whose times of single instances a mapping is compared with.

    Its own sets; for a mapping without such, the newest set that is not known to be of another core.
    """
    sets = sets_with_singletons(row.isa).select_related("machine__isa").order_by("-pk")
    own = list(sets.filter(pk__in=own_sets(row)))
    if own:
        return "its own sets" if row.machine is None else f"sets of {row.machine.name}", own
    other = next((measured for measured in sets if other_core(row, measured) is None), None)
    return ("no set", []) if other is None else (other.name, [other])


def sets_with_singletons(isa: ISA) -> QuerySet[ExperimentSet]:
    """The sets of an instruction set with measurements of single instances."""
    alone = Measurement.objects.filter(experiment__in=Experiment.objects.filter(isa=isa, length=1))
    return ExperimentSet.objects.filter(pk__in=alone.order_by().values("experiment_set"))
