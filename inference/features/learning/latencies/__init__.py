"""Latencies: measured from operand to operand, and shown with the chains behind each number."""

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "latencies",
        label="Latencies",
        job="inference.features.learning.latencies.job.LatenciesJob",
        summary="Measuring latencies on a machine",
        example={"machine": 2, "schemes": "starter"},
        lane=Lane.MEASURING,
        outcomes="inference.features.learning.latencies.query.outcomes",
    ),
)
