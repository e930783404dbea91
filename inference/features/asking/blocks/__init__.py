"""Basic blocks: decoded, measured, and the load they put on ports."""

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Lane, RunKind
from inference.runs.lazy import lazy
from inference.web.panels import PagePanel, PanelPlace

KINDS = (
    RunKind(
        "block",
        label="Block measurement",
        job=lazy(__name__, "job.BlockJob"),
        summary="Basic blocks on a machine",
        example={"machine": 2, "blocks": ["4801d8480fafc3"], "options": {"mode": "unrolled"}},
        lane=Lane.MEASURING,
    ),
)

PRESENTATIONS = {
    "block": lambda: KindPresentation(
        words=lazy(__name__, "query.block_words"),
        page=lazy(__name__, "query.measured_blocks"),
        archived=lazy(__name__, "job.archived"),
    )
}

RECORDS = {"blocks": lazy(__name__, "events.BlocksRecord")}

PANELS = (
    PagePanel(
        PanelPlace.MAPPING,
        "loop",
        "Try a loop",
        "inference/blocks/mapping_tab.html",
        lazy(__name__, "mapping_tab.loop_tab"),
        place=30,
        suits=lazy(__name__, "mapping_tab.suits"),
        styles=("css/basic-blocks.css", "css/resources.css"),
        scripts=("js/buckets.js",),
    ),
)
