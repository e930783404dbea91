"""Layout of the bucket figure: from cycles on ports to rectangles in SVG user units (px)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from inference.core.schedule import Schedule
from inference.figures.colours import LIGHT
from inference.figures.tripartite import buckets

BUCKET = 40
GAP = 20
"""Chosen so that thirteen ports and two limits fit on a laptop's page."""
HEIGHT = 280
LEFT = 58
TOP = 34
BOTTOM = 62
END_STROKE = 4
LABEL_HEIGHT = 13
"""Minimum height of a block with a letter."""

FAR = 4
"""A measurement more than this factor above the fullest bucket is not drawn."""

OUTSIDE = len(LIGHT)
"""The colour of limits outside the ports."""

LIMITS = {"instructions": "R_max", "slots": "issue slots"}
_SHORT = {"instructions": "instr.", "slots": "slots"}


@dataclass(frozen=True)
class BucketBlock:
    """One scheme's µops of one kind on one port, or its share of a limit outside the ports."""

    x: float
    y: float
    width: float
    height: float
    colour: int
    letter: str
    title: str

    @property
    def baseline(self) -> float:
        return self.y + self.height / 2 + 4

    @property
    def labelled(self) -> bool:
        """Whether it is high enough for its letter."""
        return self.height >= LABEL_HEIGHT


@dataclass(frozen=True)
class Range:
    """The interval of a port's load: a line beside its bucket from `top` to `bottom`, a dot at its load."""

    x: float
    top: float
    bottom: float
    dot: float
    label: str
    title: str

    @property
    def left(self) -> float:
        """The left end of its end strokes."""
        return self.x - END_STROKE

    @property
    def right(self) -> float:
        return self.x + END_STROKE


@dataclass(frozen=True)
class PortBucket:
    """A port with its blocks, its load in cycles, and the interval of the load unless it is fixed.

    `label` is the load as short text, `description` as a phrase; `full`: the port limits the experiment.
    Limits outside the ports are buckets to the right of them.
    """

    name: str
    x: float
    load: float
    label: str
    description: str
    full: bool
    blocks: tuple[BucketBlock, ...]
    range: Range | None

    @property
    def centre(self) -> float:
        return self.x + BUCKET / 2

    @property
    def right(self) -> float:
        return self.x + BUCKET


@dataclass(frozen=True)
class Picture:
    """The figure; `schemes` are (letter, text, multiplicity), `ticks` are (y, label).

    `level` is the y of the prediction, `measured` that of the measurement, None if it is not drawn.
    """

    width: float
    height: float
    floor: float
    level: float
    measured: float | None
    cycles: float
    port_cycles: float
    limited_by: str
    buckets: tuple[PortBucket, ...]
    schemes: tuple[tuple[str, str, int], ...]
    ticks: tuple[tuple[float, str], ...]
    caption: str

    @property
    def summary(self) -> str:
        return f"{self.caption}. {'; '.join(bucket.description for bucket in self.buckets)}."

    @property
    def has_ranges(self) -> bool:
        return any(bucket.range for bucket in self.buckets)

    @property
    def has_full(self) -> bool:
        return any(bucket.full for bucket in self.buckets)

    @property
    def left(self) -> float:
        """The left end of the first bucket's space."""
        return LEFT - GAP / 2

    @property
    def top(self) -> float:
        """The upper end of the walls."""
        return TOP


def picture(schedule: Schedule, terms: Sequence[tuple[str, int]], measured: float | None = None) -> Picture:
    """The figure of a schedule; `terms` are the experiment's (scheme, multiplicity), `measured` cycles are a
    line.

    A measurement far above all buckets is not drawn, because these would be invisible.
    """
    data = buckets(schedule)
    top = max(data["cycles"], *(port["load"] for port in data["ports"]), 1e-9)  # limits are at most `cycles`
    if measured is not None and measured > FAR * top:
        measured = None
    top = max(top, measured or 0.0)
    step = _tick_step(top)
    scale = HEIGHT / (top * 1.06)
    floor = TOP + HEIGHT
    counts = dict(terms)
    canvas = _Canvas(data, floor, scale)
    port_buckets = (
        *map(canvas.port, range(len(data["ports"]))),
        *map(canvas.limit, range(len(data["limits"]))),
    )
    return Picture(
        width=LEFT + len(port_buckets) * (BUCKET + GAP),
        height=floor + BOTTOM,
        floor=floor,
        level=floor - data["cycles"] * scale,
        measured=None if measured is None else floor - measured * scale,
        cycles=data["cycles"],
        port_cycles=data["port_cycles"],
        limited_by=data["limited_by"],
        buckets=port_buckets,
        schemes=tuple((_letter(index), text, counts[text]) for index, text in enumerate(data["schemes"])),
        ticks=tuple(
            (floor - mark * step * scale, f"{mark * step:g}")
            for mark in range(int(top * 1.06 / step + 1e-9) + 1)
        ),
        caption=_caption(data),
    )


