"""What the discoveries of a campaign have in common, told to people."""

from inference.runs.kinds import RunKind
from inference.runs.lazy import lazy

KINDS = (
    RunKind(
        "families",
        label="Families",
        job=lazy(__name__, "job.FamiliesJob"),
        summary="Group the discoveries of a campaign by their cause",
        example={"campaign": 4, "evaluate": 2000},
    ),
)
