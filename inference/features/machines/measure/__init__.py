"""Measuring experiments on a machine for their own sake."""

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "measure",
        label="Measurement",
        job="inference.features.machines.measure.job.MeasureJob",
        summary="Measuring on a machine",
        example={"machine": 2, "schemes": "starter", "plan": "pairs", "seed": 1},
        lane=Lane.MEASURING,
        words="inference.features.machines.measure.query.measure_words",
        keeps="inference.features.machines.measure.query.kept_measurements",
        archived="inference.features.machines.measure.query.archived",
    ),
)
