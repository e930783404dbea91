"""The throughput of the loads and stores of a block beyond what ports show, without dependencies.

**Loads.** A core whose first-level cache has banks and that could read three words per cycle reads one of
them only twice, and so the same word of several lines, since a bank contains it for every line.

**Pushes and pops** whose stack pointer moves on from iteration to iteration reach lines that no address of
their page led to before. Where blocks are measured, all pages are one memory, and a core that searches a line
by its virtual address does not find it at first: a Zen 4 takes 0.33 cycles for a pop of a repeated line, and
0.67 to 0.75 for one that moves on by any distance; a load of any line beside it 0.42 instead of 0.33.

**Stores.** Many cores write one cache line per cycle, or one half of a line, and of consecutive stores to one
of these two. Measured experiments store to another line each time, so a port mapping implies that every store
takes a cycle of its own. In a block, stores that share a cycle with the store before do not need that port,
but, where loads can use it too, one of the loads' ports: they still compute an address. Other cores write any
of the lines that they wrote last at their full rate, and wait for every other line: the time of a store after
so many lines was measured.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from itertools import groupby

from inference.core.core_model.model import MemoryTimes, StoreCurve
from inference.core.core_model.prediction import BoundKind, CoreBound
from inference.core.core_model.stored_values import covers, last_write
from inference.core.mapping import PortMapping
from inference.isa.dependences import MEMORY_BYTES, STACK, InstructionAccesses, MemoryPlace, OperandAccess
from inference.isa.targets import plain_loads

_WORD = 8
_WORDS = 8
"""Words of a line."""
_LINE = 64
_HALF = 32
_ITERATIONS = 8
"""Iterations after which steps of eight bytes and more have brought a moving address back to its place in
a line.
"""
_STORE_TOLERANCE = 0.1
"""Number of stores by which a measured rate may be off."""
_USUAL_BITS = 64
"""Width of stores that represents widths that were not measured."""
_VECTOR_BITS = 128
_MEASURED_LINES = 2
"""Number of alternating lines that other measurements cover."""
_MIN_SLOWER_RATIO = 1.15
"""Multiple of the cycles of a store to one of two lines, from which on more lines are slower."""
_StoreAddress = tuple[Hashable, int, int]
"""A key that is equal for places near each other, the offset in bytes, and the step per iteration."""


def memory_bounds(
    block: Sequence[InstructionAccesses], times: MemoryTimes, stores: CoreBound | None
) -> list[CoreBound]:
    """The bounds of stores (`store_bound`), loads and the stack, as far as the core's times are known."""
    bounds = (stores, _blocked_bound(block, times), _load_bound(block, times), stack_bound(block, times))
    return [bound for bound in bounds if bound is not None]


def _memory_bound(cycles: float, why: str) -> CoreBound:
    return CoreBound(BoundKind.MEMORY, cycles, why)


def _load_bound(block: Sequence[InstructionAccesses], times: MemoryTimes) -> CoreBound | None:
    """Cycles of the loads of the busiest word.

    Unknown addresses count as different words, and as aligned.
    """
    if not times.of_one_word:
        return None
    busy: Counter[tuple[Hashable, int]] = Counter()
    for instruction in block:
        for place in (access.memory for access in instruction.reads if access.memory is not None):
            busy.update((place.neighbourhood[0], word) for word in _words(place))
    if not busy:
        return None
    loads = max(busy.values())
    return _memory_bound(loads * times.of_one_word, f"{loads} load{'s' if loads > 1 else ''} of one word")


def _words(place: MemoryPlace) -> set[int]:
    _, offset = place.neighbourhood
    first, last = offset // _WORD, (offset + place.bits // 8 - 1) // _WORD
    return {word % _WORDS for word in range(first, last + 1)}


def stack_bound(block: Sequence[InstructionAccesses], times: MemoryTimes) -> CoreBound | None:
    """Cycles of the pushes or the pops of a block whose stack pointer moves on."""
    pops = sum(_moves_stack(instruction.reads) for instruction in block)
    pushes = sum(_moves_stack(instruction.writes) for instruction in block)
    loads = sum(access.memory is not None for instruction in block for access in instruction.reads)
    extra = (loads - pops) * times.load_beside_pop
    bounds = [
        _memory_bound(count * cycles + extra_cycles, f"{count} × {name}, the stack pointer moves")
        for count, cycles, extra_cycles, name in (
            (pops, times.pop, extra, "pop"),
            (pushes, times.push, 0.0, "push"),
        )
        if count and cycles
    ]
    return max(bounds, key=lambda bound: bound.cycles, default=None)


