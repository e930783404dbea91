"""Layout of a witness's figure: from cycles on ports to rectangles in SVG user units (px)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inference.core.mapping import described
from inference.figures.witness import PortColumn, UopRole, UopSpan, WitnessPicture

BUCKET = 34
GAP = 9
HEIGHT = 150
LEFT = 44
RIGHT = 66
TOP = 14
BOTTOM = 24
ROOM = 1.08
"""Factor of the walls' height over their content's."""

LABEL_HEIGHT = 12
"""Minimum distance of two labels; lower blocks have no text."""

WORDS = {
    UopRole.FLOOD: "flood of the blocking instruction",
    UopRole.BESIDE: "the blocking instruction's other µop",
    UopRole.CONFINED: "µops of the scheme that cannot evade",
    UopRole.EVADING: "µops of the scheme on other ports",
    UopRole.UNEXPLAINED: "time that no whole number of µops explains",
}
"""Texts of the legend."""


@dataclass(frozen=True)
class WitnessBlock:
    role: str
    x: float
    y: float
    width: float
    height: float
    title: str


@dataclass(frozen=True)
class WitnessBucket:
    """A port with its blocks from the bottom up; `blocked`: it is flooded."""

    name: str
    x: float
    blocked: bool
    blocks: tuple[WitnessBlock, ...]

    @property
    def centre(self) -> float:
        return self.x + BUCKET / 2

    @property
    def right(self) -> float:
        return self.x + BUCKET


@dataclass(frozen=True)
class WitnessLine:
    """A horizontal line at a time: `kind` is "base", "tested" or "measured"; its label may be shifted."""

    kind: str
    y: float
    label_y: float
    label: str


@dataclass(frozen=True)
class Drawing:
    """The figure; `legend` has (role, text) of the roles that occur, `summary` is its description."""

    width: float
    height: float
    floor: float
    buckets: tuple[WitnessBucket, ...]
    levels: tuple[WitnessLine, ...]
    legend: tuple[tuple[str, str], ...]
    summary: str

    @property
    def left(self) -> float:
        return LEFT - GAP / 2

    @property
    def right(self) -> float:
        return self.width - RIGHT

    @property
    def top(self) -> float:
        """The upper end of the walls."""
        return TOP


def layout(picture: WitnessPicture, ports: Sequence[str]) -> Drawing:
    """The layout of a figure; `ports` are the names of ports in texts."""
    times = [picture.base, picture.tested, picture.tested_measured or 0.0]
    top = max(*times, *(column.load for column in picture.columns), 1e-9)
    scale = HEIGHT / (top * ROOM)
    floor = TOP + HEIGHT
    return Drawing(
        width=LEFT + len(picture.columns) * (BUCKET + GAP) + RIGHT,
        height=floor + BOTTOM,
        floor=floor,
        buckets=tuple(
            _bucket(index, column, ports, floor, scale) for index, column in enumerate(picture.columns)
        ),
        levels=_levels(picture, floor, scale),
        legend=tuple((role.value, WORDS[role]) for role in picture.roles),
        summary=_summary(picture),
    )


def _bucket(
    index: int, column: PortColumn, ports: Sequence[str], floor: float, scale: float
) -> WitnessBucket:
    x = LEFT + index * (BUCKET + GAP)
    blocks = tuple(
        WitnessBlock(
            role=part.role.value,
            x=x,
            y=floor - (part.bottom + part.height) * scale,
            width=BUCKET,
            height=part.height * scale,
            title=f"port {column.name}: {_uop_title(part, ports)}",
        )
        for part in column.parts
    )
    return WitnessBucket(column.name, x, column.blocked, blocks)


def _uop_title(part: UopSpan, ports: Sequence[str]) -> str:
    kind = described(((part.mask, 1),), ports).removeprefix("1×")
    return f"{part.height:.3g} cycles of {WORDS[part.role]}, {kind}"


def _levels(picture: WitnessPicture, floor: float, scale: float) -> tuple[WitnessLine, ...]:
    """Lines whose labels do not overlap: lower labels are shifted down."""
    lines = [("base", picture.base, "t\N{SUBSCRIPT ONE}")]
    if abs(picture.tested - picture.base) > 1e-9:
        lines.append(("tested", picture.tested, "t\N{SUBSCRIPT TWO}"))
    if picture.tested_measured is not None:
        lines.append(("measured", picture.tested_measured, "measured"))
    levels: list[WitnessLine] = []
    for kind, cycles, label in sorted(lines, key=lambda line: -line[1]):
        y = floor - cycles * scale
        label_y = max([y, *(level.label_y + LABEL_HEIGHT for level in levels)])
        levels.append(WitnessLine(kind, y, label_y, label))
    return tuple(levels)


def _summary(picture: WitnessPicture) -> str:
    flooded = [column.name for column in picture.columns if column.blocked]
    confined = _ports_with(picture, UopRole.CONFINED)
    evading = _ports_with(picture, UopRole.EVADING)
    parts = [
        f"Ports {', '.join(flooded)} are flooded; expected {picture.base:.4g} cycles alone, "
        f"{picture.tested:.4g} with the scheme"
    ]
    if confined:
        parts.append(f"µops of the scheme on flooded ports {', '.join(confined)}")
    if evading:
        parts.append(f"µops of the scheme evade to ports {', '.join(evading)}")
    return "; ".join(parts)


def _ports_with(picture: WitnessPicture, role: UopRole) -> list[str]:
    return [column.name for column in picture.columns if any(part.role is role for part in column.parts)]
