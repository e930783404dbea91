"""Files from outside: kept, looked at, imported."""

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "read",
        label="File reading",
        job="inference.features.library.uploads.reading.ReadJob",
        summary="What an uploaded file would bring",
        example={"upload": 5, "unit": "cycles"},
        lane=Lane.SHORT,
        outcomes="inference.features.library.uploads.reading.outcomes",
    ),
    RunKind(
        "import",
        label="Import",
        job="inference.features.library.uploads.job.ImportJob",
        summary="Import of an uploaded file",
        example={"upload": 5, "name": "pairs on the lab machine", "unit": "cycles"},
        lane=Lane.SHORT,
        archived="inference.features.running.runs.archive.archived_rows",
    ),
)
