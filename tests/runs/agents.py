"""Runs on a machine whose agent is in this process: a board in memory instead of rows and a socket."""

from __future__ import annotations

import pytest

from inference.core.mapping import PortMapping, uops_of
from inference.measuring.simulated_agent import SimulatedHarness, simulated_facts
from inference.models import Machine
from inference.runs import leases, lifecycle
from inference.runs.fork_server import StopRequests, execute
from inference.runs.machines import measurer
from inference.storage.instruction_sets import new_isa
from tests.measuring.boards import MemoryBoard

PORTS = {
    "alu": (0, 1, 2),
    "alu2": (0, 1, 2),
    "shift": (0, 1),
    "mul": (1,),
    "vec": (3, 4),
    "shuffle": (4,),
    "load": (5, 6),
    "store": (7,),
}
TRUTH = PortMapping(
    tuple("01234567"),
    {name: uops_of([(sum(1 << k for k in ports), 1)]) for name, ports in PORTS.items()},
    r_max=4,
)


def make_machine(**fields) -> Machine:
    isa = new_isa("toy", [*TRUTH.usage, "crash", "wobble"], "a test")
    facts = simulated_facts("toy", TRUTH)
    return Machine.objects.create(**{"name": "box", "kind": "agent", "isa": isa, "facts": facts, **fields})


class Boards:
    """Every board that a run has opened; each says `reason` to whoever waits for it."""

    def __init__(self, harness, reason=""):
        self.harness = harness
        self.reason = reason
        self.opened = []

    def __call__(self, lease, machine, pulse, say):
        board = MemoryBoard(self.harness)
        self.opened.append(board)
        if self.reason:
            say(self.reason, True)
            say(f"{machine} is back", False)
        return board

    @property
    def posted(self):
        """How many experiments were posted on all boards."""
        return sum(len(batch.items) for board in self.opened for batch in board.posted)


def put_agent(monkeypatch: pytest.MonkeyPatch, harness=None, **options) -> Boards:
    """Let machines be answered by a harness; a simulated one with these options unless it is given."""
    boards = Boards(harness or SimulatedHarness(TRUTH, **options))
    monkeypatch.setattr(measurer, "DatabaseBoard", boards)
    return boards


def do(kind, config, name="a run"):
    run = lifecycle.submit(kind, config, name)
    attempt(run)
    return run


def attempt(run, wishes=StopRequests):
    lease = leases.claim("w", only=run.pk)
    execute(lease, wishes(lease))
    run.refresh_from_db()


def impatient(calls):
    """Wishes of a worker that is stopped after it was asked so many times."""

    class Impatient(StopRequests):
        left = calls

        def __call__(self):
            self.left -= 1
            return "stop" if self.left < 0 else super().__call__()

    return Impatient
