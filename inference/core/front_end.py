"""The front end of a core in numbers: what it fetches, decodes and hands over per cycle.

Each follows from timed codes, and comes with them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from inference.isa.front_end import Aspect, FrontEndCode

Reading = tuple[FrontEndCode, float]
"""A code, and the cycles that a copy of it took."""

_NOPS = "NOPs"
_SLOPE = (256, 1024)
"""Sizes of loops, in instructions, between which the rate is read: every loop's own branch cancels."""
_FULL, _CLEARLY_LESS = 0.97, 0.9
"""Share of the best rate that still is the best, and one below which it is not."""
_USUAL_LENGTHS = range(2, 7)
"""Bytes of most instructions."""
_FUSED = 0.75
"""Of a slot, by which a pair must be quicker together: NOPs counted in pairs make up to half of one."""


@dataclass(frozen=True, slots=True)
class FrontEndNumber:
    """`value` in the unit that the label says, None where it was not measured.

    `at_least`: nothing larger was tried. `codes`: what it follows from.
    """

    name: str
    label: str
    value: float | None
    codes: tuple[Reading, ...] = ()
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class FusionPair:
    """Cycles of slot-bound code with two instructions side by side and with a move between them."""

    name: str
    together: float
    apart: float
    is_fused: bool


@dataclass(frozen=True, slots=True)
class FrontEnd:
    """`numbers` in the order in which people ask for them; the rest are the series that pictures show.

    `rates`: (instructions in a loop, instructions per cycle) by what fills it. `loop_lengths`,
    `straight_lengths`: (bytes of an instruction, on average, instructions per cycle). `offsets`: (bytes
    behind the beginning of a cache line, cycles per iteration). `fusion`: comparisons and branches; `moves`:
    moves and operations on the copy.
    """

    numbers: tuple[FrontEndNumber, ...]
    rates: Mapping[str, tuple[tuple[int, float], ...]]
    loop_lengths: tuple[tuple[int, float], ...]
    straight_lengths: tuple[tuple[float, float], ...]
    offsets: tuple[tuple[int, float], ...]
    fusion: tuple[FusionPair, ...]
    moves: tuple[FusionPair, ...] = ()

    @property
    def unhindered_bytes(self) -> int | None:
        """The fewest bytes of an instruction from which on loops of NOPs are as quick as of any usual length.

        None where shorter ones are, too, and where that is not known.
        """
        usual = {length: rate for length, rate in self.loop_lengths if length in _USUAL_LENGTHS}
        slower = [length for length, rate in usual.items() if rate < _FULL * max(usual.values())]
        if len(usual) < len(_USUAL_LENGTHS) or not slower or max(slower) == _USUAL_LENGTHS[-1]:
            return None
        return max(slower) + 1

    def number(self, name: str) -> FrontEndNumber:
        """One by its name. Raises `KeyError`."""
        for one in self.numbers:
            if one.name == name:
                return one
        raise KeyError(name)


