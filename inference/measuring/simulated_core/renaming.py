"""µops, and the results that each of them waits for: instructions are executed one after another.

A register or a stored value *is* the results that it needs (`Value`): an eliminated move copies them, and a
register that was there from the start has none. A destination is ready when each of its sources has been
ready for the latency between both, so an instruction issues with the source that has the least latency, and
waits for others by as much less. Of an instruction that loads and computes, the loads issue with the address.
Of several µops the first one gives the result; the others need their ports only.

The loop is executed until the same µops wait for the same results, an iteration later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from inference.core.core_model.dependences import IN_ADDRESS, UNKNOWN_LATENCY, WRITTEN_BASE
from inference.core.core_model.memory_bounds import ports_of_loads
from inference.core.core_model.model import CoreModel
from inference.core.core_model.prediction import is_portless, is_timed_nop
from inference.core.core_model.simulated_program import UndescribedSchemeError
from inference.core.mapping import PortMapping
from inference.core.simulation.program import MAX_LATENCY, IssueOrder, SimulatedUop, Wait
from inference.isa.dependences import MEMORY_BYTES, InstructionAccesses, MemoryPlace, OperandAccess
from inference.measuring.simulated_core.code import ExecutedCode

Value = tuple[tuple[int, float], ...]
"""(µop, cycles from its issue on) of each result that a value needs; () for what was there from the start."""


def join(*values: Value) -> Value:
    """What is ready with the last of some values."""
    cycles_of: dict[int, float] = {}
    for value in values:
        for uop, cycles in value:
            cycles_of[uop] = max(cycles_of.get(uop, cycles), cycles)
    return tuple(cycles_of.items())


def later(value: Value, cycles: float) -> Value:
    return tuple((uop, ready + cycles) for uop, ready in value) if cycles else value


class Store(NamedTuple):
    """A store as executed: where it went in that iteration, and how many stores came before."""

    place: MemoryPlace
    value: Value
    number: int
    vector: bool


class LoadedBytes(NamedTuple):
    """Where a load goes, and the stores that wrote there; `is_contained`: the only one wrote all of it."""

    place: MemoryPlace
    stores: tuple[Store, ...]
    is_contained: bool


class StoreBuffer:
    """The last store to each byte. Pages of one memory are the same bytes, as in the frame of blocks.

    Places that move on by different distances meet in single iterations, which are no steady state: they
    never meet here.
    """

    def __init__(self) -> None:
        self._last: dict[tuple[object, int, int], Store] = {}
        self._count = 0

    def store(self, place: MemoryPlace, iteration: int, value: Value, *, vector: bool) -> None:
        store = Store(_in_iteration(place, iteration), value, self._count, vector)
        self._count += 1
        for byte in _bytes(store.place):
            self._last[byte] = store

    def load(self, place: MemoryPlace, iteration: int) -> LoadedBytes:
        moved = _in_iteration(place, iteration)
        writers = [self._last.get(byte) for byte in _bytes(moved)]
        stores = {store.number: store for store in writers if store is not None}
        return LoadedBytes(moved, tuple(stores.values()), len(stores) == 1 and None not in writers)


def _in_iteration(place: MemoryPlace, iteration: int) -> MemoryPlace:
    page, offset = place.page, place.offset + iteration * (place.step or 0)
    if page:
        page, offset = divmod(page * MEMORY_BYTES + offset, MEMORY_BYTES)
    return place._replace(page=page, offset=offset)


def _bytes(place: MemoryPlace) -> Iterator[tuple[object, int, int]]:
    """Keys of the bytes of an access; none where its address is not known, which meets no other."""
    if place.address is None or place.step is None:
        return
    for byte in range(place.offset, place.offset + place.bits // 8):
        yield place.address, place.step, byte % MEMORY_BYTES


_MAX_ITERATIONS = 20
"""Executed iterations: values that moves pass on recur after as many as there are registers for them."""

_REGISTERS = ("general", "vector")


def renamed_uops(code: ExecutedCode, model: CoreModel) -> list[SimulatedUop]:
    """The µops of one iteration in the steady state of a loop of the code.

    Raises:
        UndescribedSchemeError: The model has no µops of an instruction.
    """
    renamer = _Renamer(code, model)
    before: list[SimulatedUop] = []
    for _ in range(_MAX_ITERATIONS):
        uops = renamer.iteration()
        if uops == before:
            break
        before = uops
    return before


@dataclass(frozen=True, slots=True)
class _Plan:
    """The port masks of an instruction's µops: those that load for others, and others, the scarcest first.

    `first`: the number of the first one in an iteration, which is there also where no port is needed.
    """

    first: int
    slots: int
    loads: tuple[int, ...]
    others: tuple[int, ...]

    @property
    def masks(self) -> tuple[int, ...]:
        return (*self.loads, *self.others) or (0,)


def _plans(code: ExecutedCode, model: CoreModel, mapping: PortMapping) -> Iterator[_Plan]:
    loading = ports_of_loads(mapping) or 0
    first = 0
    undescribed: list[str] = []
    for place, row in enumerate(code.instructions):
        scheme = row.scheme or ""
        usage = mapping.usage.get(scheme)
        if is_portless(row, model) or (usage is None and is_timed_nop(row, model)):
            usage = ()
        if usage is None:
            undescribed.append(scheme)
            continue
        masks = sorted((mask for mask, count in usage for _ in range(count)), key=int.bit_count)
        loads = tuple(mask for mask in masks if row.loads and not mask & ~loading)
        slots = 0 if place in code.fused else mapping.slots_of(scheme) if scheme in mapping.usage else 1
        plan = _Plan(first, slots, loads, tuple(mask for mask in masks if mask not in loads))
        first += len(plan.masks)
        yield plan
    if undescribed:
        raise UndescribedSchemeError(undescribed)


class _Renamer:
    """The registers and stores of a core between instructions."""

    def __init__(self, code: ExecutedCode, model: CoreModel) -> None:
        assert model.mapping is not None, "a core has ports"
        self._model = model
        self._issue = model.issue or IssueOrder(in_order=False)
        self._instructions = code.instructions
        self._registers: dict[str, Value] = {}
        self._stores = StoreBuffer()
        self._plans = [*_plans(code, model, model.mapping)]
        self._places = [place for place, plan in enumerate(self._plans) for _ in plan.masks]
        self._uops = len(self._places)
        self._iteration = 0

    def iteration(self) -> list[SimulatedUop]:
        """Execute the code once more; returns its µops."""
        uops: list[SimulatedUop] = []
        for place, (row, plan) in enumerate(zip(self._instructions, self._plans, strict=True)):
            uops += self._execute(place, row, plan)
        self._iteration += 1
        return uops

    def _execute(self, place: int, row: InstructionAccesses, plan: _Plan) -> Iterator[SimulatedUop]:
        first = self._iteration * self._uops + plan.first
        forwarded = join(*self._forwarded(row))
        execution = _Execution(row, plan, first, [*self._sources(row)], forwarded)
        for write, value in [(write, execution.result(write)) for write in row.writes]:
            if write.memory is None:
                self._registers[write.location] = value
            else:
                self._stores.store(write.memory, self._iteration, value, vector=row.vector)
        for number, mask in enumerate(plan.masks):
            needs = execution.needs(is_load=number < len(plan.loads))
            waits = self._waits(needs, row) if mask else ()
            slots = 0 if number else plan.slots
            latency = min(execution.latency + self._issue.stage(row.scheme), MAX_LATENCY)
            yield SimulatedUop(mask, place, slots, latency, waits=waits)

    def _waits(self, value: Value, row: InstructionAccesses) -> tuple[Wait, ...]:
        longest: dict[tuple[int, int], int] = {}
        for uop, cycles in value:
            iteration, place = divmod(uop, self._uops)
            producer = self._instructions[self._places[place]]
            key = place, self._iteration - iteration
            apart = self._issue.apart(producer.scheme, row.scheme, round(cycles))
            longest[key] = max(longest.get(key, 1), apart)
        return tuple(Wait(place, ago, cycles) for (place, ago), cycles in sorted(longest.items()))

    def _sources(self, row: InstructionAccesses) -> Iterator[_Source]:
        """The registers that an instruction waits for."""
        scheme = row.scheme or ""
        latencies = {} if scheme in self._model.moves else self._model.latencies_of(row)
        is_free = row.same_register and scheme in self._model.free
        waited = self._model.false_dependences.get(scheme, {})
        for read in row.reads:
            if read.memory is not None or (is_free and read.location.startswith(_REGISTERS)):
                continue
            delays = {
                write.operand: latencies.get(
                    (read.operand, write.operand), self._usual_latency(row, read.operand, write)
                )
                for write in row.writes
            }
            yield _Source(read.operand, self._registers.get(read.location, ()), delays)
        for write in row.writes:
            if write.memory is None and write.operand in waited:
                value = self._registers.get(write.location, ())
                delays = {other.operand: waited[write.operand] for other in row.writes}
                yield _Source(write.operand, value, delays)

    def _usual_latency(self, row: InstructionAccesses, source: str, write: OperandAccess) -> float:
        """The cycles between operands of which the model has no latency, as where it predicts."""
        scheme = row.scheme or ""
        if scheme in self._model.moves:
            return 0.0
        if row.loads and source.endswith(IN_ADDRESS) and write.operand != WRITTEN_BASE:
            return self._model.memory.load + (0.0 if row.only_loads else UNKNOWN_LATENCY)
        is_stored = write.memory is not None and not row.loads and not source.endswith(IN_ADDRESS)
        return 0.0 if is_stored else UNKNOWN_LATENCY

    def _forwarded(self, row: InstructionAccesses) -> Iterator[Value]:
        """What an instruction loads from earlier stores instead of the cache."""
        memory = self._model.memory
        for read in row.reads:
            if read.memory is None:
                continue
            place, stores, is_contained = self._stores.load(read.memory, self._iteration)
            for store in stores:
                vector = row.vector or store.vector
                cycles = memory.between(store.place, place, vector=vector) if is_contained else memory.failed
                yield later(store.value, cycles)


@dataclass(frozen=True, slots=True)
class _Source:
    """A register that an instruction reads: its value, and the cycles from it to each destination."""

    operand: str
    value: Value
    delays: Mapping[str, float | None]

    @property
    def is_in_address(self) -> bool:
        return self.operand.endswith(IN_ADDRESS)


class _Execution:
    """One execution of an instruction. `latency`: cycles until its last result returns."""

    def __init__(
        self, row: InstructionAccesses, plan: _Plan, first: int, sources: Sequence[_Source], forwarded: Value
    ) -> None:
        self.latency = 1
        self._row = row
        self._sources = sources
        self._forwarded = forwarded
        self._loading = first if plan.loads else None
        self._computing = first + len(plan.loads) if plan.others else None
        sources_together = join(*(source.value for source in sources))
        addresses = join(*(source.value for source in sources if source.is_in_address))
        self._needs: dict[bool, Value] = {
            True: addresses,
            False: addresses if row.loads else sources_together if row.in_memory or not row.writes else (),
        }

    def needs(self, *, is_load: bool) -> Value:
        """What the µops that load for others, or the others, wait for."""
        return self._needs[is_load]

    def result(self, write: OperandAccess) -> Value:
        """The value of a destination; what its µops wait for is noted."""
        loads = self._row.loads and write.operand != WRITTEN_BASE
        delayed = [
            (source, cycles)
            for source in self._sources
            if (cycles := source.delays.get(write.operand)) is not None
        ]
        addresses = [pair for pair in delayed if pair[0].is_in_address]
        plain = [pair for pair in delayed if not pair[0].is_in_address]
        stores = write.memory is not None and not self._row.loads
        if stores or (self._loading is None and self._computing is None):
            return join(*(later(source.value, cycles) for source, cycles in delayed), self._forwarded)
        if not loads or self._loading is None:
            return self._issued_value(is_load=self._computing is None, sources=delayed, loads=loads)
        if self._computing is None or not (plain or write.memory):
            loaded = self._issued_value(is_load=True, sources=addresses, loads=True)
            return join(loaded, *(later(source.value, cycles) for source, cycles in plain))
        lowest = min((cycles for _, cycles in plain), default=UNKNOWN_LATENCY)
        loaded = self._issued_value(is_load=True, sources=addresses, loads=True, earlier=lowest)
        self._needs[False] = join(self._needs[False], loaded)
        return self._issued_value(is_load=False, sources=plain)

    def _issued_value(
        self,
        *,
        is_load: bool,
        sources: Sequence[tuple[_Source, float]],
        loads: bool = False,
        earlier: float = 0.0,
    ) -> Value:
        """The result of µops that issue with the source of the least latency.

        Args:
            is_load: The µops are those that load for others.
            sources: What they wait for, with the latencies to the result of the instruction.
            loads: They wait for stores as well. Like that, a load of a stored value issues when the usual
                time of a load is left.
            earlier: Cycles by which their result is earlier than that of the instruction.
        """
        lowest = min((cycles for _, cycles in sources), default=UNKNOWN_LATENCY + earlier)
        cycles = max(lowest - earlier, 1.0)
        waited = [later(source.value, delay - lowest) for source, delay in sources]
        if loads:
            waited.append(later(self._forwarded, -cycles))
        self._needs[is_load] = join(self._needs[is_load], *waited)
        self.latency = min(max(self.latency, round(cycles)), MAX_LATENCY)
        leader = self._loading if is_load else self._computing
        assert leader is not None, "what issues has a µop"
        return ((leader, cycles),)
