"""What the page of an inference's run shows beside what every run's page does: a part for its algorithm."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from inference.features.learning.inferring.counter_examples import explained
from inference.features.learning.inferring.evolution import evolved
from inference.features.learning.inferring.explainable import characterising
from inference.features.learning.inferring.measured import measured_so_far
from inference.features.learning.inferring.records import search_record
from inference.features.running.runs.record import RunRecord
from inference.models import Run


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
