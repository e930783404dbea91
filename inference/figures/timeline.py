"""The timeline of a loop: as data for the page's drawing, and as an SVG.

A row is a µop in an iteration, a column a cycle. The page draws the same signs in
`static/js/timeline-drawing.js`.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

import numpy as np

from inference.core.loop.timeline import LoopTimeline
from inference.core.simulation.program import Binding
from inference.core.simulation.timeline import NONE
from inference.core.tables import Int64s
from inference.figures.colours import LIGHT
from inference.figures.plotly_json import Json
from inference.figures.svg import SvgDrawing


def timeline_json(loop: LoopTimeline) -> Json:
    """Columns of whole numbers, iteration by iteration; stalls and delays only where there are any."""
    timeline = loop.timeline
    uops = timeline.program.uops
    return {
        "title": loop.title,
        "cycles": timeline.cycles,
        "steady_from": timeline.steady_from,
        "period": timeline.period,
        "pace": loop.pace,
        "assumption": loop.assumption,
        "iterations": timeline.iterations,
        "instructions": loop.instructions,
        "ports": loop.ports,
        "labels": loop.labels,
        "is_bound_early": timeline.policy.binding is not Binding.AT_ISSUE,
        "uops": [[uop.instruction, uop.latency if uop.ports else 0, uop.ports] for uop in uops],
        "waits": [
            [
                [wait.producer, wait.iterations, wait.cycles, loop.location(place, operand)]
                for operand, wait in enumerate(uop.waits)
            ]
            for place, uop in enumerate(uops)
        ],
        "dispatched": timeline.dispatched.ravel().tolist(),
        "issued": timeline.issued.ravel().tolist(),
        "retired": timeline.retired.ravel().tolist(),
        "port": timeline.port.ravel().tolist(),
        "operand": timeline.operand.ravel().tolist(),
        "stalls": _sparse(timeline.stall, timeline.oldest),
        "delays": _sparse(timeline.delay, timeline.blocker),
    }


def _sparse(kind: Int64s, cause: Int64s) -> list[tuple[int, int, int]]:
    """(number of the µop, kind, number of the µop that is the cause), where there is a kind."""
    return [
        (number, int(kind.flat[number]), int(cause.flat[number])) for number in np.flatnonzero(kind).tolist()
    ]


_CELL, _ROW, _GAP, _HEAD, _LEGEND, _NAMES = 13.0, 16, 6, 46, 44, 76
_LETTER = 7.3
"""Width of a letter of code, rounded up."""
_MAX_TEXT_LENGTH = 48
_MAX_WIDTH = 6000
"""Largest width of the cycles; of more cycles, each is narrower."""
_MIN_LABEL_CELL = 7.0
"""Width of a cell from which on a port's number has room in it."""


_RULES = (
    ".number-1{font-size:10px}.number-2{font-size:9.5px}.number-3{font-size:7px}"
    ".rule{stroke:#dde1e6}.mark{fill:#58616e}.wait{stroke:#58616e;stroke-width:1.5}"
    ".port-wait{stroke:#8a5300;stroke-width:4;stroke-dasharray:2 2}"
    ".retire-wait{stroke:#8b94a1;stroke-width:1.5;stroke-dasharray:1 3}"
    ".retired{stroke:#171b21;stroke-width:2}"
    "@media(prefers-color-scheme:dark){.rule{stroke:#2b333d}.mark{fill:#9ba6b4}.wait{stroke:#9ba6b4}"
    ".port-wait{stroke:#f0b95b}.retire-wait{stroke:#6b7684}.retired{stroke:#e6e9ee}}"
)


def timeline_drawing(loop: LoopTimeline) -> SvgDrawing:
    """All iterations of a timeline, with a legend."""
    timeline = loop.timeline
    texts = [_shorten(text) for text in loop.instructions]
    left = _NAMES + 10 + _LETTER * max(map(len, texts))
    cell = min(_CELL, _MAX_WIDTH / timeline.span)
    body = [*_axis(timeline.span, left, cell)]
    y = float(_HEAD)
    for iteration in range(timeline.iterations):
        body.append(f'<path class="rule" d="M8 {y:g}H{left + timeline.span * cell:g}"/>')
        is_first_steady = iteration == timeline.steady_from
        name = f"{iteration} steady" if is_first_steady else str(iteration)
        body.append(
            f'<text class="{"strong" if is_first_steady else "quiet"}" x="8" y="{y + 14:g}">{name}</text>'
        )
        y += _GAP / 2
        for places in loop.uops:
            instruction = timeline.program.uops[places[0]].instruction
            body.append(f'<text class="code" x="{_NAMES}" y="{y + 12:g}">{escape(texts[instruction])}</text>')
            for place in places:
                body += _uop(loop, iteration, place, left, y, cell)
                y += _ROW
        y += _GAP / 2
    body.append(f'<path class="rule" d="M8 {y:g}H{left + timeline.span * cell:g}"/>')
    legend, legend_width = _legend(loop, y + 20)
    body.append(legend)
    body.append(f'<text class="quiet" x="8" y="{y + 20 + _LEGEND:g}">{escape(loop.assumption)}</text>')
    width = max(left + timeline.span * cell + 12, legend_width, 8 + 6.2 * len(loop.assumption))
    head = f"{loop.title}: {loop.pace}"
    body.append(f'<text class="strong" x="8" y="16">{escape(head)}</text>')
    return SvgDrawing(
        max(width, 8 + 6.8 * len(head)), y + _LEGEND + 32, "".join(body), f"Timeline of {head}", _RULES
    )


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_TEXT_LENGTH else text[: _MAX_TEXT_LENGTH - 1] + "…"


