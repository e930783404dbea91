"""A simulated core that executes the actual code of a measurement, with a memory unit of known properties.

Instructions are dispatched in order, several per cycle; each result except a loaded one is available a cycle
after its sources, and stores reach the cache in order after all instructions before them have ended. A load
that reads a stored value gets it by one of the ways of `MemoryUnit`.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from inference.core.latency import ChainReading
from inference.isa.blocks import Block, accesses_of, block_of_bytes, stores_of
from inference.isa.chains import DependencyChain
from inference.isa.code.block import default_copies
from inference.isa.dependences import MEMORY_BYTES, STACK, InstructionAccesses, MemoryPlace

_LINE = 64  # bytes of a cache line
_IN_ADDRESS = ("address", "base", "index")
_MIN_BITS = 32
"""Bits of the smallest value that is renamed or learned."""

_WIDEST_BITS = 512  # of an access
_MAX_COPIES = 140
"""Copies that are executed: more loads than any sampled memory unit learns."""

_CACHE_SIZE = 4096
"""Codes, of which a run measures about 260."""

_ROUNDS = 4
"""Executions of the code; the last half of them is timed."""


@dataclass(frozen=True)
class MemoryUnit:
    """The true properties of a simulated core's loads and stores, in cycles unless noted.

    Args:
        load: From an address to the value.
        forwarding: From a stored value to a load of it, from the store buffer.
        vector_forwarding: The same by vector registers.
        widest_forwarding: The same of 512 bits.
        failing: From when a store is in the cache to a load that reads more than it wrote.
        renames: A load by the same registers, unwritten in between, and the same displacement gets a stored
            value of 32 or 64 bits at once.
        computing: Also where the instruction that loads does more than move the value.
        other_stores: Largest number of stores in between, where it is renamed.
        learned: Largest number of loads of the same widths in a code that are not renamed and still served at
            once.
        overtaken: From update to update where an instruction that is renamed would get another's old value.
        lines: Number of last written lines, to which stores go at the full rate.
        far: Cycles of a store to another line.
        slots: Stores per cycle to these lines.
        wide: Bits of a store from which on it takes all slots of a cycle.
        width: Instructions per cycle.
        pop: From one pop to the next where the stack pointer moves on from iteration to iteration.
        push: The same of pushes.
        beside_pop: From a load to such a pop.
        behind_pop: Cycles of instructions that compute with the stack pointer behind a pop or a push.
    """

    load: int = 4
    forwarding: int = 7
    vector_forwarding: int = 9
    widest_forwarding: int = 11
    failing: int = 12
    renames: bool = True
    computing: bool = True
    other_stores: int = 12
    learned: int = 40
    overtaken: int = 16
    lines: int = 12
    far: int = 1
    slots: int = 2
    wide: int = 512
    width: int = 8
    pop: float = 0.25
    push: float = 0.5
    beside_pop: float = 0.0
    behind_pop: int = 2


def sampled_memory_unit(seed: int) -> MemoryUnit:
    """A memory unit with random properties; the same seed gives the same."""
    dice = random.Random(f"memory unit {seed}")  # noqa: S311  not for secrets
    load = dice.randint(3, 6)
    forwarding = load + dice.randint(1, 6)
    return MemoryUnit(
        load=load,
        forwarding=forwarding,
        vector_forwarding=forwarding + dice.randint(0, 4),
        widest_forwarding=forwarding + dice.randint(0, 6),
        failing=forwarding + dice.randint(5, 12),
        renames=dice.random() < 0.8,
        other_stores=dice.choice((2, 4, 8, 12, 20)),
        learned=dice.choice((0, 16, 30, 40, 44, 64)),
        overtaken=2 * forwarding + dice.randint(1, 8),
        lines=dice.choice((1, 2, 4, 8, 12, 16, 40)),
        far=dice.choice((1, 2)),
        slots=2,
        wide=dice.choice((128, 256, 512, 1024)),
        width=dice.randint(4, 8),
        pop=dice.choice((0.25, 0.5, 0.7, 1.5)),
        push=dice.choice((0.5, 0.6, 1.5)),
        beside_pop=dice.choice((0.0, 0.4)),
        behind_pop=dice.randint(1, 3),
        computing=dice.random() < 0.5,
    )


@dataclass(frozen=True)
class SimulatedMemory:
    """Executes blocks as machines measure them; registers and memory start with equal values."""

    unit: MemoryUnit

    def measure(self, chains: Sequence[DependencyChain], repeat: int = 0) -> Iterator[ChainReading]:
        """The readings in order, the same for every `repeat`."""
        del repeat
        for chain in chains:
            yield ChainReading(chain, self.cycles_of(chain))

    def cycles_of(self, chain: DependencyChain) -> float:
        return _cycles(self.unit, chain.code, in_loop=chain.loop, copies=chain.copies)

    def cycles(self, block: Block, *, in_loop: bool, copies: int = 0) -> float:
        """Cycles per iteration of a block; `copies`: 0 for the usual number."""
        return _cycles(self.unit, block.code, in_loop=in_loop, copies=copies)


@lru_cache(maxsize=_CACHE_SIZE)
def _cycles(unit: MemoryUnit, code: bytes, *, in_loop: bool, copies: int) -> float:
    """Cycles per iteration of a block in the steady state: the later half of the rounds counts."""
    block = block_of_bytes(code)
    copies = copies or default_copies(
        len(block.instructions),
        len(code),
        in_loop=in_loop,
        stores=sum(map(stores_of, block.instructions)),
    )
    copies = min(copies, _MAX_COPIES)
    body = [_Decoded.of(accesses) for accesses in accesses_of(block, equal_start=True)]
    run = _Run(unit)
    rounds = _ROUNDS if in_loop else 2
    ends = [run.round(body, copies, k) for k in range(rounds)]
    timed = rounds // 2
    return (ends[-1] - ends[-1 - timed]) / (timed * copies)


@dataclass(frozen=True, slots=True)
class _Decoded:
    """Sources and results of an instruction, except memory by their locations."""

    in_address: tuple[str, ...]
    values: tuple[str, ...]
    loads: tuple[MemoryPlace, ...]
    stores: tuple[MemoryPlace, ...]
    writes: tuple[str, ...]
    latency: int
    vector: bool
    behind_stack: bool
    moves: bool

    @classmethod
    def of(cls, accesses: InstructionAccesses) -> _Decoded:
        """Reads and writes of an instruction; if it only computes an address, as `lea` does, that value."""
        reads = [access for access in accesses.reads if access.memory is None]
        in_address = tuple(read.location for read in reads if read.operand.endswith(_IN_ADDRESS))
        values = tuple(read.location for read in reads if not read.operand.endswith(_IN_ADDRESS))
        return cls(
            in_address if accesses.in_memory else (),
            values if accesses.in_memory else values + in_address,
            tuple(access.memory for access in accesses.reads if access.memory is not None),
            tuple(access.memory for access in accesses.writes if access.memory is not None),
            tuple(access.location for access in accesses.writes if access.memory is None),
            0 if _is_move(accesses) else 1,
            accesses.vector,
            accesses.behind_stack,
            accesses.moves,
        )

    @property
    def is_update(self) -> bool:
        """Whether it stores to the place that it loads from."""
        return bool(self.loads and self.stores)

    @property
    def pops(self) -> bool:
        """Whether it loads by a stack pointer that moves on from iteration to iteration."""
        return _moves_stack(self.loads)

    def on_stack(self, unit: MemoryUnit, *, beside_pops: bool) -> float:
        """Cycles until the next instruction that moves the stack pointer; 0 where it does not matter."""
        if self.pops:
            return unit.pop
        if _moves_stack(self.stores):
            return unit.push
        return unit.beside_pop * len(self.loads) if beside_pops else 0.0


@dataclass(slots=True)
class _Store:
    place: MemoryPlace
    number: int
    ready: float
    in_cache: float
    by_update: bool


@dataclass(slots=True)
class _Commits:
    """The cycle in which stores reach the cache, its used slots, and the lines written last."""

    unit: MemoryUnit
    cycle: float = 0.0
    used_slots: int = 0
    has_far: bool = False
    lines: deque[int] = field(default_factory=deque)

    def commit(self, place: MemoryPlace, earliest: float) -> float:
        line, slots = place.offset // _LINE, self.unit.slots if place.bits >= self.unit.wide else 1
        is_far = line not in self.lines
        if line in self.lines:
            self.lines.remove(line)
        self.lines.append(line)
        if len(self.lines) > self.unit.lines:
            self.lines.popleft()
        if earliest >= self.cycle + 1:
            self.cycle, self.used_slots, self.has_far = float(int(earliest)), 0, False
        elif self.used_slots + slots > self.unit.slots or (is_far and self.has_far):
            self.cycle, self.used_slots, self.has_far = self.cycle + 1, 0, False
        if is_far:
            self.cycle += self.unit.far - 1
        self.used_slots, self.has_far = self.used_slots + slots, self.has_far or is_far
        return self.cycle + 1


class _Run:
    """The state of the core while it repeatedly executes copies of a block."""

    def __init__(self, unit: MemoryUnit) -> None:
        self._unit = unit
        self._ready: dict[str, float] = {}
        self._ended = 0.0
        self._dispatched = 0
        self._written: dict[int, _Store] = {}  # by byte of the page that all pages are
        self._by_text: dict[tuple[tuple[tuple[str, int], ...], int, int], _Store] = {}
        self._stores = 0
        self._stack_free = 0.0
        self._has_pops = False
        self._commits = _Commits(unit)
        self._not_renamed: set[int] = set()
        self._learned: frozenset[int] = frozenset()

    def round(self, body: Sequence[_Decoded], copies: int, number: int) -> float:
        """Execute all copies once more; returns the cycle in which they have ended."""
        self._has_pops = any(instruction.pops for instruction in body)
        for copy in range(copies):
            for place, instruction in enumerate(body):
                self._execute(copy * len(body) + place, instruction, number * copies + copy)
        few = len(self._not_renamed) <= self._unit.learned
        self._learned = frozenset(self._not_renamed) if few else frozenset()
        return max(self._ended, self._commits.cycle)

    def _execute(self, code: int, instruction: _Decoded, iteration: int) -> None:
        at = self._dispatched / self._unit.width
        self._dispatched += 1
        if on_stack := instruction.on_stack(self._unit, beside_pops=self._has_pops):
            at = max(at, self._stack_free)
            self._stack_free = at + on_stack
        ready = self._ready
        address = max([at, *(ready.get(name, 0.0) for name in instruction.in_address)])
        values = max([at, *(ready.get(name, 0.0) for name in instruction.values)])
        for place in instruction.loads:
            values = max(
                values, self._load_cycle(code, _in_iteration(place, iteration), address, instruction)
            )
        done = values + (self._unit.behind_pop if instruction.behind_stack else instruction.latency)
        self._ended = max(self._ended, done)
        for name in instruction.writes:
            ready[name] = done
            self._forget(name)
        for place in instruction.stores:
            self._store(_in_iteration(place, iteration), done, instruction.is_update)

    def _forget(self, location: str) -> None:
        """Drop addresses of a register that is written, since they now mean another place."""
        for key in [key for key in self._by_text if any(location == name for name, _ in key[0])]:
            del self._by_text[key]

    def _store(self, place: MemoryPlace, ready: float, by_update: bool) -> None:
        self._stores += 1
        in_cache = self._commits.commit(place, self._ended)
        store = _Store(place, self._stores, ready, in_cache, by_update)
        for byte in _bytes(place):
            self._written[byte] = store
        self._by_text[_text(place)] = store

    def _load_cycle(self, code: int, place: MemoryPlace, address: float, instruction: _Decoded) -> float:
        """The cycle in which a loaded value is available."""
        writers = {id(store): store for byte in _bytes(place) if (store := self._written.get(byte))}
        usual = address + self._unit.load
        if not writers:
            return usual
        last = max(writers.values(), key=lambda store: store.number)
        behind = place.offset - last.place.offset
        if len(writers) > 1 or behind < 0 or 8 * behind + place.bits > last.place.bits:
            return max(usual, last.in_cache + self._unit.failing)
        named = self._by_text.get(_text(place))
        is_near = named is not None and self._stores - named.number <= self._unit.other_stores
        fits = not instruction.vector and not behind and min(last.place.bits, place.bits) >= _MIN_BITS
        fits = fits and (self._unit.computing or instruction.moves or instruction.is_update)
        if self._unit.renames and fits and named is last and is_near:
            return last.ready
        self._not_renamed.add(code)
        if code in self._learned and fits:
            return last.ready
        if self._unit.renames and instruction.is_update and last.by_update and is_near:
            return max(usual, last.ready + self._unit.overtaken - 1)
        forwarding = self._unit.vector_forwarding if instruction.vector else self._unit.forwarding
        if place.bits == _WIDEST_BITS:
            forwarding = self._unit.widest_forwarding
        return max(usual, last.ready + forwarding - instruction.is_update)


def _moves_stack(places: Sequence[MemoryPlace]) -> bool:
    return any(place.registers == STACK and place.step for place in places)


def _in_iteration(place: MemoryPlace, iteration: int) -> MemoryPlace:
    if not place.step:
        return place
    return place._replace(offset=(place.offset + iteration * (place.step or 0)) % MEMORY_BYTES)


def _text(place: MemoryPlace) -> tuple[tuple[tuple[str, int], ...], int, int]:
    return place.registers, place.displacement, place.page


def _bytes(place: MemoryPlace) -> Iterator[int]:
    return iter(range(place.offset, place.offset + place.bits // 8))


def _is_move(accesses: InstructionAccesses) -> bool:
    """Whether it passes on what it reads without computing: memory is extended on the way."""
    scheme = accesses.scheme or ""
    return scheme.startswith(("mov ", "nop")) or (
        accesses.in_memory and scheme.startswith(("mov", "vmov", "push", "pop"))
    )