def _moves_stack(accesses: Sequence[OperandAccess]) -> bool:
    return any(
        access.memory is not None and access.memory.registers == STACK and bool(access.memory.step)
        for access in accesses
    )


def _blocked_bound(block: Sequence[InstructionAccesses], times: MemoryTimes) -> CoreBound | None:
    """Loads that a store keeps waiting until the cache has the stored value.

    A load that reads more than the store before it wrote, or has another address for it, waits until the
    cache has the value. A store reaches the cache after all instructions before it have ended, in program
    order. So of a store and its load, and another store behind that load, and its load, each pair waits by
    itself; two pairs that overlap wait together, and of a pair that spans several iterations each iteration
    has a part.
    """
    spans: list[tuple[int, int]] = []
    vector = False
    for place, instruction in enumerate(block):
        for read in instruction.reads:
            last = None if read.memory is None else last_write(block, place, read)
            if last is not None and last.memory is not None and not covers(last.memory, read.memory):
                spans.append((last.writer - last.iterations * len(block), place))
                vector |= instruction.vector
    if not spans or (cycles := times.blocked_by(vector=vector)) is None:
        return None
    shortest = min(end - begin for begin, end in spans)
    if shortest >= len(block):
        per_iteration = 1 / -(-shortest // len(block))
    else:
        per_iteration = max(_in_sequence(spans, at, len(block)) for _, at in spans)
    return _memory_bound(cycles * per_iteration, "a load reads more than the store before it wrote")


def _in_sequence(spans: Sequence[tuple[int, int]], begin: int, length: int) -> int:
    """The number of spans that fit one behind the other into the iteration after a place."""
    shifted = sorted((end + k * length, start + k * length) for start, end in spans for k in range(3))
    count, at = 0, begin
    for end, start in shifted:
        if start >= at and end <= begin + length:
            count, at = count + 1, end
    return count


def store_bound(block: Sequence[InstructionAccesses], times: MemoryTimes) -> CoreBound | None:
    """The bound of the stores of a block; None without any, or where the core's times are not known.

    Where an address is not known, its base counts as aligned, and as still in the same line where the block
    has changed it since: most pointers move by less than a line. Where it is known and moves, the lines are
    those of several iterations. Room left in one line costs nothing, since the next line has more stores.
    """
    same_line, other_line = times.to_one_line, times.to_another_line
    stored = [(place, instruction.vector) for instruction in block for place in _places(instruction)]
    places = [place for place, _ in stored]
    if not places or not same_line or not other_line:
        return None
    addresses = [_store_address(place) for place in places]
    # Those of short values are measured from general-purpose registers.
    bits = [max(place.bits, _VECTOR_BITS) if vector else place.bits for place, vector in stored]
    curves = [times.stores.get(number) or times.stores.get(_USUAL_BITS) for number in bits]
    in_runs, runs = _cycles_of_runs(addresses, times, same_line, other_line)
    by_width = sum(same_line if curve is None else curve.alone for curve in curves)
    lines, far = _far_stores(addresses, curves, other_line)
    stores = f"{len(places)} store{'s' if len(places) > 1 else ''}"
    if far > max(in_runs, by_width):
        return _memory_bound(far, f"{len(places)} stores over {lines} cache lines in turn")
    halves = _takes_halves(times)
    target = "half of a cache line" if halves else "cache line"
    targets = "halves of cache lines" if halves else "cache lines"
    to_lines = f"one {target}" if runs == 1 else f"{targets} that change {runs:.3g} times"
    return _memory_bound(max(in_runs, by_width), f"{stores} to {to_lines}")


def _far_stores(
    addresses: Sequence[_StoreAddress], curves: Sequence[StoreCurve | None], other_line: float
) -> tuple[int, float]:
    """Stores to lines that were not written just before: the largest number of lines between, and the cycles
    per iteration that they take one after another, as far as these exceed those of two lines.
    """
    iterations = _ITERATIONS if any(step for _, _, step in addresses) else 2  # the first one only begins
    written: list[tuple[Hashable, int]] = []
    most_lines, cycles = 0, 0.0
    for k in range(iterations):
        for (where, at, step), curve in zip(addresses, curves, strict=True):
            line = where, (at + k * step) // _LINE
            lines = len(written) - written.index(line) if line in written else len(written) + 1
            if line in written:
                written.remove(line)
            written.append(line)
            cost = 0.0 if curve is None or not k or lines <= _MEASURED_LINES else curve.of(lines)
            if cost > _MIN_SLOWER_RATIO * other_line:
                most_lines, cycles = max(most_lines, lines), cycles + cost
    return most_lines, cycles / (iterations - 1)


def _cycles_of_runs(
    addresses: Sequence[_StoreAddress], times: MemoryTimes, same_line: float, other_line: float
) -> tuple[float, float]:
    """Cycles of stores by runs to the same line, or half of one, and the number of runs per iteration."""
    moves = any(step for _, _, step in addresses)
    iterations = _ITERATIONS if moves else 1
    size = _HALF if _takes_halves(times) else _LINE
    lines = [(where, (at + k * step) // size) for k in range(iterations) for where, at, step in addresses]
    runs = [len(list(run)) for _, run in groupby(lines)]
    if lines[0] == lines[-1]:  # it goes on in the next iteration
        if len(runs) == 1:
            return len(addresses) * same_line, 1
        runs[0] += runs.pop()
    if moves or _merges(times):
        changes = len(runs) / iterations
        return max(len(addresses) * same_line, changes * other_line), changes
    together = max(other_line / same_line, 1.0)
    return other_line * sum(math.ceil(run / together - _STORE_TOLERANCE) for run in runs), len(runs)


def _takes_halves(times: MemoryTimes) -> bool:
    """Whether stores to two halves of a line take as long as those to two lines, rather than to one."""
    same_line, half, other = times.to_one_line, times.to_another_half, times.to_another_line
    return same_line is not None and other is not None and half is not None and 2 * half > same_line + other


def _merges(times: MemoryTimes) -> bool:
    """Whether three stores to one line can share one cycle, rather than two of them."""
    other_line, mixed = times.to_another_line, times.three_and_one
    return other_line is not None and mixed is not None and 4 * mixed < 2.5 * other_line


def shared_stores(
    works: Sequence[Mapping[int, float] | None],
    block: Sequence[InstructionAccesses],
    mapping: PortMapping,
    cycles: float,
) -> list[Mapping[int, float] | None]:
    """The work of a block's instructions without that of stores that share a cycle with the one before.

    The port of stores is the one that every storing scheme needs; without such a port, nothing changes. Where
    it is one of those of loads, these µops may go to any of them.

    Args:
        works: {port mask: µops} per instruction, None where unknown.
        block: Accesses of the instructions.
        mapping: Names the schemes that store.
        cycles: Cycles of the block's stores.
    """
    storing = [place for place, instruction in enumerate(block) if _places(instruction)]
    store_works = [work for place in storing if (work := works[place])]
    single = [mask for mask in store_works[0] if mask.bit_count() == 1] if store_works else []
    common = [mask for mask in single if all(mask in work for work in store_works)]
    if not common:
        return [*works]
    port = min(common, key=lambda mask: (sum((work or {}).get(mask, 0.0) for work in works), mask))
    unknown = len(storing) - len(store_works)  # each needs the port once at least
    needed = sum(work[port] for work in store_works) + unknown
    share = max(1 - cycles / needed, 0.0)
    loading = ports_of_loads(mapping)
    changed = [*works]
    for place in storing:
        work = dict(works[place] or {})
        if not work:
            continue
        moved = share * work.get(port, 0.0)
        work[port] = work.get(port, 0.0) - moved
        if loading is not None and loading & port:
            work[loading] = work.get(loading, 0.0) + moved
        changed[place] = work
    return changed


def ports_of_loads(mapping: PortMapping) -> int | None:
    """The ports of a plain load, None where the mapping has none of one µop."""
    usage = next((mapping.usage[text] for text in plain_loads() if text in mapping.usage), ())
    return usage[0][0] if len(usage) == 1 and usage[0][1] == 1 else None


def _places(instruction: InstructionAccesses) -> list[MemoryPlace]:
    return [access.memory for access in instruction.writes if access.memory is not None]


def _store_address(place: MemoryPlace) -> _StoreAddress:
    if place.address is None or place.step is None:
        return (*place.neighbourhood, 0)
    return place.address, place.page * MEMORY_BYTES + place.offset, place.step
