"""Latencies from operand to operand, measured by chains of instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inference.runs.kinds import Job, Lane, RunKind
from inference.web.contributions import PagePanel, PanelPlace

if TYPE_CHECKING:
    from django.http import HttpRequest

    from inference.models import InstructionScheme
    from inference.web.contributions import Context


def _job() -> Job:
    from inference.features.learning.latencies.job import LatenciesJob  # noqa: PLC0415  runs load it

    return LatenciesJob()


KINDS = (
    RunKind(
        "latencies",
        label="Latencies",
        job=_job,
        summary="Measuring latencies on a machine",
        example={"machine": 2, "schemes": "starter"},
        lane=Lane.MEASURING,
    ),
)

_NEWEST = 12


def _of_scheme(_request: HttpRequest, scheme: InstructionScheme) -> Context | None:
    from inference.features.learning.latencies.query import latencies_of_scheme  # noqa: PLC0415  pages load it

    latencies = list(latencies_of_scheme(scheme)[:_NEWEST])
    return {"latencies": latencies, "scheme": scheme} if latencies else None


PANELS = (
    PagePanel(PanelPlace.SCHEME, "latencies", "Latencies", "inference/latencies/of_scheme.html", _of_scheme),
)
