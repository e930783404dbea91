"""What the page of an inference's run shows beside what every run's page does: a part for its algorithm."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from inference.core.pair_conflicts import pair_conflicts
from inference.features.learning.inferring.counter_examples import explained
from inference.features.learning.inferring.evolution import evolved
from inference.features.learning.inferring.explainable import characterising
from inference.features.learning.inferring.records import search_record
from inference.features.running.runs.record import RunRecord
from inference.figures.conflicts import GrowingMatrix, growing_matrix
from inference.models import Measurement, Run
from inference.storage.rows import measurements_of

MOST_MEASURED = 4000
"""Measurements looked at: a page is drawn anew every few seconds while they come."""


def inference(request: HttpRequest, run: Run, record: RunRecord) -> dict[str, Any]:
    """What the template needs: `draws` as above; `characterises`: it tells of blocking instructions, and of
    the schemes that each stage leaves out.
    """
    algorithm = run.config.get("algorithm")
    if algorithm == "cegar":
        return explained(request, run, search_record(record))
    if algorithm == "explain":
        return {"characterises": True, **characterising(request, run, record)}
    return {"draws": True, "matrix": measured_so_far(run, record), **evolved(request, run, record)}


def measured_so_far(run: Run, record: RunRecord) -> GrowingMatrix | None:
    """Of schemes alone and in pairs; None for nothing, or once there is a mapping to look at."""
    if run.state in Run.FINAL or record.heat_map:
        return None
    rows = Measurement.objects.filter(experiment_set__run=run, experiment__length__lte=2, repeat=0)
    found = measurements_of(rows.order_by("id")[:MOST_MEASURED])
    return growing_matrix(pair_conflicts(each.value for each in found))
