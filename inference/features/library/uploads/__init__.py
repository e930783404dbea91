"""Uploaded files: stored, parsed, previewed and imported."""

from inference.runs.kinds import Job, Lane, RunKind


def _read_job() -> Job:
    from inference.features.library.uploads.job import ReadJob  # noqa: PLC0415  runs load it

    return ReadJob()


def _import_job() -> Job:
    from inference.features.library.uploads.job import ImportJob  # noqa: PLC0415  runs load it

    return ImportJob()


KINDS = (
    RunKind(
        "read",
        label="File reading",
        job=_read_job,
        summary="Preview of an uploaded file",
        example={"upload": 5, "unit": "cycles"},
        lane=Lane.SHORT,
    ),
    RunKind(
        "import",
        label="Import",
        job=_import_job,
        summary="Import of an uploaded file",
        example={"upload": 5, "name": "pairs on the lab machine", "unit": "cycles"},
        lane=Lane.SHORT,
    ),
)
