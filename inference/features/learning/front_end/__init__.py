"""The front end of a machine's core, measured by code whose time nothing else limits."""

from inference.runs.kinds import Lane, RunKind
from inference.runs.lazy import lazy
from inference.web.panels import PagePanel, PanelPlace

KINDS = (
    RunKind(
        "front-end",
        label="Front end",
        job=lazy(__name__, "job.FrontEndJob"),
        summary="Measuring a machine’s front end",
        example={"machine": 2},
        lane=Lane.MEASURING,
    ),
)

PANELS = (
    PagePanel(
        PanelPlace.MACHINE,
        "front end",
        "Front end",
        "inference/front_end/of_machine.html",
        lazy(__name__, "pages.of_machine"),
        place=10,
    ),
)
