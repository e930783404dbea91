"""Measuring experiments on a machine for their own sake."""

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Lane, RunKind
from inference.runs.lazy import lazy

KINDS = (
    RunKind(
        "measure",
        label="Measurement",
        job=lazy(__name__, "job.MeasureJob"),
        summary="Measuring on a machine",
        example={"machine": 2, "schemes": "starter", "plan": "pairs", "seed": 1},
        lane=Lane.MEASURING,
        keeps=lambda _run: "What has been measured becomes its experiment set.",
    ),
)

PRESENTATIONS = {
    "measure": lambda: KindPresentation(
        words=lazy(__name__, "query.measure_words"), archived=lazy(__name__, "query.archived")
    )
}
