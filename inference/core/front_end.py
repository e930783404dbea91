"""The front end of a core in numbers: what it fetches, decodes and hands over per cycle.

Each number is derived from timed codes, which accompany it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from inference.core.compared_codes import (
    ComparedTimes,
    FusionPair,
    Reading,
    branch_port_times,
    fusion_pairs,
    indexed_times,
)
from inference.core.simulation.program import IssueOrder
from inference.isa.front_end import Aspect

_NOPS = "NOPs"  # the filler without µops on any port

_SLOPE_SIZES = (256, 1024)
"""Sizes of loops, in instructions, between which the rate is read: the loops' own branches cancel."""

_FULL_RATE, _REDUCED_RATE = 0.97, 0.9
"""Share of the best rate from which a rate counts as the best, and one below which it does not."""

_USUAL_LENGTHS = range(2, 7)
"""Bytes of most instructions."""


@dataclass(frozen=True, slots=True)
class FrontEndNumber:
    """A number in the unit that its label names; `value` is None where it was not measured.

    Attributes:
        at_least: Nothing larger was tried.
        codes: The readings that it is derived from.
    """

    name: str
    label: str
    value: float | None
    codes: tuple[Reading, ...] = ()
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class FrontEnd:
    """`numbers` in the order of the pages; the other fields are the series of the plots.

    Attributes:
        rates: {filler: (instructions in a loop, instructions per cycle)}.
        loop_lengths, straight_lengths: (mean bytes of an instruction, instructions per cycle).
        offsets: (bytes behind the beginning of a cache line, cycles per iteration).
        fusion: Comparisons and branches.
        moves: Moves and operations on the copy.
        issue: None where not measured, and where the codes do not say it clearly.
        short_loops: (instructions without ports, cycles per iteration), by the quickest filler.
        branch_ports: Of comparisons beside additions, alone and fused with a branch; it holds where that
            needs none of their ports.
        indexed: Of an `AddressUse` without and with an index register; it holds where that takes another
            slot.
    """

    numbers: tuple[FrontEndNumber, ...]
    rates: Mapping[str, tuple[tuple[int, float], ...]]
    loop_lengths: tuple[tuple[int, float], ...]
    straight_lengths: tuple[tuple[float, float], ...]
    offsets: tuple[tuple[int, float], ...]
    fusion: tuple[FusionPair, ...]
    moves: tuple[FusionPair, ...] = ()
    issue: IssueOrder | None = None
    short_loops: tuple[tuple[int, float], ...] = ()
    branch_ports: tuple[ComparedTimes, ...] = ()
    indexed: tuple[ComparedTimes, ...] = ()

    @property
    def full_rate_bytes(self) -> int | None:
        """The fewest bytes per instruction from which on loops of NOPs run as fast as with any usual length.

        None where all usual lengths do, and where that was not measured.
        """
        usual = {length: rate for length, rate in self.loop_lengths if length in _USUAL_LENGTHS}
        slower = [length for length, rate in usual.items() if rate < _FULL_RATE * max(usual.values())]
        if len(usual) < len(_USUAL_LENGTHS) or not slower or max(slower) == _USUAL_LENGTHS[-1]:
            return None
        return max(slower) + 1

    def number(self, name: str) -> FrontEndNumber:
        """The number with this name. Raises `KeyError`."""
        for number in self.numbers:
            if number.name == name:
                return number
        raise KeyError(name)


