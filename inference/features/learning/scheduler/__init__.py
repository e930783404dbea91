"""Inference of a core's scheduler, the policy that binds µops to ports, from experiments of its own."""

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "scheduler",
        label="Scheduler",
        summary="Inferring a core’s scheduler",
        example={"core_model": 3, "machine": 2},
        lane=Lane.MEASURING,
    ),
)
