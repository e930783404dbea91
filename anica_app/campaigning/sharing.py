"""Predictors of runs, asked on the workers of the installation's Dask cluster where it has one."""

from __future__ import annotations

from contextlib import ExitStack

from django.conf import settings

from anica_app.core.protocols import Predictor
from anica_app.models import Predictor as PredictorRow
from anica_app.predictors.shared_out import AskedHere, SharedOut
from inference.core.pacing import Pace
from inference.runs.job import Task
from inference.runs.workshop import open_cluster


def shared(predictor: Predictor, row: PredictorRow, task: Task) -> Predictor:
    """The predictor of a row, for a run: itself, or one that asks the cluster and has it as a spare."""
    if not settings.DASK:
        return predictor
    with ExitStack() as stack:
        stack.callback(predictor.close)
        workshop = stack.enter_context(open_cluster(AskedHere(predictor)))
        pace = Pace(task.reporter)
        return SharedOut(predictor, row.kind, row.options, workshop, pace, stack.pop_all().close)