@dataclass(frozen=True)
class _Canvas:
    """Converts cycles to coordinates; letters are those of the schemes' positions."""

    data: dict[str, Any]
    floor: float
    scale: float

    def port(self, index: int) -> PortBucket:
        port = self.data["ports"][index]
        x = LEFT + index * (BUCKET + GAP)
        uops = [f"µop {uop['label']} on port {port['name']}" for uop in self.data["uops"]]
        return PortBucket(
            name=port["name"],
            x=x,
            load=port["load"],
            label=_cycles(port["load"]),
            description=_load_text(port),
            full=port["bottleneck"] and self.data["limited_by"] == "ports",
            blocks=tuple(
                self._block(block, x, index % len(LIGHT), uops[block["uop"]]) for block in port["blocks"]
            ),
            range=_range(port, x, self.floor, self.scale),
        )

    def limit(self, index: int) -> PortBucket:
        """The bucket of a limit outside the ports, filled by each scheme's share."""
        limit = self.data["limits"][index]
        limit_name = LIMITS[limit["name"]]
        x = LEFT + (len(self.data["ports"]) + index) * (BUCKET + GAP)
        return PortBucket(
            name=_SHORT[limit["name"]],
            x=x,
            load=limit["cycles"],
            label=_cycles(limit["cycles"]),
            description=f"{limit_name}: {_cycles(limit['cycles'])} cycles",
            full=self.data["limited_by"] == limit["name"],
            blocks=tuple(self._block(block, x, OUTSIDE, limit_name) for block in limit["blocks"]),
            range=None,
        )

    def _block(self, block: dict[str, Any], x: float, colour: int, subject: str) -> BucketBlock:
        height = block["height"] * self.scale
        return BucketBlock(
            x=x,
            y=self.floor - block["bottom"] * self.scale - height,
            width=BUCKET,
            height=height,
            colour=colour,
            letter=_letter(block["scheme"]),
            title=f"{self.data['schemes'][block['scheme']]}: {block['height']:.3g} cycles of {subject}",
        )


def _range(port: dict[str, Any], x: float, floor: float, scale: float) -> Range | None:
    if port["least"] == port["greatest"]:
        return None
    return Range(
        x=x + BUCKET + GAP / 2,
        top=floor - port["greatest"] * scale,
        bottom=floor - port["least"] * scale,
        dot=floor - port["load"] * scale,
        label=f"{_cycles(port['least'])}–{_cycles(port['greatest'])}",
        title=_load_text(port),
    )


def _load_text(port: dict[str, Any]) -> str:
    load = f"port {port['name']}: {_cycles(port['load'])} cycles"
    if port["least"] == port["greatest"]:
        return load
    return f"{load}, can be {_cycles(port['least'])} to {_cycles(port['greatest'])}"


def _cycles(amount: float) -> str:
    """Three significant digits without a power of ten, to fit below a bucket."""
    return f"{amount:.3g}" if amount < 999.5 else f"{amount:.0f}"


def _caption(data: dict[str, Any]) -> str:
    cycles = f"{_cycles(data['cycles'])} cycles, limited by"
    if data["limited_by"] != "ports":
        return f"{cycles} {LIMITS[data['limited_by']]}; ports alone: {_cycles(data['port_cycles'])}"
    busiest = [port["name"] for port in data["ports"] if port["bottleneck"]]
    return f"{cycles} {'port' if len(busiest) == 1 else 'ports'} {', '.join(busiest) or 'none'}"


def _letter(index: int) -> str:
    """A to Z, then A2, B2 and so on."""
    turn, place = divmod(index, len(ascii_uppercase))
    return ascii_uppercase[place] + (str(turn + 1) if turn else "")


def _tick_step(top: float) -> float:
    """The smallest step of 1, 2 or 5 times a power of ten that gives at most seven ticks."""
    steps = (digit * 10.0**power for power in range(-3, 12) for digit in (1, 2, 5))
    return next(step for step in steps if top / step <= 7)
