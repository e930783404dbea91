"""SVG drawings for pages and files: a heat map, the ports of a mapping, its graph.

Shapes have classes instead of inline styles, so that a strict Content-Security-Policy allows them, and the
page colours them in light and dark. SVG files include these rules.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from inference.core.mapping import PortMapping, ports_in
from inference.core.texts import xml_text
from inference.figures.colours import DARK, LIGHT
from inference.figures.heatmap import HeatMap
from inference.figures.plotly_json import Json
from inference.figures.tripartite import tripartite

_VIRIDIS = (
    *("#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c"),
    *("#28ae80", "#5ec962", "#addc30", "#fde725"),
)
_PALEST, _SHADES = 1, 24
"""The first colour of the scale to use: the darkest one is invisible on a dark page."""


@dataclass(frozen=True)
class SvgDrawing:
    """An SVG of `width` × `height` units: its shapes, and a `label` for screen readers.

    `rules`: of the style sheet of its file, beside those for all drawings.
    """

    width: float
    height: float
    body: str
    label: str
    rules: str = ""

    def inline(self, role: str = "img") -> str:
        """The SVG element for a page, whose style sheet has the rules. `role`: "group" for one with links."""
        return self._svg("", f' role="{role}" aria-label="{escape(self.label)}"')

    def file(self) -> str:
        return self._svg(f"<title>{escape(self.label)}</title><style>{_RULES}{self.rules}</style>", "")

    def _svg(self, head: str, style: str) -> str:
        return xml_text(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}" '
            f'width="{self.width:g}" height="{self.height:g}"{style}>{head}{self.body}</svg>'
        )


def shade_of(share: float) -> str:
    """The colour of a share from 0 to 1, in `_SHADES` steps."""
    stepped = round(max(0.0, min(1.0, share)) * (_SHADES - 1)) / (_SHADES - 1)
    place = _PALEST + stepped * (len(_VIRIDIS) - 1 - _PALEST)
    low = min(int(place), len(_VIRIDIS) - 2)
    pairs = zip(_channels(_VIRIDIS[low]), _channels(_VIRIDIS[low + 1]), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * (place - low)):02x}" for a, b in pairs)


def _channels(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[k : k + 2], 16) for k in (1, 3, 5))


_MAP, _LEFT, _TOP, _BELOW = 350, 46, 8, 40


def heat_map_drawing(
    heat_map: HeatMap, unit: str, across: str = "measured", upwards: str = "predicted"
) -> SvgDrawing:
    """A heat map: bins coloured by the logarithm of their counts, and the diagonal.

    Args:
        heat_map: Counts per bin.
        unit: Unit of both axes.
        across: Name of the horizontal axis.
        upwards: Name of the vertical axis.
    """
    size = _MAP / heat_map.bins
    cells: dict[str, list[str]] = defaultdict(list)
    for row, counts in enumerate(heat_map.counts):
        for column, count in enumerate(counts):
            if count:
                share = math.log1p(count) / math.log1p(heat_map.peak)
                x, y = _LEFT + column * size, _TOP + _MAP - (row + 1) * size
                cells[shade_of(share)].append(f"M{x:g} {y:g}h{size:g}v{size:g}h-{size:g}z")
    paths = "".join(f'<path fill="{colour}" d="{"".join(parts)}"/>' for colour, parts in cells.items())
    frame = f'<rect class="plot" x="{_LEFT}" y="{_TOP}" width="{_MAP}" height="{_MAP}"/>'
    diagonal = f'<path class="line" d="M{_LEFT} {_TOP + _MAP}L{_LEFT + _MAP} {_TOP}"/>'
    ticks = "".join(_ticks(heat_map.limit))
    middle = _LEFT + _MAP / 2
    axes = (
        f'<text x="{middle:g}" y="{_TOP + _MAP + 32}" text-anchor="middle">{across} {escape(unit)}</text>'
        f'<text x="12" y="{_TOP + _MAP / 2:g}" text-anchor="middle" '
        f'transform="rotate(-90 12 {_TOP + _MAP / 2:g})">{upwards} {escape(unit)}</text>'
    )
    title = f"Heat map: {heat_map.n:,} experiments, {upwards} against {across}"
    beyond = f", {heat_map.outside:,} beyond the axes" if heat_map.outside else ""
    body = frame + paths + diagonal + ticks + axes
    return SvgDrawing(_LEFT + _MAP + 10, _TOP + _MAP + _BELOW, body, title + beyond)


def _ticks(limit: float) -> Iterable[str]:
    for part in range(5):
        value, at = limit * part / 4, _MAP * part / 4
        yield f'<text x="{_LEFT + at:g}" y="{_TOP + _MAP + 16}" text-anchor="middle">{value:.3g}</text>'
        yield f'<text x="{_LEFT - 6}" y="{_TOP + _MAP - at + 4:g}" text-anchor="end">{value:.3g}</text>'


_ROW, _BAR = 26, 420


def port_usage_drawing(mapping: PortMapping) -> SvgDrawing:
    """A bar per port: schemes that can use it, and, filled, those with a µop that can use no other port."""
    can, only = [0] * len(mapping.ports), [0] * len(mapping.ports)
    for uops in mapping.usage.values():
        masks = {mask for mask, _ in uops}
        for port in {port for mask in masks for port in ports_in(mask)}:
            can[port] += 1
        for port in {next(ports_in(mask)) for mask in masks if mask.bit_count() == 1}:
            only[port] += 1
    maximum = max(can, default=0) or 1
    rows = []
    for port, name in enumerate(mapping.ports):
        y = port * _ROW
        rows.append(
            f'<text class="name" x="64" y="{y + 18}" text-anchor="end">{escape(name)}</text>'
            f'<rect class="port-can port-{port % len(LIGHT)}" x="72" y="{y + 4}" '
            f'width="{_BAR * can[port] / maximum:.4g}" height="18"/>'
            f'<rect class="port-fill port-{port % len(LIGHT)}" x="72" y="{y + 4}" '
            f'width="{_BAR * only[port] / maximum:.4g}" height="18"/>'
            f'<text x="{80 + _BAR * can[port] / maximum:.4g}" y="{y + 18}">'
            f"{can[port]:,}; {only[port]:,} only here</text>"
        )
    label = "Schemes by port: " + ", ".join(f"{name} {can[k]}" for k, name in enumerate(mapping.ports))
    return SvgDrawing(72 + _BAR + 130, _ROW * len(mapping.ports), "".join(rows), label)


_LINE, _GAP = 18, 14
_AT_UOP, _AT_PORT = 540, 760
_MAX_TEXT = 52
_MAX_GROUPS = 300
"""Groups in the drawing at most."""


def graph_drawing(mapping: PortMapping) -> SvgDrawing:
    """Groups of schemes with equal µops, their µops and the ports of these, with lines between them."""
    model = tripartite(mapping)
    groups = model["groups"][:_MAX_GROUPS]
    uop_places = sorted({used["uop"] for group in groups for used in group["uops"]})
    uops = [model["uops"][place] for place in uop_places]
    height = max(len(groups) * _LINE, len(uops) * 24, len(model["ports"]) * 30) + 2 * _GAP
    at_group, at_port = _spread(len(groups), height), _spread(len(model["ports"]), height)
    at_uop = dict(zip(uop_places, _spread(len(uops), height), strict=True))
    used = "".join(
        f"M430 {y:g}C490 {y:g} 490 {at_uop[edge['uop']]:g} {_AT_UOP} {at_uop[edge['uop']]:g}"
        for group, y in zip(groups, at_group, strict=True)
        for edge in group["uops"]
    )
    shapes = [
        f'<path class="edge" d="{used}"/>',
        *_port_lines(uops, list(at_uop.values()), at_port),
        *(_group_text(group, y) for group, y in zip(groups, at_group, strict=True)),
        *(_uop_text(uop, y) for uop, y in zip(uops, at_uop.values(), strict=True)),
        *(_port_box(port, name, at_port[port]) for port, name in enumerate(model["ports"])),
    ]
    n_omitted = len(model["groups"]) - len(groups)
    label = (
        f"Graph: {len(mapping.usage):,} schemes in {len(model['groups']):,} groups with equal µops, "
        f"{len(model['uops'])} kinds of µops, {len(model['ports'])} ports"
        + (f"; {n_omitted:,} groups omitted" if n_omitted else "")
    )
    return SvgDrawing(820, height, "".join(shapes), label)


def _spread(number: int, height: float) -> list[int]:
    inside = height - 2 * _GAP
    return [round(_GAP + inside * (place + 0.5) / number) for place in range(number)]


def _port_lines(uops: Sequence[Json], places: Sequence[int], ports: Sequence[int]) -> Iterable[str]:
    """For each port, a path to all µops that it executes."""
    lines: dict[int, list[str]] = defaultdict(list)
    for uop, y in zip(uops, places, strict=True):
        for port in uop["ports"]:
            lines[port].append(f"M640 {y}C700 {y} 700 {ports[port]} {_AT_PORT} {ports[port]}")
    for port, parts in sorted(lines.items()):
        yield f'<path class="edge edge-{port % len(LIGHT)}" d="{"".join(parts)}"/>'


def _group_text(group: Json, y: float) -> str:
    first, n_more = group["schemes"][0], len(group["schemes"]) - 1
    text = first if len(first) <= _MAX_TEXT else first[: _MAX_TEXT - 1] + "…"
    label = f"{text} + {n_more:,}" if n_more else text
    return f'<text class="code" x="8" y="{y + 4:g}">{escape(label)}</text>'


def _uop_text(uop: Json, y: float) -> str:
    return f'<text class="code" x="{_AT_UOP + 6}" y="{y + 4:g}">{escape(uop["label"])}</text>'


def _port_box(port: int, name: str, y: float) -> str:
    place = port % len(LIGHT)
    return (
        f'<rect class="port-fill port-{place}" x="{_AT_PORT}" y="{y - 11:g}" '
        f'width="46" height="22" rx="3"/>'
        f'<text class="on-port on-port-{place}" x="{_AT_PORT + 23}" y="{y + 4:g}" '
        f'text-anchor="middle">{escape(name)}</text>'
    )


_DARK_TEXT = {1, 2, 3, 4, 5, 6, 8, 10}
"""Ports whose light colour needs dark text."""


def _rules() -> str:
    """The rules of the page's style sheet for these classes, with all colours for light and dark."""

    def ports(colours: Sequence[str], dark: bool) -> str:
        return "".join(
            f".port-{k}{{fill:{colour}}}.edge-{k}{{stroke:{colour}}}"
            f".on-port-{k}{{fill:{'#000' if dark or k in _DARK_TEXT else '#fff'}}}"
            for k, colour in enumerate(colours)
        )

    plain = (
        "text{font:12px system-ui,sans-serif;fill:#171b21}.code,.on-port{font-family:ui-monospace,monospace}"
        ".plot{fill:#fff;stroke:#b3bbc6}.line{stroke:#58616e;fill:none;stroke-dasharray:4 3}"
        ".edge{fill:none;stroke:#b3bbc6;stroke-opacity:.7}.port-can{fill-opacity:.35}"
        ".quiet{fill:#58616e}.strong{font-weight:600}.chip{fill:#fff;stroke:#b3bbc6}.head{fill:#58616e}"
        ".critical :is(.edge,.plot,.chip){stroke:#2453c4;stroke-opacity:1}.critical .head{fill:#2453c4}"
        ".struck{stroke:#b3261e}"
    )
    dark = (
        "svg{background:#101418}text{fill:#e6e9ee}.plot{fill:#161b21;stroke:#4a5563}.line{stroke:#9ba6b4}"
        ".edge{stroke:#4a5563}.quiet,.head{fill:#9ba6b4}.chip{fill:#161b21;stroke:#4a5563}"
        ".critical :is(.edge,.plot,.chip){stroke:#8fb0ff}.critical .head{fill:#8fb0ff}.struck{stroke:#ff8d84}"
    )
    return f"{plain}{ports(LIGHT, False)}@media(prefers-color-scheme:dark){{{dark}{ports(DARK, True)}}}"


_RULES = _rules()
