"""Families: discoveries of a campaign grouped by their cause, with their pages, API and commands."""

from __future__ import annotations

from inference.runs.kinds import RunKind

KINDS = (
    RunKind(
        "families",
        label="Families",
        summary="Group the discoveries of a campaign by their cause",
        example={"campaign": 4, "evaluate": 2000},
    ),
)
