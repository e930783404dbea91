"""Runs that measure experiments on a machine into an experiment set."""

from inference.runs.kinds import Job, Lane, RunKind


def _job() -> Job:
    from inference.features.machines.measure.job import MeasureJob  # noqa: PLC0415  runs load it

    return MeasureJob()


KINDS = (
    RunKind(
        "measure",
        label="Measurement",
        job=_job,
        summary="Measuring on a machine",
        example={"machine": 2, "schemes": "starter", "plan": "pairs", "seed": 1},
        lane=Lane.MEASURING,
        partial_result=lambda _run: "What has been measured becomes its experiment set.",
    ),
)
