"""Inference of a core's scheduler, the policy that binds µops to ports, from experiments of its own."""

from inference.runs.kinds import Job, Lane, RunKind


def _job() -> Job:
    from inference.features.learning.scheduler.job import SchedulerJob  # noqa: PLC0415  runs load it

    return SchedulerJob()


KINDS = (
    RunKind(
        "scheduler",
        label="Scheduler",
        job=_job,
        summary="Inferring a core’s scheduler",
        example={"core_model": 3, "machine": 2},
        lane=Lane.MEASURING,
    ),
)