def read_front_end(readings: Iterable[Reading]) -> FrontEnd:
    of: dict[Aspect, list[Reading]] = defaultdict(list)
    for code, cycles in readings:
        of[code.aspect].append((code, cycles))
    slots = _rate("slots", "Slots per cycle", of[Aspect.SIZE], lambda name: name != _NOPS)
    numbers = [
        slots,
        _rate("nops", "NOPs per cycle in a loop", of[Aspect.SIZE], lambda name: name == _NOPS),
        _capacity(of[Aspect.SIZE], slots.value),
        _most("straight_instructions", "Instructions per cycle in straight code", of, lambda size: 1),
        _most("straight_bytes", "Bytes per cycle in straight code", of, lambda size: size),
        *_branches(of),
        _offset_cost(of[Aspect.OFFSET]),
        *_encoding_costs(of[Aspect.ENCODING]),
        _kept_flags(of[Aspect.KEPT_FLAGS]),
    ]
    fusion = _fusion(of[Aspect.FUSION], slots.value)
    numbers.append(
        FrontEndNumber(
            "fused",
            f"Fused pairs of comparison and branch, of {len(fusion)}",
            float(sum(pair.is_fused for pair in fusion)) if fusion else None,
        )
    )
    moves = _fusion(of[Aspect.MOVE], slots.value)
    numbers.append(
        FrontEndNumber(
            "moved",
            f"Moves in one slot with the operation on the copy, of {len(moves)}",
            float(sum(pair.is_fused for pair in moves)) if moves else None,
            tuple(of[Aspect.MOVE]),
        )
    )
    return FrontEnd(
        tuple(numbers),
        _rates(of[Aspect.SIZE]),
        _per_cycle(of[Aspect.LOOP_LENGTH]),
        _straight(of[Aspect.STRAIGHT_LENGTH], of[Aspect.STRAIGHT_MIX]),
        tuple(sorted((code.value, cycles) for code, cycles in of[Aspect.OFFSET])),
        fusion,
        moves,
    )


def _rate(name: str, label: str, sizes: Sequence[Reading], wanted: Callable[[str], bool]) -> FrontEndNumber:
    """Instructions per cycle that a longer loop has more, of what is quickest."""
    best: FrontEndNumber | None = None
    by_size = {(code.name, code.value): (code, cycles) for code, cycles in sizes}
    for filler in dict.fromkeys(code.name for code, _ in sizes if wanted(code.name)):
        pair = [by_size[filler, size] for size in _SLOPE if (filler, size) in by_size]
        if len(pair) < len(_SLOPE) or pair[1][1] <= pair[0][1]:
            continue
        rate = (_SLOPE[1] - _SLOPE[0]) / (pair[1][1] - pair[0][1])
        if best is None or best.value is None or rate > best.value:
            best = FrontEndNumber(name, label, rate, tuple(pair))
    return best or FrontEndNumber(name, label, None)


def _capacity(sizes: Sequence[Reading], slots: float | None) -> FrontEndNumber:
    """The longest loop that still has the best rate: what the µop cache, or a loop buffer, holds."""
    name, label = "loop_capacity", "Instructions in the longest loop at full rate"
    if slots is None:
        return FrontEndNumber(name, label, None)
    longest, longer = None, None
    for code, cycles in sorted(sizes, key=lambda reading: reading[0].value):
        if code.name == _NOPS:
            continue
        rate = code.value / cycles
        if rate >= _FULL * slots:
            longest, longer = (code, cycles), None
        elif rate < _CLEARLY_LESS * slots and longest is not None and longer is None:
            longer = (code, cycles)
    if longest is None:
        return FrontEndNumber(name, label, None)
    evidence = (longest,) if longer is None else (longest, longer)
    return FrontEndNumber(name, label, float(longest[0].value), evidence, at_least=longer is None)


def _most(
    name: str, label: str, of: Mapping[Aspect, Sequence[Reading]], counted: Callable[[int], int]
) -> FrontEndNumber:
    """The most of something per cycle in straight code; `counted`: how much an instruction of so
    many bytes is."""

    def rate(reading: Reading) -> float:
        code, cycles = reading
        return counted(code.value) * code.code.instructions / cycles

    found = [*of[Aspect.STRAIGHT_LENGTH], *of[Aspect.STRAIGHT]]
    if not found:
        return FrontEndNumber(name, label, None)
    best = max(found, key=rate)
    return FrontEndNumber(name, label, rate(best), (best,))


