"""Families: discoveries of a campaign grouped by their cause, with their pages, API and commands."""

from __future__ import annotations

from inference.runs.kinds import Job, RunKind


def _job() -> Job:
    from anica_app.features.families.job import FamiliesJob  # noqa: PLC0415  runs load it

    return FamiliesJob()


KINDS = (
    RunKind(
        "families",
        label="Families",
        job=_job,
        summary="Group the discoveries of a campaign by their cause",
        example={"campaign": 4, "evaluate": 2000},
    ),
)
