"""Latencies: measured from operand to operand, and shown with the chains behind each number."""

from inference.runs.kinds import Lane, RunKind
from inference.runs.lazy import lazy
from inference.web.panels import PagePanel, PanelPlace

KINDS = (
    RunKind(
        "latencies",
        label="Latencies",
        job=lazy(__name__, "job.LatenciesJob"),
        summary="Measuring latencies on a machine",
        example={"machine": 2, "schemes": "starter"},
        lane=Lane.MEASURING,
    ),
)

PANELS = (
    PagePanel(
        PanelPlace.SCHEME,
        "latencies",
        "Latencies",
        "inference/latencies/of_scheme.html",
        lazy(__name__, "pages.of_scheme"),
    ),
)
