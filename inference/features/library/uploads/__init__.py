"""Uploaded files: stored, parsed, previewed and imported."""

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Job, Lane, RunKind


def _read_job() -> Job:
    from inference.features.library.uploads.job import ReadJob  # noqa: PLC0415  runs load it

    return ReadJob()


def _read_presentation() -> KindPresentation:
    from inference.features.library.uploads.job import outcomes  # noqa: PLC0415  pages load it

    return KindPresentation(outcomes=outcomes)


def _import_job() -> Job:
    from inference.features.library.uploads.job import ImportJob  # noqa: PLC0415  runs load it

    return ImportJob()


def _import_presentation() -> KindPresentation:
    from inference.features.running.runs.archive import archived_rows  # noqa: PLC0415  pages load it

    return KindPresentation(archived=archived_rows)


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

PRESENTATIONS = {"read": _read_presentation, "import": _import_presentation}
