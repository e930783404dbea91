"""Runs that measure experiments on a machine into an experiment set."""

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "measure",
        label="Measurement",
        summary="Measuring on a machine",
        example={"machine": 2, "schemes": "starter", "plan": "pairs", "seed": 1},
        lane=Lane.MEASURING,
        partial_result=lambda _run: "What has been measured becomes its experiment set.",
    ),
)