def _axis(span: int, left: float, cell: float) -> Iterator[str]:
    """The number of every fifth cycle, or of fewer where they would overlap."""
    step = next(step for step in (5, 10, 20, 50, 100, 500, 10**9) if step * cell >= 40 or step > span)
    yield f'<text class="quiet" x="8" y="{_HEAD - 6}">iteration</text>'
    for cycle in range(0, span, step):
        yield f'<text class="quiet" x="{left + cycle * cell:g}" y="{_HEAD - 6}">{cycle}</text>'


def _uop(loop: LoopTimeline, iteration: int, place: int, left: float, y: float, cell: float) -> Iterator[str]:
    """The signs of a µop: dispatched, waits, executes on a port, waits to retire, retires."""
    timeline = loop.timeline

    def x(cycle: int) -> str:
        return f"{left + cycle * cell:g}"

    dispatched, issued = int(timeline.dispatched[iteration, place]), int(timeline.issued[iteration, place])
    done, retired = int(timeline.done[iteration, place]), int(timeline.retired[iteration, place])
    port, middle = int(timeline.port[iteration, place]), f"{y + _ROW / 2:g}"
    tip = f"l{min(cell, 6):g} -{_ROW / 2 - 3:g}z"
    yield f'<path class="mark" d="M{x(dispatched)} {y + 3:g}v{_ROW - 6}{tip}"/>'
    if port != NONE:
        earliest = timeline.earliest_issue(iteration, place)
        if earliest > dispatched + 1:
            yield f'<path class="wait" d="M{x(dispatched + 1)} {middle}H{x(earliest)}"/>'
        if issued > earliest:
            yield f'<path class="port-wait" d="M{x(earliest)} {middle}H{x(issued)}"/>'
        hue = port % len(LIGHT)
        box = f'y="{y + 1:g}" height="{_ROW - 2}"'
        yield f'<rect class="port-can port-{hue}" x="{x(issued)}" width="{(done - issued) * cell:g}" {box}/>'
        yield f'<rect class="port-fill port-{hue}" x="{x(issued)}" width="{cell:g}" {box}/>'
        if cell >= _MIN_LABEL_CELL:
            yield _label(loop, port, left + (issued + 0.5) * cell, y + 12)
    if retired > done:
        yield f'<path class="retire-wait" d="M{x(done)} {middle}H{x(retired)}"/>'
    yield f'<path class="retired" d="M{left + (retired + 0.3) * cell:g} {y + 3:g}v{_ROW - 6}"/>'


def _label(loop: LoopTimeline, port: int, x: float, y: float) -> str:
    """The label of a port in a cell around x, on the port's colour."""
    label = loop.labels[port]
    classes = f"on-port on-port-{port % len(LIGHT)} number-{len(label)}"
    return f'<text class="{classes}" x="{x:g}" y="{y:g}" text-anchor="middle">{escape(label)}</text>'


def _legend(loop: LoopTimeline, y: float) -> tuple[str, float]:
    """The signs and the ports that occur, and the width of the legend."""
    middle = y - 4
    parts, x = [], 8.0
    for sign, text in (
        (f'<path class="mark" d="M{{x}} {y - 9:g}v10l6 -5z"/>', "dispatched"),
        (f'<path class="wait" d="M{{x}} {middle:g}h14"/>', "waits for an operand"),
        (f'<path class="port-wait" d="M{{x}} {middle:g}h14"/>', "waits for its port"),
        (f'<path class="retire-wait" d="M{{x}} {middle:g}h14"/>', "done, waits to retire"),
        (f'<path class="retired" d="M{{x}} {y - 9:g}v10"/>', "retired"),
    ):
        parts.append(sign.replace("{x}", f"{x:g}"))
        parts.append(f'<text x="{x + 20:g}" y="{y:g}">{text}</text>')
        x += 40 + 6.5 * len(text)
    widest, x = x, 8.0
    for port in sorted({int(port) for port in np.unique(loop.timeline.port)} - {NONE}):
        hue = port % len(LIGHT)
        text = f"executes on port {loop.ports[port]}"
        parts.append(
            f'<rect class="port-fill port-{hue}" x="{x:g}" y="{y + 12:g}" width="14" height="14"/>'
            f"{_label(loop, port, x + 7, y + 23)}"
            f'<text x="{x + 20:g}" y="{y + 23:g}">{escape(text)}</text>'
        )
        x += 40 + 6.5 * len(text)
    return "".join(parts), max(widest, x)
