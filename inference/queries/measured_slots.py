"""Issue slots that were measured on the machine of a mapping."""

from __future__ import annotations

from collections import defaultdict
from statistics import median

from inference.core.experiment import Experiment
from inference.core.measured_slots import MeasuredSlots, read_slots
from inference.exchange.scheme_evidence import own_sets
from inference.exchange.stored import measurements_of
from inference.measuring.padding import padding_of
from inference.models import Measurement, PortMapping


def measured_slots_of(row: PortMapping) -> MeasuredSlots | None:
    """What padded experiments in the sets of its machine, or of its run, tell; None where there are none.

    The median counts where an experiment was measured several times.
    """
    padding = padding_of(row.isa.name)
    if padding is None:
        return None
    padded = Measurement.objects.filter(
        experiment_set__in=own_sets(row),
        experiment__terms__scheme__text__in=[padding.move, padding.exchange],
        state=Measurement.State.SETTLED,
    ).distinct()
    cycles: dict[Experiment, list[float]] = defaultdict(list)
    for each in measurements_of(padded):
        if each.value.cycles:
            cycles[each.value.experiment].append(each.value.cycles)
    found = read_slots({experiment: median(values) for experiment, values in cycles.items()}, padding)
    return found if found is not None and found.readings else None