def read_front_end(readings: Iterable[Reading]) -> FrontEnd:
    """The front end's numbers and series, as far as the timed codes show them; the order does not matter."""
    codes: dict[Aspect, list[Reading]] = defaultdict(list)
    for code, cycles in readings:
        codes[code.aspect].append((code, cycles))
    early_use, issue = _issue_order(codes[Aspect.ORDER])
    slots = _rate("slots", "Slots per cycle", codes[Aspect.SIZE], lambda name: name != _NOPS)
    numbers = [
        slots,
        _rate("nops", "NOPs per cycle in a loop", codes[Aspect.SIZE], lambda name: name == _NOPS),
        _capacity(codes[Aspect.SIZE], slots.value),
        _straight("straight_instructions", "Instructions per cycle in straight code", codes, lambda size: 1),
        _straight("straight_bytes", "Bytes per cycle in straight code", codes, lambda size: size),
        *_branches(codes),
        _offset_cost(codes[Aspect.OFFSET]),
        *_encoding_costs(codes[Aspect.ENCODING]),
        _zero_shift_cost(codes[Aspect.PRESERVED_FLAGS]),
        early_use,
    ]
    fusion = fusion_pairs(codes[Aspect.FUSION], slots.value)
    numbers.append(
        FrontEndNumber(
            "fused",
            f"Fused pairs of comparison and branch, of {len(fusion)}",
            float(sum(pair.is_fused for pair in fusion)) if fusion else None,
        )
    )
    moves = fusion_pairs(codes[Aspect.MOVE], slots.value)
    numbers.append(
        FrontEndNumber(
            "moved",
            f"Other pairs in one slot, such as a move and the operation on the copy, of {len(moves)}",
            float(sum(pair.is_fused for pair in moves)) if moves else None,
            tuple(codes[Aspect.MOVE]),
        )
    )
    branch_ports = branch_port_times(codes[Aspect.BRANCH_PORT])
    indexed = indexed_times(codes[Aspect.INDEXED], slots.value)
    numbers += [
        _count(
            "branch_ports",
            "Comparisons that need no port where they are fused with a branch",
            branch_ports,
            codes[Aspect.BRANCH_PORT],
        ),
        _count(
            "indexed",
            "Kinds of memory operands that take another slot with an index register",
            indexed,
            codes[Aspect.INDEXED],
        ),
    ]
    return FrontEnd(
        tuple(numbers),
        _rates(codes[Aspect.SIZE]),
        _per_cycle(codes[Aspect.LOOP_LENGTH]),
        _straight_rates(codes[Aspect.STRAIGHT_LENGTH], codes[Aspect.STRAIGHT_MIX]),
        tuple(sorted((code.value, cycles) for code, cycles in codes[Aspect.OFFSET])),
        fusion,
        moves,
        issue,
        _short_loops(codes[Aspect.SHORT_LOOP]),
        branch_ports,
        indexed,
    )


def _rate(name: str, label: str, sizes: Sequence[Reading], included: Callable[[str], bool]) -> FrontEndNumber:
    """Additional instructions over additional cycles of the longer loop, for the quickest filler."""
    best: FrontEndNumber | None = None
    by_size = {(code.name, code.value): (code, cycles) for code, cycles in sizes}
    for filler in dict.fromkeys(code.name for code, _ in sizes if included(code.name)):
        pair = [by_size[filler, size] for size in _SLOPE_SIZES if (filler, size) in by_size]
        if len(pair) < len(_SLOPE_SIZES) or pair[1][1] <= pair[0][1]:
            continue
        rate = (_SLOPE_SIZES[1] - _SLOPE_SIZES[0]) / (pair[1][1] - pair[0][1])
        if best is None or best.value is None or rate > best.value:
            best = FrontEndNumber(name, label, rate, tuple(pair))
    return best or FrontEndNumber(name, label, None)


def _capacity(sizes: Sequence[Reading], slots: float | None) -> FrontEndNumber:
    """The longest loop that still has the best rate: the capacity of the µop cache, or of a loop buffer."""
    name, label = "loop_capacity", "Instructions in the longest loop at full rate"
    if slots is None:
        return FrontEndNumber(name, label, None)
    longest, longer = None, None
    for code, cycles in sorted(sizes, key=lambda reading: reading[0].value):
        if code.name == _NOPS:
            continue
        rate = code.value / cycles
        if rate >= _FULL_RATE * slots:
            longest, longer = (code, cycles), None
        elif rate < _REDUCED_RATE * slots and longest is not None and longer is None:
            longer = (code, cycles)
    if longest is None:
        return FrontEndNumber(name, label, None)
    evidence = (longest,) if longer is None else (longest, longer)
    return FrontEndNumber(name, label, float(longest[0].value), evidence, at_least=longer is None)


def _straight(
    name: str, label: str, codes: Mapping[Aspect, Sequence[Reading]], amount: Callable[[int], int]
) -> FrontEndNumber:
    """The best rate in straight code; `amount` says how much an instruction of so many bytes counts."""

    def rate(reading: Reading) -> float:
        code, cycles = reading
        return amount(code.value) * code.code.instructions / cycles

    straight = [*codes[Aspect.STRAIGHT_LENGTH], *codes[Aspect.STRAIGHT]]
    if not straight:
        return FrontEndNumber(name, label, None)
    best = max(straight, key=rate)
    return FrontEndNumber(name, label, rate(best), (best,))


