"""The dependency graph of a block: instructions in program order, and an edge per value from one to another.

Edges within an iteration run on the right, those to a later iteration, dashed, on the left. Each edge ends in
a chip with the location and the cycles, in front of the instruction that waits. Edges with the same value
share a lane, and lanes are assigned so that lines that overlap in height lie beside each other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from inference.core.loop.values import Dependence, InstructionAnalysis, LoopAnalysis, UnknownPart
from inference.figures.svg import SvgDrawing

FOLDED_FROM = 25
"""Instructions from which on a graph is folded by default: more do not fit on a screen."""

_LETTER, _SMALL_LETTER = 7.3, 6.7
"""Width of a letter of the code and of a chip, rounded up."""
_LINE, _ROW, _GAP = 20, 26, 8
_CHIP, _LANE, _ARROW, _MARGIN = 16, 11, 10, 6
_NUMBER = 34
_MAX_TEXT = 44


def usual_places(analysis: LoopAnalysis) -> tuple[int, ...]:
    """The instructions that a folded graph has: those of the critical chain, and those that hand a value to
    another iteration or to the chain; all of a short block.
    """
    every = range(len(analysis.instructions))
    if len(every) < FOLDED_FROM:
        return tuple(every)
    chain = {place for edge in analysis.dependences if edge.is_critical for place in _ends(edge)}
    places = chain | {place for edge in analysis.dependences if edge.iterations for place in _ends(edge)}
    places |= {edge.producer for edge in analysis.dependences if edge.consumer in chain}
    return tuple(sorted(places)) or tuple(every)


def _ends(edge: Dependence) -> tuple[int, int]:
    return edge.producer, edge.consumer


def dependency_drawing(
    analysis: LoopAnalysis,
    *,
    removed: Sequence[Dependence] = (),
    places: Collection[int] | None = None,
    address_of: Callable[[Dependence], str] | None = None,
) -> SvgDrawing:
    """The graph.

    Args:
        analysis: Without the removed dependences, which are drawn struck through.
        removed: Dependences that were occupied away.
        places: Instructions to draw, None for all; edges to others are left out.
        address_of: The link of an edge, None for a graph without links.
    """
    every = range(len(analysis.instructions))
    drawing = sorted(set(every) if places is None else {place for place in places if place in every})
    removed_keys = {edge.key for edge in removed}
    edges = [*(edge for edge in analysis.dependences if edge.key not in removed_keys), *removed]
    visible = [edge for edge in edges if {*_ends(edge)} <= {*drawing}]
    sides = tuple([edge for edge in visible if bool(edge.iterations) is carried] for carried in (True, False))
    rows = _rows(drawing, len(every), sides)
    box = _box_width(analysis.instructions[place] for place in drawing)
    chips = [max((_chip_width(edge) for edge in side), default=0.0) for side in sides]
    lanes = [_lanes(side, rows) for side in sides]
    room = [
        _ARROW + chip + _LANE * (max(by_value.values(), default=0) + 2) if side else 0.0
        for side, chip, by_value in zip(sides, chips, lanes, strict=True)
    ]
    left = _MARGIN + room[0]
    parts = [
        _fold(row.hidden_before, left + box / 2, row.top - 11) for row in rows.values() if row.hidden_before
    ]
    parts += [
        _node(
            analysis.instructions[place],
            place,
            rows[place],
            left,
            box,
            _is_critical(place, edges, removed_keys),
        )
        for place in drawing
    ]
    lines = [
        (
            edge,
            _edge(
                edge, rows, lanes[number], _Side(start, direction, chips[number]), edge.key in removed_keys
            ),
        )
        for number, (start, direction) in enumerate(((left, -1), (left + box, 1)))
        for edge in sides[number]
    ]
    lines.sort(key=lambda entry: entry[0].is_critical)  # the critical chain lies on top
    parts += [_link_edge(edge, shapes, address_of, edge.key in removed_keys) for edge, shapes in lines]
    bottom = max((row.bottom for row in rows.values()), default=0.0) + _MARGIN
    if hidden := len(every) - 1 - drawing[-1] if drawing else 0:
        bottom += _ROW
        parts.append(_fold(hidden, left + box / 2, bottom - 11))
    label = f"Dependency graph of {_count(len(every))} with {len(edges)} dependences"
    return SvgDrawing(left + box + room[1] + _MARGIN, bottom, "".join(parts), label)


def edge_text(edge: Dependence) -> str:
    """The location and the cycles of an edge: `rax 4`, `rax ?`, `memory 5 ↻2` two iterations later."""
    cycles = "?" if edge.cycles is None else _format_cycles(edge.cycles)
    later = f" ↻{edge.iterations}" if edge.iterations > 1 else ""
    return f"{edge.location} {cycles}{later}"


@dataclass(frozen=True)
class _Row:
    """An instruction's extent.

    Attributes:
        entries: {key of an edge: y of its end}.
        exits: Y of its own values.
    """

    top: float
    bottom: float
    entries: Mapping[str, float]
    exits: float
    hidden_before: int


@dataclass(frozen=True)
class _Side:
    """The side of the boxes on which edges run: `direction` is -1 for the left one."""

    start: float
    direction: int
    chip: float

    def at(self, distance: float) -> float:
        return self.start + self.direction * distance


def _rows(places: Sequence[int], instructions: int, sides: Sequence[Sequence[Dependence]]) -> dict[int, _Row]:
    rows: dict[int, _Row] = {}
    y, before = float(_MARGIN), -1
    for place in places:
        hidden = place - before - 1
        y += _ROW if hidden else 0
        entering = [
            [edge.key for edge in sorted(side, key=lambda edge: -edge.producer) if edge.consumer == place]
            for side in sides
        ]
        leaves = any(edge.producer == place for side in sides for edge in side)
        height = _LINE * max(1, *map(len, entering)) + (_GAP if leaves else 4)
        entries = {key: y + 2 + _LINE * (line + 0.5) for keys in entering for line, key in enumerate(keys)}
        rows[place] = _Row(y, y + height, entries, y + height - 4, hidden)
        y += height + _GAP
        before = place
    return rows


def _lanes(edges: Sequence[Dependence], rows: Mapping[int, _Row]) -> dict[tuple[int, str], int]:
    """{value: number of its lane from the boxes outwards}, short lines innermost."""
    spans: dict[tuple[int, str], tuple[float, float]] = {}
    for edge in edges:
        value = edge.producer, edge.location
        ends = rows[edge.producer].exits, rows[edge.consumer].entries[edge.key]
        low, high = spans.get(value, (min(ends), max(ends)))
        spans[value] = min(low, *ends), max(high, *ends)
    occupied: list[list[tuple[float, float]]] = []
    lanes: dict[tuple[int, str], int] = {}
    for value, (low, high) in sorted(spans.items(), key=lambda entry: entry[1][1] - entry[1][0]):
        free = (
            number
            for number, lane in enumerate(occupied)
            if all(high < other_low or low > other_high for other_low, other_high in lane)
        )
        number = next(free, len(occupied))
        if number == len(occupied):
            occupied.append([])
        occupied[number].append((low, high))
        lanes[value] = number
    return lanes


def _box_width(instructions: Iterator[InstructionAnalysis]) -> float:
    longest = max((len(_cut(instruction.text)) for instruction in instructions), default=0)
    return _NUMBER + longest * _LETTER + 44


def _node(
    instruction: InstructionAnalysis, place: int, row: _Row, x: float, width: float, is_critical: bool
) -> str:
    middle = (row.top + row.bottom) / 2 + 4
    critical = " critical" if is_critical else ""
    unknown = UnknownPart.LATENCY in instruction.unknown or instruction.on_chain is None
    adds = "?" if unknown else _format_cycles(instruction.on_chain or 0.0)
    mark = (
        f'<text class="strong" x="{x + width - 8:g}" y="{middle:g}" text-anchor="end">● {adds}</text>'
        if is_critical
        else ""
    )
    text = escape(instruction.text)
    return (
        f'<g class="node{critical}" data-node="{place}"><title>{place + 1}: {text}</title>'
        f'<rect class="plot" x="{x:g}" y="{row.top:g}" width="{width:g}" height="{row.bottom - row.top:g}" '
        f'rx="4" stroke-width="{2.5 if is_critical else 1}"/>'
        f'<text class="quiet" x="{x + _NUMBER - 10}" y="{middle:g}" text-anchor="end">{place + 1}</text>'
        f'<text class="code" x="{x + _NUMBER}" y="{middle:g}">{escape(_cut(instruction.text))}</text>'
        f"{mark}</g>"
    )


def _is_critical(place: int, edges: Sequence[Dependence], removed_keys: Collection[str]) -> bool:
    return any(edge.is_critical and place in _ends(edge) and edge.key not in removed_keys for edge in edges)


def _edge(
    edge: Dependence,
    rows: Mapping[int, _Row],
    lanes: Mapping[tuple[int, str], int],
    side: _Side,
    is_removed: bool,
) -> str:
    begin, end = rows[edge.producer].exits, rows[edge.consumer].entries[edge.key]
    lane = side.at(_ARROW + side.chip + _LANE * (lanes[edge.producer, edge.location] + 1))
    tip = side.at(1)
    width = 2.5 if edge.is_critical and not is_removed else 1.25
    dashes = ' stroke-dasharray="1 4"' if is_removed else ' stroke-dasharray="6 3"' if edge.iterations else ""
    path = f"M{side.start:g} {begin:g}H{lane:g}V{end:g}H{side.at(_ARROW - 2):g}"
    head = f"M{tip:g} {end:g}l{side.direction * 8} -4.5v9z"
    chip = _chip_width(edge)
    x = side.at(_ARROW + (chip if side.direction < 0 else 0))
    line = f'<path class="struck" d="M{x:g} {end:g}h{chip:g}" stroke-width="1.5"/>' if is_removed else ""
    return (
        f'<path class="edge" d="{path}" fill="none" stroke-width="{width:g}"{dashes}/>'
        f'<path class="head" d="{head}"/>'
        f'<rect class="chip" x="{x:g}" y="{end - _CHIP / 2:g}" width="{chip:g}" height="{_CHIP}" rx="8"/>'
        f'<text class="chip-text{" strong" if edge.is_critical and not is_removed else ""}" '
        f'x="{x + chip / 2:g}" y="{end + 4:g}" text-anchor="middle">{escape(edge_text(edge))}</text>{line}'
    )


def _link_edge(
    edge: Dependence, shapes: str, address_of: Callable[[Dependence], str] | None, is_removed: bool
) -> str:
    """An edge's shapes as a link, or as a group; its title says what it is in words."""
    when = {0: "", 1: " of the next iteration"}.get(edge.iterations, f" {edge.iterations} iterations later")
    suffix = "" if edge.cycles is not None else ", unknown latency"
    basis = f", {edge.basis}" if edge.basis else ""
    ends = f"from instruction {edge.producer + 1} to {edge.consumer + 1}{when}"
    title = f"{edge_text(edge)} {ends}{suffix}{basis}"
    kinds = {
        "critical": edge.is_critical and not is_removed,
        "carried": edge.iterations,
        "removed": is_removed,
    }
    classes = " ".join(["dependence", *(name for name, holds in kinds.items() if holds)])
    data = f'data-edge="{escape(edge.key)}" data-from="{edge.producer}" data-to="{edge.consumer}"'
    if address_of is None:
        return f'<g class="{classes}" {data}><title>{escape(title)}</title>{shapes}</g>'
    title += ": restore it" if is_removed else ": take it away"
    address = f'id="edge-{escape(edge.key)}" href="{escape(address_of(edge))}"'
    label = f'aria-label="{escape(title)}"'
    return f'<a class="{classes}" {data} {address} {label}><title>{escape(title)}</title>{shapes}</a>'


def _fold(hidden: int, x: float, y: float) -> str:
    return f'<text class="quiet" x="{x:g}" y="{y:g}" text-anchor="middle">⋮ {_count(hidden)}</text>'


def _count(instructions: int) -> str:
    return f"{instructions} instruction{'' if instructions == 1 else 's'}"


def _format_cycles(cycles: float) -> str:
    """Measured latencies are close to whole numbers: `1` for 0.998."""
    return f"{cycles:.1f}".removesuffix(".0")


def _chip_width(edge: Dependence) -> float:
    return len(edge_text(edge)) * _SMALL_LETTER + 14


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"
