"""A core that is simulated cycle by cycle: what no bound may exceed.

Instructions are issued in order, as many per cycle as slots and instructions allow; each µop then waits for
its sources and takes the first port that is free, of those that can execute it. Results are ready as long
after each source as the latency between the two says. No window limits how far instructions overtake.
"""

from __future__ import annotations

from collections.abc import Sequence

from inference.core.core_model import CoreModel
from inference.core.mapping import ports_in
from inference.isa.dependences import InstructionAccesses, OperandAccess


class ToyCore:
    """Runs a block again and again. All cycles are whole numbers, and memory is never renamed."""

    def __init__(self, model: CoreModel, *, greedy: bool) -> None:
        assert model.mapping is not None
        self._model = model
        self._mapping = model.mapping
        self._greedy = greedy
        self._cycle = 0
        self._slots = self._instructions = 0.0
        self._busy: list[set[int]] = [set() for _ in self._mapping.ports]
        self._ready: dict[str, float] = {}
        self._turn = 0

    def cycles(self, block: Sequence[InstructionAccesses], iterations: int) -> float:
        """Until everything of so many iterations is done."""
        done = 0.0
        for _ in range(iterations):
            for one in block:
                done = max(done, self._execute(one))
        return done

    def _execute(self, one: InstructionAccesses) -> float:
        scheme = one.scheme or ""
        issued = self._issue(scheme)
        latencies = self._model.latencies.get(scheme, {})
        waited = [read for read in one.reads if not self._is_free(one, read)]
        sources = [(read, self._ready.get(read.location, 0.0)) for read in waited]
        start = max([float(issued), *(ready for _, ready in sources)])
        finished = start
        if scheme not in self._model.moves and not (one.same_register and scheme in self._model.portless):
            for mask, count in self._mapping.usage[scheme]:
                for _ in range(count):
                    finished = max(finished, self._on_a_port(mask, int(start)) + 1)
        written = {}
        for write in one.writes:
            ways = [float(issued)]
            for read, ready in sources:
                cycles = (
                    0.0 if scheme in self._model.moves else latencies.get((read.operand, write.operand), 1.0)
                )
                if cycles is not None:
                    ways.append(max(ready, float(issued)) + cycles)
            written[write.location] = max(ways)
        self._ready |= written
        return max([finished, *written.values()])

    def _is_free(self, one: InstructionAccesses, read: OperandAccess) -> bool:
        """An idiom waits for no register, but for flags."""
        idiom = one.same_register and one.scheme in self._model.free
        return idiom and read.location.startswith(("general", "vector"))

    def _issue(self, scheme: str) -> int:
        """The cycle in which it is issued: the first that has room for its slots, after those before."""
        slots = self._mapping.slots_of(scheme)
        width, most = self._mapping.issue_width, self._mapping.r_max
        self._slots += slots / width if width else 0.0
        self._instructions += 1 / most if most else 0.0
        self._cycle = max(self._cycle, int(max(self._slots, self._instructions) - 1e-9))
        return self._cycle

    def _on_a_port(self, mask: int, earliest: int) -> int:
        """The cycle in which a µop runs. Greedy: on the port that is free first, else on each in turn."""
        ports = list(ports_in(mask))
        if not self._greedy:
            self._turn += 1
            ports = [ports[self._turn % len(ports)]]
        cycle, port = min((self._first_free(port, earliest), port) for port in ports)
        self._busy[port].add(cycle)
        return cycle

    def _first_free(self, port: int, earliest: int) -> int:
        while earliest in self._busy[port]:
            earliest += 1
        return earliest
