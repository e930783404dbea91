"""Files from outside: kept, looked at, imported.

`read_job` looks at a file, `job` imports one that was accepted.
"""

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Lane, RunKind
from inference.runs.lazy import lazy


def _import_presentation() -> KindPresentation:
    from inference.features.running.runs.archive import archived_rows  # noqa: PLC0415  pages load it

    return KindPresentation(archived=archived_rows)


KINDS = (
    RunKind(
        "read",
        label="File reading",
        job=lazy(__name__, "file_reading.ReadJob"),
        summary="What an uploaded file would bring",
        example={"upload": 5, "unit": "cycles"},
        lane=Lane.SHORT,
    ),
    RunKind(
        "import",
        label="Import",
        job=lazy(__name__, "job.ImportJob"),
        summary="Import of an uploaded file",
        example={"upload": 5, "name": "pairs on the lab machine", "unit": "cycles"},
        lane=Lane.SHORT,
    ),
)

PRESENTATIONS = {
    "read": lambda: KindPresentation(outcomes=lazy(__name__, "file_reading.outcomes")),
    "import": _import_presentation,
}
