"""Geometry of the bucket picture: from cycles on ports to rectangles in an SVG's user units (px)."""

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
"""Of both: with thirteen ports and two limits the picture fits into a laptop's page."""
HEIGHT = 280
LEFT = 58
TOP = 34
BOTTOM = 62
END_STROKE = 4
LABEL_HEIGHT = 13
"""A block lower than this has no room for its letter."""

FAR = 4
"""So many times above the fullest bucket, a measurement is not drawn."""

OUTSIDE = len(LIGHT)
"""The colour of what no port does."""

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
        """Where its letter stands, or would."""
        return self.y + self.height / 2 + 4

    @property
    def labelled(self) -> bool:
        """Whether its letter fits in."""
        return self.height >= LABEL_HEIGHT


@dataclass(frozen=True)
class Range:
    """How far a port's load can vary: a line beside its bucket from `top` to `bottom`, a dot at its load."""

    x: float
    top: float
    bottom: float
    dot: float
    label: str
    title: str

    @property
    def left(self) -> float:
        """Where its end strokes begin."""
        return self.x - END_STROKE

    @property
    def right(self) -> float:
        return self.x + END_STROKE


@dataclass(frozen=True)
class PortBucket:
    """One port: its walls, the blocks in it, its load in cycles, and the range of that unless it is fixed.

    `label` is the load as it stands below, `told` in words; `full`: the port limits the experiment. Limits
    outside the ports are buckets of their own, right of them.
    """

    name: str
    x: float
    load: float
    label: str
    told: str
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
    """The whole drawing; `schemes` are (letter, text, multiplicity), `ticks` are (y, label).

    `level` is where the prediction is drawn, `measured` where the measurement is, None where it is not drawn.
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
        """All of the picture in words."""
        return f"{self.caption}. {'; '.join(bucket.told for bucket in self.buckets)}."

    @property
    def has_ranges(self) -> bool:
        """Whether the load of any port can vary."""
        return any(bucket.range for bucket in self.buckets)

    @property
    def has_full(self) -> bool:
        """Whether any port limits the experiment."""
        return any(bucket.full for bucket in self.buckets)

    @property
    def left(self) -> float:
        """Where the first bucket's space begins."""
        return LEFT - GAP / 2

    @property
    def top(self) -> float:
        """Upper end of the walls."""
        return TOP


def picture(schedule: Schedule, terms: Sequence[tuple[str, int]], measured: float | None = None) -> Picture:
    """Draw a schedule; `terms` are the experiment's (scheme, multiplicity), `measured` cycles are a line.

    There is none for a measurement far above all buckets: it would leave nothing to be seen of these.
    """
    data = buckets(schedule)
    top = max(data["cycles"], *(port["load"] for port in data["ports"]), 1e-9)  # limits are at most `cycles`
    if measured is not None and measured > FAR * top:
        measured = None
    top = max(top, measured or 0.0)
    step = _tick_step(top)
    scale = HEIGHT / (top * 1.06)
    floor = TOP + HEIGHT
    letters = {text: _letter(index) for index, text in enumerate(data["schemes"])}
    counts = dict(terms)
    drawn = (
        *(_bucket(index, data, letters, floor, scale) for index in range(len(data["ports"]))),
        *(_outside(index, data, letters, floor, scale) for index in range(len(data["limits"]))),
    )
    return Picture(
        width=LEFT + len(drawn) * (BUCKET + GAP),
        height=floor + BOTTOM,
        floor=floor,
        level=floor - data["cycles"] * scale,
        measured=None if measured is None else floor - measured * scale,
        cycles=data["cycles"],
        port_cycles=data["port_cycles"],
        limited_by=data["limited_by"],
        buckets=drawn,
        schemes=tuple((letters[text], text, counts[text]) for text in data["schemes"]),
        ticks=tuple(
            (floor - mark * step * scale, f"{mark * step:g}")
            for mark in range(int(top * 1.06 / step + 1e-9) + 1)
        ),
        caption=_caption(data),
    )


def _bucket(
    index: int, data: dict[str, Any], letters: dict[str, str], floor: float, scale: float
) -> PortBucket:
    port = data["ports"][index]
    x = LEFT + index * (BUCKET + GAP)
    blocks = []
    for block in port["blocks"]:
        text = data["schemes"][block["scheme"]]
        height = block["height"] * scale
        blocks.append(
            BucketBlock(
                x=x,
                y=floor - block["bottom"] * scale - height,
                width=BUCKET,
                height=height,
                colour=index % len(LIGHT),
                letter=letters[text],
                title=f"{text}: {block['height']:.3g} cycles of µop {data['uops'][block['uop']]['label']} "
                f"on port {port['name']}",
            )
        )
    return PortBucket(
        name=port["name"],
        x=x,
        load=port["load"],
        label=_cycles(port["load"]),
        told=_told(port),
        full=port["bottleneck"] and data["limited_by"] == "ports",
        blocks=tuple(blocks),
        range=_range(port, x, floor, scale),
    )


def _outside(
    index: int, data: dict[str, Any], letters: dict[str, str], floor: float, scale: float
) -> PortBucket:
    """A limit outside the ports, filled by what each scheme takes of it."""
    limit = data["limits"][index]
    what = LIMITS[limit["name"]]
    x = LEFT + (len(data["ports"]) + index) * (BUCKET + GAP)
    blocks = tuple(
        BucketBlock(
            x=x,
            y=floor - (block["bottom"] + block["height"]) * scale,
            width=BUCKET,
            height=block["height"] * scale,
            colour=OUTSIDE,
            letter=letters[data["schemes"][block["scheme"]]],
            title=f"{data['schemes'][block['scheme']]}: {block['height']:.3g} cycles of {what}",
        )
        for block in limit["blocks"]
    )
    return PortBucket(
        name=_SHORT[limit["name"]],
        x=x,
        load=limit["cycles"],
        label=_cycles(limit["cycles"]),
        told=f"{what}: {_cycles(limit['cycles'])} cycles",
        full=data["limited_by"] == limit["name"],
        blocks=blocks,
        range=None,
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
        title=_told(port),
    )


def _told(port: dict[str, Any]) -> str:
    load = f"port {port['name']}: {_cycles(port['load'])} cycles"
    if port["least"] == port["greatest"]:
        return load
    return f"{load}, can be {_cycles(port['least'])} to {_cycles(port['greatest'])}"


def _cycles(amount: float) -> str:
    """Three digits that count, and no power of ten: there is little room."""
    return f"{amount:.3g}" if amount < 999.5 else f"{amount:.0f}"


def _caption(data: dict[str, Any]) -> str:
    cycles = f"{_cycles(data['cycles'])} cycles, limited by"
    if data["limited_by"] != "ports":
        return f"{cycles} {LIMITS[data['limited_by']]}; ports alone: {_cycles(data['port_cycles'])}"
    busiest = [port["name"] for port in data["ports"] if port["bottleneck"]]
    return f"{cycles} {'port' if len(busiest) == 1 else 'ports'} {', '.join(busiest) or 'none'}"


def _letter(index: int) -> str:
    """A to Z, then A2, B2 …"""
    turn, place = divmod(index, len(ascii_uppercase))
    return ascii_uppercase[place] + (str(turn + 1) if turn else "")


def _tick_step(top: float) -> float:
    """The smallest step of 1, 2 or 5 times a power of ten that gives at most seven ticks."""
    steps = (digit * 10.0**power for power in range(-3, 12) for digit in (1, 2, 5))
    return next(step for step in steps if top / step <= 7)
