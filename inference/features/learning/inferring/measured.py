"""What a run has measured while it has no mapping yet."""

from __future__ import annotations

from inference.core.pair_conflicts import pair_conflicts
from inference.features.running.runs.record import RunRecord
from inference.figures.growing_matrix import GrowingMatrix, growing_matrix
from inference.models import Measurement, Run
from inference.storage.rows import measurements_of

MOST_MEASURED = 4000
"""Measurements looked at: a page is drawn anew every few seconds while they come."""


def measured_so_far(run: Run, record: RunRecord) -> GrowingMatrix | None:
    """Of schemes alone and in pairs; None for nothing, or once there is a mapping to look at."""
    if run.state in Run.FINAL or record.heat_map:
        return None
    rows = Measurement.objects.filter(experiment_set__run=run, experiment__length__lte=2, repeat=0)
    found = measurements_of(rows.order_by("id")[:MOST_MEASURED])
    return growing_matrix(pair_conflicts(each.value for each in found))
