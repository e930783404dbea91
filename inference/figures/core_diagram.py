"""The diagram of a core: front end, issue, and a box per port with the kinds of instructions on it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from inference.core.core_model import CoreOverview, FrontEndLimits, KindOnPort, PortOfCore
from inference.figures.colours import LIGHT
from inference.figures.svg import SvgDrawing

_LETTER = 6.3
"""Width of a letter of the usual text, rounded up."""

_MARGIN, _GAP, _HEAD, _LINE = 10, 10, 26, 17
_MAX_COLUMNS = 10
_WIDE, _WIDEST_BOX, _NARROW_BOX = 1240, 190, 162
_MIN_WIDTH = 354
"""Least width of a drawing, with room for the sentences about the front end."""


@dataclass(frozen=True)
class _Shape:
    """Number of boxes per row, and their width, in SVG units."""

    across: int
    box: float

    @property
    def width(self) -> float:
        return max(2 * _MARGIN + self.across * self.box + (self.across - 1) * _GAP, _MIN_WIDTH)


def core_drawing(core: CoreOverview, names: Mapping[str, str], *, narrow: bool = False) -> SvgDrawing:
    """The diagram of a core: the stages of the pipeline, its ports, and a legend.

    Args:
        core: Front end, ports and kinds of µops.
        names: {port: the name to show}.
        narrow: Two boxes per row, for narrow pages.
    """
    shape = _Shape(2, _NARROW_BOX) if narrow else _wide(len(core.ports))
    parts: list[str] = []
    y = float(_MARGIN)
    for title, lines in _stages(core):
        shapes, height = _stage(title, lines, y, shape)
        parts.append(shapes)
        y += height
    rows = [core.ports[at : at + shape.across] for at in range(0, len(core.ports), shape.across)]
    for row in rows:
        shapes, height = _row(row, names, y, shape)
        parts.append(shapes)
        y += height
    for line in _wrap(_legend(core, names), shape):
        y += _LINE
        parts.append(f'<text class="quiet" x="{_MARGIN}" y="{y:g}">{escape(line)}</text>')
    if rows:
        parts.insert(0, _rails(rows, _ends_of_stages(core, shape), shape))
    return SvgDrawing(shape.width, y + _MARGIN, "".join(parts), _label(core, names))


def _wide(ports: int) -> _Shape:
    rows = max(-(-ports // _MAX_COLUMNS), 1)
    across = max(-(-ports // rows), 1)
    box = min((_WIDE - 2 * _MARGIN - (across - 1) * _GAP) / across, _WIDEST_BOX)
    return _Shape(across, round(box))


def _stages(core: CoreOverview) -> Iterator[tuple[str, list[str]]]:
    if core.front_end is not None and (lines := list(_front_end_lines(core.front_end))):
        yield "Front end", lines
    if core.ports:
        limits = [f"{core.slots:.3g} slots per cycle"] if core.slots is not None else []
        if core.instructions is not None:
            limits.append(f"{core.instructions:.3g} instructions per cycle")
        yield "Issue", limits or ["no known limit besides the ports"]


def _front_end_lines(front: FrontEndLimits) -> Iterator[str]:
    if front.slots is not None:
        capacity = front.loop_capacity
        loops = "" if capacity is None else f" in loops of up to {capacity:,.0f} instructions"
        yield f"{front.slots:.3g} slots per cycle{loops}"
    straight = [
        f"{value:.3g} {unit}"
        for value, unit in ((front.straight_instructions, "instructions"), (front.straight_bytes, "bytes"))
        if value is not None
    ]
    if straight:
        yield f"straight code: {', '.join(straight)} per cycle"
    if front.taken is not None:
        yield f"{front.taken:.3g} taken branch{'' if front.taken == 1 else 'es'} per cycle"


def _stage(title: str, lines: Sequence[str], y: float, shape: _Shape) -> tuple[str, float]:
    text = _stage_lines(lines, shape)
    height = _HEAD + _LINE * len(text)
    width = shape.width - 2 * _MARGIN
    shapes = [f'<rect class="plot" x="{_MARGIN}" y="{y:g}" width="{width:g}" height="{height}" rx="4"/>']
    shapes.append(f'<text class="strong" x="{_MARGIN + 10}" y="{y + 18:g}">{title}</text>')
    for place, line in enumerate(text):
        at = y + _HEAD + 12 + _LINE * place - 2
        shapes.append(f'<text x="{_MARGIN + 10}" y="{at:g}">{escape(line)}</text>')
    return "".join(shapes), height + 2 * _GAP


def _ends_of_stages(core: CoreOverview, shape: _Shape) -> list[float]:
    ends, y = [], float(_MARGIN)
    for _, lines in _stages(core):
        height = _HEAD + _LINE * len(_stage_lines(lines, shape))
        ends.append(y + height)
        y += height + 2 * _GAP
    return ends


def _row(row: Sequence[PortOfCore], names: Mapping[str, str], y: float, shape: _Shape) -> tuple[str, float]:
    height = _box_height(row)
    boxes = [_port(port, names, _left_of(place, shape), y, height, shape) for place, port in enumerate(row)]
    return "".join(boxes), height + 2 * _GAP


def _box_height(row: Sequence[PortOfCore]) -> float:
    return _HEAD + 8 + _LINE * max(1, *(len(port.kinds) for port in row))


def _left_of(place: int, shape: _Shape) -> float:
    return _MARGIN + place * (shape.box + _GAP)


def _port(
    port: PortOfCore, names: Mapping[str, str], x: float, y: float, height: float, shape: _Shape
) -> str:
    tint = port.place % len(LIGHT)
    title = names.get(port.name, port.name)
    hover = "" if title == port.name else f"<title>{escape(f'port {port.name} of the mapping')}</title>"
    shapes = [
        f'<rect class="plot" x="{x:g}" y="{y:g}" width="{shape.box:g}" height="{height:g}" rx="4"/>',
        f'<rect class="port-fill port-{tint} fill-{tint}" x="{x:g}" y="{y:g}" width="{shape.box:g}" '
        f'height="{_HEAD - 4}" rx="4"/>',
        f'<text class="on-port on-port-{tint} ink-{tint}" x="{x + shape.box / 2:g}" y="{y + 16:g}" '
        f'text-anchor="middle">{escape(_cut(title, shape.box - 8))}{hover}</text>',
    ]
    for line, kind_on_port in enumerate(port.kinds):
        shapes.append(_kind_line(kind_on_port, x, y + _HEAD + 12 + _LINE * line, shape))
    if not port.kinds:
        scheme_count = f"{port.schemes:,} scheme{'' if port.schemes == 1 else 's'}"
        shapes.append(f'<text class="quiet" x="{x + 8:g}" y="{y + _HEAD + 12:g}">{scheme_count}</text>')
    return "".join(shapes)


def _kind_line(kind_on_port: KindOnPort, x: float, y: float, shape: _Shape) -> str:
    latency = "" if kind_on_port.kind.latencies is None else latency_span(kind_on_port.kind.latencies)
    room = shape.box - 16 - _LETTER * (len(latency) + 1)
    quiet = "" if kind_on_port.most else ' class="quiet"'
    title = f"{kind_on_port.kind.name}: {kind_on_port.schemes:,} of {kind_on_port.kind.schemes:,} schemes"
    label = escape(_cut(_short(kind_on_port.kind.name, room), room))
    name = f'<text{quiet} x="{x + 8:g}" y="{y:g}">{label}<title>{escape(title)}</title></text>'
    if not latency:
        return name
    return f'{name}<text{quiet} x="{x + shape.box - 8:g}" y="{y:g}" text-anchor="end">{latency}</text>'


def latency_span(latencies: tuple[float, float]) -> str:
    """E.g. `3` or `3–5`, rounded to half a cycle, as measured latencies are close to whole numbers."""
    low, high = (f"{round(2 * cycles) / 2:g}" for cycles in latencies)
    return low if low == high else f"{low}–{high}"


def _rails(rows: Sequence[Sequence[PortOfCore]], ends: Sequence[float], shape: _Shape) -> str:
    """Lines from each stage to the next, and from the last one to every box; rows branch off at the left."""
    middle, aside = shape.width / 2, _MARGIN / 2
    lines = [f"M{middle:g} {end:g}v{2 * _GAP}" for end in ends[:-1]]
    lines.append(f"M{middle:g} {ends[-1]:g}v{_GAP}")
    y = rail = ends[-1] + _GAP
    for number, row in enumerate(rows):
        rail = y
        centres = [_left_of(place, shape) + shape.box / 2 for place in range(len(row))]
        begin = aside if len(rows) > 1 else min(middle, *centres)
        end = max(middle, *centres) if number == 0 else centres[-1]
        lines.append(f"M{begin:g} {rail:g}H{end:g}")
        lines += [f"M{centre:g} {rail:g}v{_GAP}" for centre in centres]
        y += _box_height(row) + 2 * _GAP
    if len(rows) > 1:
        lines.append(f"M{aside:g} {ends[-1] + _GAP:g}V{rail:g}")
    return f'<path class="edge" d="{"".join(lines)}"/>'


def _legend(core: CoreOverview, names: Mapping[str, str]) -> str:
    sentences = []
    if any(kind.latencies is not None for kind in core.kinds):
        sentences.append("Right of a kind: its latencies in cycles.")
    if any(not kind_on_port.most for port in core.ports for kind_on_port in port.kinds):
        sentences.append("Grey: less than half of its schemes run there.")
    if without_port := [kind.name for kind in core.kinds if not kind.ports]:
        sentences.append(f"Without a port: {', '.join(without_port)}.")
    if core.idle:
        plural = "s" if len(core.idle) > 1 else ""
        idle = ", ".join(names.get(port, port) for port in core.idle)
        sentences.append(f"No described scheme needs port{plural} {idle}.")
    return " ".join(sentences)


def _label(core: CoreOverview, names: Mapping[str, str]) -> str:
    ports = "; ".join(
        f"port {names.get(port.name, port.name)}: "
        + (", ".join(k.kind.name for k in port.kinds if k.most) or "no named kind")
        for port in core.ports
    )
    return f"Core with {len(core.ports)} ports; {ports}" if ports else "Core without known ports"


def _stage_lines(lines: Sequence[str], shape: _Shape) -> list[str]:
    """The lines of a stage: joined in one where there is room, else each wrapped by itself."""
    together = _wrap(" · ".join(lines), shape)
    return together if len(together) == 1 else [part for line in lines for part in _wrap(line, shape)]


def _wrap(text: str, shape: _Shape) -> list[str]:
    return textwrap.wrap(text, int((shape.width - 2 * _MARGIN - 20) / _LETTER))


def _short(name: str, room: float) -> str:
    """The name, with "vec" for "vector" where room is short: cutting it would hide load or store."""
    return name if len(name) * _LETTER <= room else name.replace("vector", "vec")


def _cut(text: str, room: float) -> str:
    n_letters = max(int(room / _LETTER), 1)
    return text if len(text) <= n_letters else text[: n_letters - 1] + "…"
