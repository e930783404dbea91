"""Uploaded files: stored, parsed, previewed and imported."""

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "read",
        label="File reading",
        summary="Preview of an uploaded file",
        example={"upload": 5, "unit": "cycles"},
        lane=Lane.SHORT,
    ),
    RunKind(
        "import",
        label="Import",
        summary="Import of an uploaded file",
        example={"upload": 5, "name": "pairs on the lab machine", "unit": "cycles"},
        lane=Lane.SHORT,
    ),
)
