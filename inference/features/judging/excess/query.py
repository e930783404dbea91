"""Measurements of a set that take longer than a mapping allows; see `inference.core.excess`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache

from inference.core.excess import Excess, excess
from inference.core.experiment import Experiment
from inference.models import ExperimentSet, Measurement, PortMapping
from inference.storage.rows import load_mapping, measurements_of

MOST = 5000
"""Measurements of a set that are looked at: seconds; of larger sets, spread evenly over them."""


def sets_for(row: PortMapping) -> Sequence[ExperimentSet]:
    """Sets to hold a mapping against: those that its run measured, its machine's, then the others."""

    def rank(each: ExperimentSet) -> tuple[bool, bool, int]:
        own = row.run_id is not None and each.run_id == row.run_id
        same = row.machine_id is not None and each.machine_id == row.machine_id
        return not own, not same, -each.pk

    sets = ExperimentSet.objects.filter(isa_id=row.isa_id).only("pk", "name", "run_id", "machine_id")
    return sorted(sets, key=rank)


def excess_in(row: PortMapping, dataset: ExperimentSet) -> Excess:
    """What of a set takes longer than the mapping allows, of the experiments whose schemes it all knows."""
    return _found((row.pk, row.created), dataset.pk, dataset.measurements.count())


@lru_cache(maxsize=8)
def _found(row: tuple[int, datetime], set_id: int, measurements: int) -> Excess:
    mapping = load_mapping(PortMapping.objects.get(pk=row[0]))
    stored = Measurement.objects.filter(experiment_set=set_id, state=Measurement.State.SETTLED)
    ids = list(stored.order_by("experiment_id", "id").values_list("id", flat=True))
    del measurements  # with more of them it is another question
    chosen = ids[:: max(1, -(-len(ids) // MOST))]
    readings: dict[Experiment, list[float]] = {}
    for each in measurements_of(Measurement.objects.filter(pk__in=chosen).order_by("id")):
        if each.value.cycles is not None and mapping.usage.keys() >= set(each.value.experiment.schemes):
            readings.setdefault(each.value.experiment, []).append(each.value.cycles)
    return excess(mapping, readings)
