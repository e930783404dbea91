"""The timeline of an explained loop, and the files that it can be written as."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from inference.core.loop.timeline import LoopTimeline, timeline_of_block
from inference.core.simulation.timeline import DEFAULT_ITERATIONS
from inference.features.asking.loop.answer import LoopAnswer
from inference.features.asking.loop.query import modelled_block
from inference.figures.timeline import timeline_drawing, timeline_json
from inference.formats.timeline_files import write_timeline_text, write_timeline_trace


@dataclass(frozen=True)
class TimelineFormat:
    """A file format: `write` makes its text."""

    name: str
    content_type: str
    write: Callable[[LoopTimeline], str]


FORMATS = {
    "json": TimelineFormat(
        "JSON", "application/json", lambda loop: json.dumps(timeline_json(loop), separators=(",", ":"))
    ),
    "svg": TimelineFormat("SVG", "image/svg+xml", lambda loop: timeline_drawing(loop).file()),
    "trace.json": TimelineFormat("Trace for Perfetto and Chrome", "application/json", write_timeline_trace),
    "txt": TimelineFormat("Text, as llvm-mca's timeline", "text/plain", write_timeline_text),
}
"""By the ends of file names."""


def timeline_for(answer: LoopAnswer, iterations: int = DEFAULT_ITERATIONS) -> LoopTimeline:
    """The timeline of the explained block. Raises `CannotSimulateError`, as `timeline_of_block` does."""
    block = modelled_block(answer.block, answer.cpu.row, answer.assumed, answer.changes)
    title = f"{answer.piece.name} on {answer.cpu.label}"
    return timeline_of_block(block, answer.analysis, title, iterations)
