"""Profiles of a CPU: runs of kind `know`, which measure a core's latencies, front end, ports and scheduler in
turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inference.runs.kinds import Lane, PlannedPart, RunKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inference.core.protocols import Json
    from inference.models import Run


def _parts(config: Json, run: Run | None) -> Sequence[PlannedPart]:
    from inference.features.learning.know.query import planned_parts  # noqa: PLC0415  pages load it

    return planned_parts(config, run)


KINDS = (
    RunKind(
        "know",
        label="Profile this CPU",
        summary="Profiling a machine’s core",
        example={"machine": 2, "schemes": "starter"},
        lane=Lane.MEASURING,
        parts=_parts,
        partial_result=lambda _run: (
            "Finished parts stay, the current part ends with its partial result, and later parts are skipped."
        ),
    ),
)
