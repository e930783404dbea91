"""A core as one value. Parts may be missing; predictions list what they could not take into account."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from statistics import median

from numpy import interp

from inference.core.core_model.front_end_limits import FrontEndLimits
from inference.core.mapping import PortMapping
from inference.core.simulation.program import IssueOrder, SchedulerPolicy
from inference.isa.dependences import CODE, InstructionAccesses, MemoryPlace

OperandLatencies = Mapping[tuple[str, str], float | None]
"""{(source, destination): cycles} of a scheme, None where the destination does not wait for the source."""
LoopCode = Mapping[tuple[int, int], float]
"""{(instructions, bytes): cycles of an iteration} of loop bodies, without the instructions that close the
loop.
"""
LatencyBases = Mapping[tuple[str, str], str]
"""{(source, destination): basis of the cycles} of a scheme, where they were not measured by themselves."""


ForwardingCase = tuple[int, int, int, bool]
"""Bits stored, bits loaded, bytes apart, and whether by vector registers."""


@dataclass(frozen=True)
class RenamingConditions:
    """When a load gets a stored value of its place at once, on a core that renames memory, and the cycles
    otherwise.

    A core renames by the text of addresses: a load gets the value of a store by the same registers and the
    same displacement. In addition, it may learn which load reads what which store wrote, for a number of
    loads of the code that it executes repeatedly.

    Args:
        by_text: It does; else it only learns.
        rewritten: Also where an instruction in between writes a register of the address.
        other_base: Also by another register that leads to the same place.
        computing: Also where the instruction that loads does more than move the value.
        stores_between: Largest number of other stores in between; None where as many as were measured do no
            harm.
        forgotten_pairs: Number of loads of other instructions' stores from which on the core was found not to
            have learned them; None where it had learned as many as were measured, 1 where it learns nothing.
        forgotten_updates: The same of instructions that update one place.
        forwarded: Cycles to the load where it is not renamed.
        update: Cycles of an instruction that updates what it stored itself, where that is not renamed.
        learned_update: The same where it is learned.
        overtaken: Cycles from update to update where two addresses alternately update one place.
    """

    by_text: bool = True
    rewritten: bool = False
    other_base: bool = False
    computing: bool = True
    stores_between: int | None = None
    forgotten_pairs: int | None = 1
    forgotten_updates: int | None = 1
    forwarded: Mapping[ForwardingCase, float] = field(default_factory=dict)
    update: float | None = None
    learned_update: float | None = None
    overtaken: float | None = None


_PLATEAU_RATIO = 1.1
"""Multiple of the cycles of a store over two alternating lines, from which on it takes longer."""


@dataclass(frozen=True)
class StoreCurve:
    """Cycles of stores of one width over alternating lines.

    Args:
        in_turn: (alternating lines, cycles per store), fewest lines first.
    """

    in_turn: tuple[tuple[int, float], ...]

    @property
    def plateau(self) -> int:
        """Largest number of alternating lines for which a store takes no longer than for two."""
        two = self.of(2)
        slower = (lines for lines, cycles in self.in_turn if lines > 2 and cycles > _PLATEAU_RATIO * two)
        first = min(slower, default=None)
        below = [lines for lines, _ in self.in_turn if first is None or lines < first]
        return below[-1]

    @property
    def alone(self) -> float:
        """Cycles of a store to the line of the one before."""
        return self.in_turn[0][1]

    def of(self, lines: int) -> float:
        """Cycles of a store to a line that was written `lines` lines ago, itself included."""
        numbers, cycles = zip(*self.in_turn, strict=True)
        return float(interp(lines, numbers, cycles))


@dataclass(frozen=True)
class MemoryTimes:
    """The times of a core's memory, in cycles; None where not measured.

    Args:
        forwarded: {(bits stored, bits loaded, bytes apart, vector): cycles} from a stored value to the loaded
            one.
        usual: The same for a case that was not measured.
        indexed: The least where one of the addresses has an index.
        relative: The least where an address is relative to the instruction pointer.
        load: From an address to the loaded value.
        blocked: Per iteration where a load reads more than a store before it wrote.
        of_one_word: Per load where all read one word of the first-level cache, or the same word of several
            lines.
        to_one_line: Per store where each goes to the cache line of the one before.
        to_another_line: Per store where none does.
        to_another_half: Per store where each goes to the other half of that line.
        three_and_one: Per store where three go to one line and the next to another.
        foreseen: Per iteration of a load that reads what was just stored, by an address that the load before
            gave.
        behind_pop: Per iteration of a pop and of the instruction that moves the stack pointer back.
        other_page: Per iteration where a load reads a stored value by an address on another page of the same
            memory.
        pop: Per pop where the stack pointer moves on from iteration to iteration.
        push: Per push where it does.
        load_beside_pop: Added there by a load elsewhere.
        renaming: None where it is not known when the core renames memory; `forwarded` then holds for all
            addresses.
        stores: {bits: cycles over alternating lines}.
    """

    forwarded: Mapping[ForwardingCase, float] = field(default_factory=dict)
    usual: float = 5.0
    indexed: float = 0.0
    relative: float = 0.0
    load: float = 5.0
    blocked: float | None = None
    of_one_word: float | None = None
    to_one_line: float | None = None
    to_another_line: float | None = None
    to_another_half: float | None = None
    three_and_one: float | None = None
    foreseen: float | None = None
    behind_pop: float | None = None
    other_page: float | None = None
    pop: float | None = None
    push: float | None = None
    load_beside_pop: float = 0.0
    renaming: RenamingConditions | None = None
    stores: Mapping[int, StoreCurve] = field(default_factory=dict)

    @property
    def foresees(self) -> bool:
        """Whether a load gets a value stored by the block before its own address is known."""
        return self.foreseen is not None and self.foreseen < self.load / 2

    @property
    def serves_other_pages(self) -> bool:
        """Whether a load gets a value stored by an address on another page without waiting for the cache."""
        return self.other_page is not None and self.blocked is not None and self.other_page < self.blocked / 2

    def cycles(self, stored: int, loaded: int, offset: int, *, vector: bool) -> float:
        """Cycles from a store to a load of these widths in bits, `offset` bytes behind."""
        exact = self.forwarded.get((stored, loaded, offset, vector))
        if exact is not None:
            # A store and its load that took no longer than stores do may hide that forwarding takes no time.
            hides = self.to_another_line is not None and exact <= self.to_another_line
            return 0.0 if hides else exact
        if is_contained(stored, loaded, offset):
            return self.forwarded.get((stored, loaded, 0, vector), self.usual)
        return self.failed

    def between(self, stored: MemoryPlace, loaded: MemoryPlace, *, vector: bool) -> float:
        if stored.page != loaded.page:
            return self.failed
        cycles = self.cycles(stored.bits, loaded.bits, loaded.offset - stored.offset, vector=vector)
        return max(cycles, self._least(stored), self._least(loaded))

    def _least(self, place: MemoryPlace) -> float:
        if any(location == CODE for location, _ in place.registers):
            return self.relative
        return self.indexed if place.is_indexed else 0.0

    @property
    def failed(self) -> float:
        """Cycles from a store to a load that the store buffer cannot serve."""
        failed = self._failures(True) + self._failures(False)
        return median(failed) if failed else self.usual

    def blocked_by(self, *, vector: bool) -> float | None:
        """`blocked`, which for vector registers is larger by the additional cycles of failed vector
        forwarding.
        """
        by_vector, by_general = self._failures(True), self._failures(False)
        if self.blocked is None or not vector or not by_vector or not by_general:
            return self.blocked
        return self.blocked + max(median(by_vector) - median(by_general), 0.0)

    def _failures(self, vector: bool) -> list[float]:
        return [
            cycles
            for case, cycles in self.forwarded.items()
            if case[3] == vector and not is_contained(*case[:3])
        ]


def is_contained(stored: int, loaded: int, offset: int) -> bool:
    """Whether a store wrote everything that a load reads; else the load has to wait for the cache."""
    return offset >= 0 and 8 * offset + loaded <= stored


@dataclass(frozen=True)
class BypassTimes:
    """Latencies that depend on neighbours.

    Attributes:
        kinds: {scheme: {(source, destination): number of a kind}}.
        excess: Cycles that two neighbours of these kinds take together, in both directions, beyond their
            latencies. A neighbour counts half of it: over a cycle of dependences that is exact where an
            excess is a sum of what the producer and what the consumer adds.
    """

    kinds: Mapping[str, Mapping[tuple[str, str], int]] = field(default_factory=dict)
    excess: tuple[tuple[float, ...], ...] = ()

    def between(self, producer: str, destination: str, consumer: str, ends: tuple[str, str]) -> float:
        """Additional cycles from a destination of one scheme to these operands (`ends`) of another."""
        kind = self.kinds.get(consumer, {}).get(ends)
        if kind is None:
            return 0.0
        produced = (kind_of for (_, to), kind_of in self.kinds.get(producer, {}).items() if to == destination)
        first = next(produced, None)
        return 0.0 if first is None else self.excess[first][kind] / 2


@dataclass(frozen=True, slots=True)
class CoreScheduler:
    """A core's scheduler on the ports of its mapping (masks are of these).

    Args:
        policy: How it gives µops to ports.
        width: Slots that the core dispatches per cycle.
        ports: Bit mask of the ports of the experiments that it was inferred from.
    """

    policy: SchedulerPolicy
    width: int
    ports: int


@dataclass(frozen=True)
class CoreModel:
    """A core, as far as it was measured.

    Args:
        mapping: Ports and slots.
        latencies: {scheme: latencies}.
        bases: {scheme: basis of the latencies that were not measured by themselves}.
        free: Schemes that wait for nothing with equal registers.
        portless: Of these, and of moves, those that need no port.
        moves: Schemes without latency.
        alone: {scheme: cycles of one instance}, of schemes whose ports are not known.
        memory: Times of loads and stores.
        front_end: Rates of fetching and decoding.
        sources: {part: where it was taken from, as a text}.
        scheduler: None where it is not known, or none explains more than ports and slots do.
        by_immediate: {scheme: {immediate: latencies}} of pairs whose latency depends on it; `latencies` has
            the least.
        bypasses: Latencies that depend on neighbours.
        unqueued: Latencies of pairs that are smaller while nothing else is queued.
        false_dependences: {scheme: {destination: cycles}} from the old value of a destination, which the
            scheme waits for and does not read.
        loop_code: Cycles of loops by their size alone.
        issue: Whether instructions wait for those before them; None where not measured.
    """

    mapping: PortMapping | None = None
    latencies: Mapping[str, OperandLatencies] = field(default_factory=dict)
    bases: Mapping[str, LatencyBases] = field(default_factory=dict)
    free: frozenset[str] = frozenset()
    portless: frozenset[str] = frozenset()
    moves: frozenset[str] = frozenset()
    alone: Mapping[str, float] = field(default_factory=dict)
    memory: MemoryTimes = field(default_factory=MemoryTimes)
    front_end: FrontEndLimits | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    scheduler: CoreScheduler | None = None
    by_immediate: Mapping[str, Mapping[int, OperandLatencies]] = field(default_factory=dict)
    bypasses: BypassTimes = field(default_factory=BypassTimes)
    unqueued: Mapping[str, OperandLatencies] = field(default_factory=dict)
    false_dependences: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    loop_code: LoopCode = field(default_factory=dict)
    issue: IssueOrder | None = None

    @property
    def issues_in_order(self) -> bool:
        return self.issue is not None and self.issue.in_order

    def latencies_of(self, instruction: InstructionAccesses) -> OperandLatencies:
        """Latencies between the operands of an instruction, with its immediate."""
        scheme = instruction.scheme or ""
        latencies = self.latencies.get(scheme, {})
        if instruction.immediate is None or scheme not in self.by_immediate:
            return latencies
        return {**latencies, **self.by_immediate[scheme].get(instruction.immediate, {})}

    @cached_property
    def without_queues(self) -> CoreModel:
        """The model with the latencies that hold while nothing else is queued."""
        quicker = {text: {**self.latencies.get(text, {}), **pairs} for text, pairs in self.unqueued.items()}
        return replace(self, latencies={**self.latencies, **quicker})


class LatencyEnd(IntEnum):
    """An end of a latency, in the order in which chains usually use them."""

    EXPLICIT = 0
    IMPLICIT = 1
    ADDRESS = 2
    DATA = 3
    FLAGS = 4


def chained_latency(model: CoreModel, text: str) -> float | None:
    """Cycles that a scheme adds to a chain through registers, None where that is not known.

    The largest between explicit registers where it has any. A store adds none of its own.
    """
    if text in model.moves:
        return 0.0
    latencies = known_latencies(model.latencies.get(text, {}))
    for target in (LatencyEnd.EXPLICIT, LatencyEnd.IMPLICIT, LatencyEnd.DATA, LatencyEnd.FLAGS):
        for source in LatencyEnd:
            cycles_of = [cycles for ends, cycles in latencies if ends == (source, target)]
            if cycles_of:
                return max(cycles_of)
    return None


def known_latencies(latencies: OperandLatencies) -> list[tuple[tuple[LatencyEnd, LatencyEnd], float]]:
    """Both ends and the cycles of all pairs of operands with a dependency."""
    return [
        ((_end(source), _end(target)), cycles)
        for (source, target), cycles in latencies.items()
        if cycles is not None
    ]


def _end(name: str) -> LatencyEnd:
    number, _, part = name.partition(" ")
    if part:
        return LatencyEnd.DATA if part == "data" else LatencyEnd.ADDRESS
    if number.isdecimal():
        return LatencyEnd.EXPLICIT
    return LatencyEnd.FLAGS if name == "flags" else LatencyEnd.IMPLICIT
