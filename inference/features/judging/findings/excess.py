"""Measurements of a set that take longer than a mapping allows; see `inference.core.excess`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache

from inference.core.excess import Excess, excess
from inference.core.experiment import Experiment
from inference.core.protocols import Json
from inference.features.judging.engine.excess_view import MOST
from inference.models import ExperimentSet, Measurement, PortMapping
from inference.storage.rows import load_mapping, measurements_of


def sets_for(row: PortMapping) -> Sequence[ExperimentSet]:
    """Sets to hold a mapping against: those that its run measured, its machine's, then the others."""

    def rank(dataset: ExperimentSet) -> tuple[bool, bool, int]:
        own = row.run_id is not None and dataset.run_id == row.run_id
        same = row.machine_id is not None and dataset.machine_id == row.machine_id
        return not own, not same, -dataset.pk

    sets = ExperimentSet.objects.filter(isa_id=row.isa_id).only("pk", "name", "run_id", "machine_id")
    return sorted(sets, key=rank)


def excess_json(found: Excess, ports: Sequence[str], most: int) -> Json:
    """For programs, with at most so many experiments of a group."""
    return {
        "experiments": found.experiments,
        "exceeding": found.exceeding,
        "groups": [group.as_json(ports, most) for group in found.groups],
    }


def excess_in(row: PortMapping, dataset: ExperimentSet) -> Excess:
    """What of a set takes longer than the mapping allows, of the experiments whose schemes it all knows."""
    return _excess((row.pk, row.created), dataset.pk, dataset.measurements.count())


@lru_cache(maxsize=8)
def _excess(row: tuple[int, datetime], set_id: int, measurements: int) -> Excess:
    mapping = load_mapping(PortMapping.objects.get(pk=row[0]))
    settled = Measurement.objects.filter(experiment_set=set_id, state=Measurement.State.SETTLED)
    ids = list(settled.order_by("experiment_id", "id").values_list("id", flat=True))
    del measurements  # with more of them it is another question
    chosen = ids[:: max(1, -(-len(ids) // MOST))]
    readings: dict[Experiment, list[float]] = {}
    for stored in measurements_of(Measurement.objects.filter(pk__in=chosen).order_by("id")):
        value = stored.value
        if value.cycles is not None and mapping.usage.keys() >= set(value.experiment.schemes):
            readings.setdefault(value.experiment, []).append(value.cycles)
    return excess(mapping, readings)
