"""The timeline of an explained loop, and the files that it can be written as."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from inference.core.loop.simulated import simulated_block
from inference.core.loop.timeline import LoopTimeline
from inference.core.simulation.timeline import DEFAULT_ITERATIONS, timeline_of
from inference.features.asking.loop.answer import LoopAnswer
from inference.features.asking.loop.query import modelled_block
from inference.figures.timeline import timeline_drawing, timeline_json
from inference.formats.timeline_text import write_timeline_text
from inference.formats.timeline_trace import write_timeline_trace

_MAX_UOPS = 10_000
"""µops in a timeline: a drawing of 100 instructions and 50 iterations stays quick, and its data small."""


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
    """The timeline of the explained block; its cycles are those of `LoopAnalysis.simulated`.

    Args:
        answer: An explained block.
        iterations: 1 to `MAX_ITERATIONS`; of long blocks, fewer are simulated.

    Raises:
        CannotSimulateError: The core model does not have what a simulation needs.
    """
    simulated = simulated_block(modelled_block(answer.block, answer.cpu.row, answer.assumed, answer.changes))
    most = max(1, _MAX_UOPS // len(simulated.program.uops))
    locations = defaultdict[tuple[int, int, int], list[str]](list)
    for dependence in answer.analysis.dependences:
        key = dependence.producer, dependence.consumer, dependence.iterations
        locations[key].append(dependence.location)
    return LoopTimeline(
        f"{answer.piece.name} on {answer.cpu.label}",
        timeline_of(simulated.program, simulated.policy, min(iterations, most)),
        tuple(instruction.text for instruction in answer.analysis.instructions),
        answer.analysis.ports,
        {key: " and ".join(dict.fromkeys(names)) for key, names in locations.items()},
    )
