"""Basic blocks: decoding, measurement, and port load."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Job, Lane, RunKind
from inference.web.contributions import PagePanel, PanelPlace

if TYPE_CHECKING:
    from django.http import HttpRequest

    from inference.features.library.mappings.query import MappingSubject
    from inference.runs.events import RecordPart
    from inference.web.contributions import Context


def _job() -> Job:
    from inference.features.asking.blocks.job import BlockJob  # noqa: PLC0415  runs load it

    return BlockJob()


def _quick_job() -> Job:
    from inference.features.asking.blocks.job import QuickBlockJob  # noqa: PLC0415  runs load it

    return QuickBlockJob()


def _presentation() -> KindPresentation:
    from inference.features.asking.blocks.job import archived  # noqa: PLC0415  pages load it
    from inference.features.asking.blocks.query import block_words, measured_blocks  # noqa: PLC0415  pages load it

    return KindPresentation(words=block_words, page=measured_blocks, archived=archived)


KINDS = (
    RunKind(
        "block",
        label="Block measurement",
        job=_job,
        summary="Basic blocks on a machine",
        example={"machine": 2, "blocks": ["4801d8480fafc3"], "options": {"mode": "unrolled"}},
        lane=Lane.MEASURING,
    ),
    RunKind(
        "quick-block",
        label="Block measurement",
        job=_quick_job,
        summary="A basic block on a machine, between the batches of longer runs",
        example={"machine": 2, "blocks": ["4801d8480fafc3"], "options": {"mode": "loop"}},
        lane=Lane.INTERACTIVE,
    ),
)


def _quick_presentation() -> KindPresentation:
    return replace(_presentation(), archived=None)


PRESENTATIONS = {"block": _presentation, "quick-block": _quick_presentation}


def _results() -> RecordPart:
    from inference.features.asking.blocks.events import BlocksRecord  # noqa: PLC0415  pages load it

    return BlocksRecord()


RECORDS = {"blocks": _results}


def _loop(request: HttpRequest, subject: MappingSubject) -> Context:
    from inference.features.asking.blocks.port_load import loop_tab  # noqa: PLC0415  pages load it, not every start

    return loop_tab(request, subject.row)


def _reads_loops(subject: MappingSubject) -> bool:
    from inference.features.asking.blocks.port_load import can_read_loops  # noqa: PLC0415  pages load it, not every start

    return can_read_loops(subject.row)


PANELS = (
    PagePanel(
        PanelPlace.MAPPING,
        "loop",
        "Try a loop",
        "inference/blocks/mapping_tab.html",
        _loop,
        order=30,
        applies=_reads_loops,
        styles=("css/basic-blocks.css", "css/resources.css"),
        scripts=("js/buckets.js",),
    ),
)