def _branches(of: Mapping[Aspect, Sequence[Reading]]) -> list[FrontEndNumber]:
    jumps = [one for one in of[Aspect.TAKEN] if not one[0].name]
    smallest = [one for one in of[Aspect.TAKEN] if one[0].name]
    untaken = list(of[Aspect.UNTAKEN])
    taken = min(jumps, key=lambda reading: reading[1], default=None)
    return [
        FrontEndNumber(
            "taken", "Taken branches per cycle", 1 / taken[1] if taken else None, (taken,) if taken else ()
        ),
        FrontEndNumber(
            "untaken",
            "Branches per cycle that are not taken",
            1 / untaken[0][1] if untaken else None,
            tuple(untaken),
        ),
        FrontEndNumber(
            "smallest_loop",
            "Cycles per iteration of the smallest loop",
            smallest[0][1] if smallest else None,
            tuple(smallest),
        ),
    ]


def _offset_cost(offsets: Sequence[Reading]) -> FrontEndNumber:
    name, label = "offset_cost", "Cycles that a short loop loses at the worst place in a cache line"
    if not offsets:
        return FrontEndNumber(name, label, None)
    ordered = sorted(offsets, key=lambda reading: reading[1])
    return FrontEndNumber(name, label, ordered[-1][1] - ordered[0][1], (ordered[0], ordered[-1]))


def _kept_flags(readings: Sequence[Reading]) -> FrontEndNumber:
    label = "Cycles of a shift by 0 whose flags are read"
    per_shift = next((cycles / code.value for code, cycles in readings), None)
    return FrontEndNumber("kept_flags", label, per_shift, tuple(readings))


def _encoding_costs(encodings: Sequence[Reading]) -> list[FrontEndNumber]:
    """Cycles per instruction that the longer number costs; each code has several instructions."""
    by_name: dict[str, list[Reading]] = defaultdict(list)
    for reading in encodings:
        by_name[reading[0].name].append(reading)
    numbers = []
    for name, found in by_name.items():
        short, *long = sorted(found, key=lambda reading: reading[0].value)
        if not long:
            continue
        cost = max((long[0][1] - short[1]) / short[0].code.instructions, 0.0)
        mnemonic, number, where = name.split(", ")
        sizes = f"{long[0][0].value} bytes instead of {short[0].value}"
        key = f"cost_{mnemonic}_{number}_{where.split()[-1]}"
        label = f"Extra cycles of {mnemonic} for {sizes} of {number}, {where}"
        numbers.append(FrontEndNumber(key, label, cost, (short, long[0])))
    return numbers


def _fusion(readings: Sequence[Reading], slots: float | None) -> tuple[FusionPair, ...]:
    if slots is None:
        return ()
    by_name: dict[str, dict[int, float]] = defaultdict(dict)
    for code, cycles in readings:
        by_name[code.name][code.value] = cycles
    return tuple(
        FusionPair(name, found[1], found[0], found[0] - found[1] >= _FUSED / slots)
        for name, found in by_name.items()
        if found.keys() == {0, 1}
    )


def _rates(sizes: Sequence[Reading]) -> dict[str, tuple[tuple[int, float], ...]]:
    series: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for code, cycles in sorted(sizes, key=lambda reading: reading[0].value):
        series[code.name].append((code.value, code.value / cycles))
    return {name: tuple(points) for name, points in series.items()}


def _per_cycle(lengths: Sequence[Reading]) -> tuple[tuple[int, float], ...]:
    return tuple(sorted((code.value, 1 / cycles) for code, cycles in lengths))


_MANY = 5
"""Mixes of one average length."""


def _straight(lengths: Sequence[Reading], mixes: Sequence[Reading]) -> tuple[tuple[float, float], ...]:
    """By average length. Of mixes the quickest counts: others of that length can be as quick.

    Of many, it is the quickest but one, since one may have been timed too quick.
    """
    mixed: dict[float, list[float]] = defaultdict(list)
    for code, cycles in mixes:
        count = code.code.instructions
        mixed[code.value / count].append(count / cycles)
    rates = {float(length): rate for length, rate in _per_cycle(lengths)}
    for length, found in mixed.items():
        quick = sorted(found, reverse=True)[len(found) >= _MANY]
        rates[length] = max(rates.get(length, 0.0), quick)
    return tuple(sorted(rates.items()))
