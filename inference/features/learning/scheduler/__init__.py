"""How a core's scheduler gives µops to ports, inferred from a few experiments of its own."""

from inference.runs.kinds import Lane, RunKind
from inference.runs.lazy import lazy

KINDS = (
    RunKind(
        "scheduler",
        label="Scheduler",
        job=lazy(__name__, "job.SchedulerJob"),
        summary="Inferring a core’s scheduler",
        example={"core_model": 3, "machine": 2},
        lane=Lane.MEASURING,
    ),
)
