"""How long the stores of a block take to reach the first-level cache.

Many cores write one cache line per cycle, or one half of a line, and of stores that follow each other to one
of these two. Measured experiments store to another line each time, so that a port mapping says that every
store takes a cycle of its own. In a block, those that share a cycle with the store before need that port no
more, but where loads can use it, too, a port of theirs: what they share is an address to be computed.

Other cores write any of the lines that they wrote last at their full rate, and wait for each that is not
among these: how long a store takes after so many lines was measured.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from inference.core.core_model.model import MemoryTimes, StoreCurve
from inference.core.mapping import PortMapping
from inference.isa.dependences import PAGE_BYTES, InstructionAccesses, MemoryPlace

_LINE = 64
_HALF = 32
PLAIN_LOADS = "mov GPR[64]:W, MEM[64]:R", "ldr GPR[64]:W, MEM[64]:R"
"""Schemes that stand for every load, of x86-64 and of AArch64."""
_ITERATIONS = 8
"""After so many, steps of eight bytes and more have brought what moves back to where it was in its line."""
_SLACK = 0.1
"""Stores by which what was measured may be off."""
_USUAL_BITS = 64
"""Of the stores that others count as where they were not measured."""
_LINES_APART = 2
"""Lines in turn that other measurements tell of."""
_SLOWER = 1.15
"""Times the cycles of a store to one of two lines, from which on more lines are slower."""
_Spot = tuple[Hashable, int, int]
"""Something that is equal for places near each other, how many bytes behind it, and how it moves."""


@dataclass(frozen=True)
class StoreBound:
    """`cycles` per iteration for so many `stores`, in `runs` of those that go to one line, or to one half;
    `in_turn`: of those over so many lines in turn that these are not among the last written."""

    stores: int
    runs: float
    cycles: float
    halves: bool = False
    in_turn: bool = False

    @property
    def why(self) -> str:
        if self.in_turn:
            return f"{self.stores} stores over {self.runs:g} cache lines in turn"
        what = "half of a cache line" if self.halves else "cache line"
        several = "halves of cache lines" if self.halves else "cache lines"
        lines = f"one {what}" if self.runs == 1 else f"{several} that change {self.runs:.3g} times"
        return f"{self.stores} store{'s' if self.stores > 1 else ''} to {lines}"


def store_bound(block: Sequence[InstructionAccesses], times: MemoryTimes) -> StoreBound | None:
    """What the stores of a block take; None without any, or where the core's times are not known.

    Where an address is not known, its base counts as aligned, and as still in the same line where the block
    has changed it since: most pointers move by less than a line. Where it is known and moves, the lines are
    those of several iterations. What then is left over in one line waits for nothing: the next line has more.
    """
    one, another = times.to_one_line, times.to_another_line
    places = [place for each in block for place in _places(each)]
    if not places or not one or not another:
        return None
    spots = [_spot(place) for place in places]
    found = _of_runs(places, spots, times, one, another)
    curves = [times.stores.get(place.bits) or times.stores.get(_USUAL_BITS) for place in places]
    by_width = sum(one if curve is None else curve.alone for curve in curves)
    if by_width > found.cycles:
        found = replace(found, cycles=by_width)
    lines, far = _far_stores(spots, curves, another)
    return StoreBound(len(places), lines, far, in_turn=True) if far > found.cycles else found


def _far_stores(
    spots: Sequence[_Spot], curves: Sequence[StoreCurve | None], another: float
) -> tuple[int, float]:
    """Of stores to lines that were not written just before: over how many lines they go at most, and the
    cycles per iteration that they take one after another, as far as these are more than those of two lines.
    """
    iterations = _ITERATIONS if any(step for _, _, step in spots) else 2  # the first one only begins
    written: list[tuple[Hashable, int]] = []
    most, cycles = 0, 0.0
    for k in range(iterations):
        for (where, at, step), curve in zip(spots, curves, strict=True):
            line = where, (at + k * step) // _LINE
            lines = len(written) - written.index(line) if line in written else len(written) + 1
            if line in written:
                written.remove(line)
            written.append(line)
            if k and curve is not None and lines > _LINES_APART and curve.of(lines) > _SLOWER * another:
                most, cycles = max(most, lines), cycles + curve.of(lines)
    return most, cycles / (iterations - 1)


def _of_runs(
    places: Sequence[MemoryPlace], spots: Sequence[_Spot], times: MemoryTimes, one: float, another: float
) -> StoreBound:
    """By which stores go to the line, or the half of one, of the store before."""
    moves = any(step for _, _, step in spots)
    iterations = _ITERATIONS if moves else 1
    halves = _takes_halves(times)
    size = _HALF if halves else _LINE
    lines = [(where, (at + k * step) // size) for k in range(iterations) for where, at, step in spots]
    runs = [len(list(run)) for _, run in groupby(lines)]
    goes_on = lines[0] == lines[-1]
    if goes_on and len(runs) == 1:
        return StoreBound(len(places), 1, len(places) * one, halves)
    if goes_on:
        runs[0] += runs.pop()
    if moves or _merges(times):
        changes = len(runs) / iterations
        return StoreBound(len(places), changes, max(len(places) * one, changes * another), halves)
    together = max(another / one, 1.0)
    cycles = another * sum(math.ceil(run / together - _SLACK) for run in runs)
    return StoreBound(len(places), len(runs), cycles, halves)


def _takes_halves(times: MemoryTimes) -> bool:
    """Whether stores to two halves of a line take as long as those to two lines, rather than to one."""
    one, half, another = times.to_one_line, times.to_another_half, times.to_another_line
    return one is not None and another is not None and half is not None and 2 * half > one + another


def _merges(times: MemoryTimes) -> bool:
    """Whether three stores to one line can share one cycle, rather than two of them, and the third has
    another."""
    another, each = times.to_another_line, times.three_and_one
    return another is not None and each is not None and 4 * each < 2.5 * another


def without_shared_stores(
    work: Mapping[int, float], block: Sequence[InstructionAccesses], mapping: PortMapping, found: StoreBound
) -> dict[int, float]:
    """The µops of a block, {port mask: µops}, less those of stores that share a cycle with the one before.

    The port of stores is the one that each storing scheme needs; without such a port, nothing changes. Where
    it is one of those of loads, these µops may go to any of them.
    """
    storing = [one.scheme or "" for one in block if _places(one)]
    usages = [dict(mapping.usage[scheme]) for scheme in storing if scheme in mapping.usage]
    if len(usages) != len(storing):
        return dict(work)
    single = [mask for mask in usages[0] if mask.bit_count() == 1 and all(mask in one for one in usages)]
    if not single:
        return dict(work)
    port = min(single, key=lambda mask: (work.get(mask, 0.0), mask))
    needed = float(sum(one[port] for one in usages))
    saved = min(max(needed - found.cycles, 0.0), work.get(port, 0.0))
    changed = {**work, port: work.get(port, 0.0) - saved}
    if (loading := _ports_of_loads(mapping)) is not None and loading & port:
        changed[loading] = changed.get(loading, 0.0) + saved
    return changed


def _ports_of_loads(mapping: PortMapping) -> int | None:
    """Those of a plain load, None where the mapping has none of one µop."""
    usage = next((mapping.usage[text] for text in PLAIN_LOADS if text in mapping.usage), ())
    return usage[0][0] if len(usage) == 1 and usage[0][1] == 1 else None


def _places(one: InstructionAccesses) -> list[MemoryPlace]:
    return [access.memory for access in one.writes if access.memory is not None]


def _spot(place: MemoryPlace) -> _Spot:
    if place.address is None or place.step is None:
        return (*place.spot, 0)
    return place.address, place.page * PAGE_BYTES + place.offset, place.step
