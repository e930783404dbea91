"""How many issue slots schemes take, measured among instructions that need slots and nothing else.

An eliminated move takes a slot and no port; an exchange of registers takes several slots, so that slots run
out before instructions do where a core lets through more of them. With such padding beside a scheme, slots
last longest: cycles = (slots of the scheme + slots of the padding) / width.

No mix takes less than its slots do, but many take more: cores issue in groups, and a scheme's ports may be
slower. So every reading is an upper bound, and the lowest counts; where another padding says the same, and
not because instructions run out, the number is the scheme's. One slot is the least there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from inference.core.experiment import Experiment
from inference.isa.targets import target_of

EXACT = 0.4
"""Slots by which readings of one number may differ: 2 % of the twenty in a padded experiment."""

_INSTRUCTIONS = 1.03  # times the cycles of as many moves: what takes less may wait for these
_SHAPES = ((5, 0), (8, 0), (11, 0), (1, 1), (2, 1))  # how many (moves, exchanges) stand beside a scheme
PADDINGS = len(_SHAPES)
"""Experiments of each scheme at most."""

_LEAST = 2  # instructions of an experiment without more of the padding than one: a pair like any other
_WIDEST = 12.0  # slots per cycle that can be: more of the padding fit into one
_ALONE = ((1, 0), (0, 1), (1, 1), (2, 1), (4, 1))


@dataclass(frozen=True)
class Padding:
    """The scheme of an eliminated move, and one of an instruction with several slots, if there is any."""

    move: str
    exchange: str | None = None

    def calibration(self) -> list[Experiment]:
        """What tells how many slots there are per cycle, and how many the exchange takes."""
        return [self._of(*shape) for shape in _ALONE if shape[1] == 0 or self.exchange]

    def around(self, scheme: str) -> list[Experiment]:
        """A scheme among the padding, in several numbers; none for the padding itself."""
        if scheme in (self.move, self.exchange):
            return []
        shapes = [shape for shape in _SHAPES if shape[1] == 0 or self.exchange]
        return [Experiment.of({scheme: 1, **dict(self._of(*shape).terms)}) for shape in shapes]

    def _of(self, moves: int, exchanges: int) -> Experiment:
        return Experiment.of(
            {scheme: n for scheme, n in ((self.move, moves), (self.exchange, exchanges)) if scheme and n}
        )


@dataclass(frozen=True)
class SlotReading:
    """One scheme among padding: its slots are `slots` at most. `exact`: another padding says the same."""

    experiment: Experiment
    cycles: float
    slots: float
    exact: bool

    @property
    def number(self) -> int:
        """A whole number of slots: the scheme's where it is exact, else the most that it takes."""
        return max(1, int(self.slots + EXACT))


@dataclass(frozen=True)
class MeasuredSlots:
    """What padding tells of a core: `moves` per cycle, `width` in slots per cycle, {scheme: its reading}."""

    moves: float
    width: float
    readings: Mapping[str, SlotReading] = field(default_factory=dict)


def read_slots(measured: Mapping[Experiment, float], padding: Padding) -> MeasuredSlots | None:
    """What {experiment: cycles} tell; None where the moves alone were not measured, or are not eliminated."""
    alone = measured.get(Experiment.of([padding.move]))
    if not alone or 1 / alone > _WIDEST:
        return None
    exchange, width = _calibrated(measured, padding, 1 / alone)
    taken = {padding.move: 1.0, padding.exchange: exchange}
    found: dict[str, list[SlotReading]] = {}
    for experiment, cycles in measured.items():
        scheme = _padded(experiment, taken.keys())
        if scheme is not None and all(taken[each] for each in experiment.schemes if each != scheme):
            beside = sum(taken[each] * count for each, count in experiment.terms if each != scheme)
            shows = cycles > _INSTRUCTIONS * alone * experiment.length
            found.setdefault(scheme, []).append(
                SlotReading(experiment, cycles, width * cycles - beside, exact=shows)
            )
    return MeasuredSlots(1 / alone, width, {scheme: _lowest(each) for scheme, each in found.items()})


def _lowest(readings: list[SlotReading]) -> SlotReading:
    """Of one scheme, where `exact` says of each whether slots can be what it waited for."""
    lowest = min(readings, key=lambda each: (each.slots, str(each.experiment)))
    agreeing = [each for each in readings if each.exact and each.slots - lowest.slots < EXACT]
    return replace(lowest, exact=lowest.number == 1 or len(agreeing) > 1)


def _calibrated(measured: Mapping[Experiment, float], padding: Padding, moves: float) -> tuple[float, float]:
    """Slots of an exchange, 0 where that cannot be told, and slots per cycle.

    What each further move costs beside an exchange is a slot, unless instructions are what runs out, or the
    exchange waits for ports: these make the width no larger than the moves alone show.
    """
    if padding.exchange is None:
        return 0.0, moves
    by_moves = sorted(
        (dict(experiment.terms).get(padding.move, 0), cycles)
        for experiment, cycles in measured.items()
        if dict(experiment.terms).get(padding.exchange) == 1
        and set(experiment.schemes) <= {padding.move, padding.exchange}
    )
    steps = [
        (more - few) / (longer - shorter)
        for (few, shorter), (more, longer) in _pairs(by_moves)
        if longer > shorter
    ]
    width = max([moves, *(step for step in steps if step <= _WIDEST)]) if len(by_moves) > 1 else moves
    # Of all mixes the quickest says most: others lose slots where groups do not come out even.
    slots = min((width * cycles - few for few, cycles in by_moves), default=0.0)
    whole = round(slots)
    return (float(whole) if whole >= 1 and abs(slots - whole) < EXACT else 0.0), width


def _pairs(by_moves: Iterable[tuple[int, float]]) -> Iterator[tuple[tuple[int, float], tuple[int, float]]]:
    listed = list(by_moves)
    for k, first in enumerate(listed):
        yield from ((first, second) for second in listed[k + 1 :] if second[0] > first[0])


def _padded(experiment: Experiment, padding: Iterable[str | None]) -> str | None:
    """The only scheme beside padding, where it stands there once, and of that there is more."""
    beside = [(scheme, count) for scheme, count in experiment.terms if scheme not in set(padding)]
    once = len(beside) == 1 and beside[0][1] == 1 and experiment.length > _LEAST
    return beside[0][0] if once else None


def padding_of(isa: str) -> Padding | None:
    """The padding of the instruction set of this name; None for one that is not built in."""
    bodies = target_of(isa).bodies
    return None if bodies is None else Padding(*bodies.padding)