def _branches(codes: Mapping[Aspect, Sequence[Reading]]) -> list[FrontEndNumber]:
    """The rates of branches, and the time of the smallest loop, which the codes of jumps name."""
    long_jumps = [timed for timed in codes[Aspect.JUMP] if not timed[0].name]
    smallest = [timed for timed in codes[Aspect.JUMP] if timed[0].name]
    untaken = list(codes[Aspect.UNTAKEN])
    jump = min(long_jumps, key=lambda reading: reading[1], default=None)
    branches = None
    if jump is not None:  # the branch that closes the loop is taken as well
        copies = max(jump[0].code.copies, 1)
        branches = (copies + 1) / copies / jump[1]
    return [
        FrontEndNumber("taken", "Taken branches per cycle", branches, (jump,) if jump else ()),
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


def _zero_shift_cost(readings: Sequence[Reading]) -> FrontEndNumber:
    label = "Cycles of a shift by 0 whose flags are read"
    per_shift = next((cycles / code.value for code, cycles in readings), None)
    return FrontEndNumber("kept_flags", label, per_shift, tuple(readings))


_IN_ORDER, _ANY_ORDER = 1.4, 1.15
"""Ratio of the cycles of two orders of the same instructions from which on a core issues in order, and up to
which it does not. Of 400 drawn cores of AArch64, those out of order had at most 1.005, the others at least
1.98."""


def _issue_order(readings: Sequence[Reading]) -> tuple[FrontEndNumber, IssueOrder | None]:
    """How much longer code takes whose results are used at once: the kind of results that shows it best."""
    pairs: dict[str, dict[int, Reading]] = defaultdict(dict)
    for code, cycles in readings:
        pairs[code.name][code.value] = (code, cycles)
    complete = [(pair[1], pair[0]) for pair in pairs.values() if pair.keys() == {0, 1}]
    label = "Cycles of code that uses results at once, relative to later uses"
    if not complete:
        return FrontEndNumber("early_use", label, None), None
    clearest = max(complete, key=lambda pair: pair[0][1] / pair[1][1])
    ratio = clearest[0][1] / clearest[1][1]
    is_clear = ratio >= _IN_ORDER or ratio <= _ANY_ORDER
    issue = IssueOrder(ratio >= _IN_ORDER) if is_clear else None
    return FrontEndNumber("early_use", label, ratio, clearest), issue


def _encoding_costs(encodings: Sequence[Reading]) -> list[FrontEndNumber]:
    """Extra cycles per instruction of encodings with a longer number; each code has several instructions."""
    by_name: dict[str, list[Reading]] = defaultdict(list)
    for reading in encodings:
        by_name[reading[0].name].append(reading)
    numbers = []
    for name, by_length in by_name.items():
        short, *long = sorted(by_length, key=lambda reading: reading[0].value)
        if not long:
            continue
        cost = max((long[0][1] - short[1]) / short[0].code.instructions, 0.0)
        mnemonic, number, where = name.split(", ")
        sizes = f"{long[0][0].value} bytes instead of {short[0].value}"
        key = f"cost_{mnemonic}_{number}_{where.split()[-1]}"
        label = f"Extra cycles of {mnemonic} for {sizes} of {number}, {where}"
        numbers.append(FrontEndNumber(key, label, cost, (short, long[0])))
    return numbers


def _count(
    name: str, label: str, compared: Sequence[ComparedTimes], readings: Sequence[Reading]
) -> FrontEndNumber:
    value = float(sum(times.holds for times in compared)) if compared else None
    return FrontEndNumber(name, f"{label}, of {len(compared)}", value, tuple(readings) if compared else ())


def _short_loops(readings: Sequence[Reading]) -> tuple[tuple[int, float], ...]:
    quickest: dict[int, float] = {}
    for code, cycles in readings:
        quickest[code.value] = min(quickest.get(code.value, cycles), cycles)
    return tuple(sorted(quickest.items()))


def _rates(sizes: Sequence[Reading]) -> dict[str, tuple[tuple[int, float], ...]]:
    series: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for code, cycles in sorted(sizes, key=lambda reading: reading[0].value):
        series[code.name].append((code.value, code.value / cycles))
    return {name: tuple(points) for name, points in series.items()}


def _per_cycle(lengths: Sequence[Reading]) -> tuple[tuple[int, float], ...]:
    return tuple(sorted((code.value, 1 / cycles) for code, cycles in lengths))


_MIN_MIXES_WITH_OUTLIER = 5
"""From this many mixes of one average length on, one of them may have been timed too quick."""


def _straight_rates(lengths: Sequence[Reading], mixes: Sequence[Reading]) -> tuple[tuple[float, float], ...]:
    """Instructions per cycle by average length. Of several mixes of a length the quickest counts.

    Of many mixes, it is the second quickest, see `_MIN_MIXES_WITH_OUTLIER`.
    """
    mixed: dict[float, list[float]] = defaultdict(list)
    for code, cycles in mixes:
        count = code.code.instructions
        mixed[code.value / count].append(count / cycles)
    rates = {float(length): rate for length, rate in _per_cycle(lengths)}
    for length, values in mixed.items():
        quick = sorted(values, reverse=True)[len(values) >= _MIN_MIXES_WITH_OUTLIER]
        rates[length] = max(rates.get(length, 0.0), quick)
    return tuple(sorted(rates.items()))
