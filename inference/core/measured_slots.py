"""How many issue slots schemes take, measured among instructions that need slots and nothing else.

An eliminated move takes a slot and no port; an exchange of registers takes several slots, so that slots run
out before instructions do, on a core that lets through more instructions than slots. With such padding beside
a scheme, slots take longest: cycles = (slots of the scheme + slots of the padding) / width.

No mix takes less time than its slots do, but many take more: cores issue in groups, and a scheme's ports may
be slower. So every reading is an upper bound, and the lowest counts. Where another padding gives the same
number, and instructions are not what runs out, the number is exact. One slot is the minimum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from inference.core.experiment import Experiment
from inference.isa.targets import target_of

SLOT_TOLERANCE = 0.4
"""Slots by which readings of one number may differ: 2 % of the twenty in a padded experiment."""

_MIN_CYCLES_RATIO = 1.03  # times the cycles of as many moves: what takes less may wait for these
_PADDING_SHAPES = ((5, 0), (8, 0), (11, 0), (1, 1), (2, 1))
"""How many (moves, exchanges) stand beside a scheme."""

MAX_PADDED = len(_PADDING_SHAPES)
"""Largest number of experiments per scheme."""

_MIN_LENGTH = 2  # instructions of an experiment without more of the padding than one: a pair like any other
_MAX_WIDTH = 12.0  # slots per cycle that can be: more of the padding fit into one
_CALIBRATION_SHAPES = ((1, 0), (0, 1), (1, 1), (2, 1), (4, 1))


@dataclass(frozen=True)
class Padding:
    """The scheme of an eliminated move, and that of an instruction with several slots if there is one."""

    move: str
    exchange: str | None = None

    def calibration(self) -> list[Experiment]:
        """Experiments that show the slots per cycle, and the slots of the exchange."""
        return [self._of(*shape) for shape in _CALIBRATION_SHAPES if shape[1] == 0 or self.exchange]

    def around(self, scheme: str) -> list[Experiment]:
        """A scheme among different amounts of padding; empty for the padding itself."""
        if scheme in (self.move, self.exchange):
            return []
        shapes = [shape for shape in _PADDING_SHAPES if shape[1] == 0 or self.exchange]
        return [Experiment.of({scheme: 1, **dict(self._of(*shape).terms)}) for shape in shapes]

    def _of(self, moves: int, exchanges: int) -> Experiment:
        return Experiment.of(
            {scheme: n for scheme, n in ((self.move, moves), (self.exchange, exchanges)) if scheme and n}
        )


@dataclass(frozen=True)
class SlotReading:
    """One scheme among padding takes at most `slots` slots; `exact`: another padding confirms that."""

    experiment: Experiment
    cycles: float
    slots: float
    exact: bool

    @property
    def number(self) -> int:
        """A whole number of slots: the scheme's where it is exact, otherwise an upper bound."""
        return max(1, int(self.slots + SLOT_TOLERANCE))


@dataclass(frozen=True)
class MeasuredSlots:
    """The slots of a core: eliminated `moves` per cycle, `width` in slots per cycle, readings by scheme."""

    moves: float
    width: float
    readings: Mapping[str, SlotReading] = field(default_factory=dict)


def read_slots(measured: Mapping[Experiment, float], padding: Padding) -> MeasuredSlots | None:
    """The slots that {experiment: cycles} show.

    None where the moves alone were not measured, or are not eliminated.
    """
    move_cycles = measured.get(Experiment.of([padding.move]))
    if not move_cycles or 1 / move_cycles > _MAX_WIDTH:
        return None
    exchange, width = _calibrate(measured, padding, 1 / move_cycles)
    slots_of = {padding.move: 1.0, padding.exchange: exchange}
    readings: dict[str, list[SlotReading]] = {}
    for experiment, cycles in measured.items():
        scheme = _padded_scheme(experiment, slots_of.keys())
        if scheme is not None and all(slots_of[other] for other in experiment.schemes if other != scheme):
            beside = sum(slots_of[other] * count for other, count in experiment.terms if other != scheme)
            shows = cycles > _MIN_CYCLES_RATIO * move_cycles * experiment.length
            readings.setdefault(scheme, []).append(
                SlotReading(experiment, cycles, width * cycles - beside, exact=shows)
            )
    return MeasuredSlots(1 / move_cycles, width, {scheme: _lowest(rows) for scheme, rows in readings.items()})


def _lowest(readings: list[SlotReading]) -> SlotReading:
    """The reading with the fewest slots.

    `exact` says here of each reading whether slots can have limited it.
    """
    lowest = min(readings, key=lambda reading: (reading.slots, str(reading.experiment)))
    agreeing = [row for row in readings if row.exact and row.slots - lowest.slots < SLOT_TOLERANCE]
    return replace(lowest, exact=lowest.number == 1 or len(agreeing) > 1)


def _calibrate(measured: Mapping[Experiment, float], padding: Padding, moves: float) -> tuple[float, float]:
    """Slots of an exchange, 0 where they cannot be read, and slots per cycle.

    Each further move beside an exchange costs a slot, unless instructions are what runs out, or the exchange
    waits for ports: then the width is no larger than the moves alone show.
    """
    if padding.exchange is None:
        return 0.0, moves
    by_moves = sorted(
        (dict(experiment.terms).get(padding.move, 0), cycles)
        for experiment, cycles in measured.items()
        if dict(experiment.terms).get(padding.exchange) == 1
        and set(experiment.schemes) <= {padding.move, padding.exchange}
    )
    widths = [
        (many - few) / (longer - shorter)
        for (few, shorter), (many, longer) in _pairs(by_moves)
        if longer > shorter
    ]
    width = max([moves, *(step for step in widths if step <= _MAX_WIDTH)]) if len(by_moves) > 1 else moves
    # Of all mixes the quickest says most: others lose slots where groups do not come out even.
    slots = min((width * cycles - few for few, cycles in by_moves), default=0.0)
    nearest = round(slots)
    return (float(nearest) if nearest >= 1 and abs(slots - nearest) < SLOT_TOLERANCE else 0.0), width


def _pairs(by_moves: Iterable[tuple[int, float]]) -> Iterator[tuple[tuple[int, float], tuple[int, float]]]:
    listed = list(by_moves)
    for k, first in enumerate(listed):
        yield from ((first, second) for second in listed[k + 1 :] if second[0] > first[0])


def _padded_scheme(experiment: Experiment, padding: Iterable[str | None]) -> str | None:
    """The only scheme besides padding, if it occurs once and there is more of the padding."""
    beside = [(scheme, count) for scheme, count in experiment.terms if scheme not in set(padding)]
    is_alone = len(beside) == 1 and beside[0][1] == 1 and experiment.length > _MIN_LENGTH
    return beside[0][0] if is_alone else None


def padding_of(isa: str) -> Padding | None:
    """The padding of the instruction set with this name; None for one that is not built in."""
    bodies = target_of(isa).bodies
    return None if bodies is None else Padding(*bodies.padding)
