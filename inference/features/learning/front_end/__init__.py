"""The front end of a machine's core, measured by code whose time nothing else limits."""

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "front-end",
        label="Front end",
        job="inference.features.learning.front_end.job.FrontEndJob",
        summary="Measuring a machine’s front end",
        example={"machine": 2},
        lane=Lane.MEASURING,
        outcomes="inference.features.learning.front_end.query.outcomes",
    ),
)
