"""A search ends when its time is up, whatever it does then."""

from __future__ import annotations

import random
import time
from types import SimpleNamespace

import pytest

from inference.core.cegar import CegarProblem, CegarResult, CegarSettings, Determinacy, infer
from inference.core.cegar import deadline as cegar_deadline
from inference.core.mapping import PortMapping
from tests.core.cegar.test_claims import Scheduler
from tests.core.pmevo.small import Listener

ALLOWANCE = 1.0
"""CPU seconds: one step between two looks at the clock, or until z3 heeds an interrupt."""
KINDS = ("add", "shift", "vector", "load")


class Clock:
    """CPU time, and the longest that nobody looked at it; with `ticks`, every look is a second."""

    def __init__(self, *, ticks: bool) -> None:
        self.looks = 0
        self.longest = 0.0
        self._ticks = ticks
        self._last = time.process_time()

    def process_time(self) -> float:
        now = time.process_time()
        self.longest = max(self.longest, now - self._last)
        self._last = now
        self.looks += 1
        return float(self.looks) if self._ticks else now


def hard_core(schemes: int, ports: int, *, parts: int) -> tuple[PortMapping, dict[str, str]]:
    """Port sets drawn at random, and the domains of their schemes, which share ports across parts."""
    dice = random.Random(schemes)
    names = [f"{KINDS[k % 4]} {k}" for k in range(schemes)]
    usage = {s: ((sum(1 << p for p in dice.sample(range(ports), dice.randint(1, 6))), 1),) for s in names}
    domains = {s: f"domain {k % parts}" for k, s in enumerate(names)} if parts else {}
    return PortMapping(tuple(map(str, range(ports))), usage, issue_width=8), domains


class Wasteful(Scheduler):
    """Wastes time on every mix of additions and shifts, with noise."""

    def wastes(self, experiment):  # type: ignore[no-untyped-def]
        return {"add", "shift"} <= {scheme.partition(" ")[0] for scheme in experiment.schemes}


def ended(core: tuple[PortMapping, dict[str, str]], limit: float, *, waste: bool = False) -> CegarResult:
    truth, domains = core
    processor = Wasteful(truth, noise=0.02, seed=3)
    problem = CegarProblem(tuple(truth.usage), CegarSettings(time_limit=limit), domains=domains)
    return infer(problem, processor, Listener(), 1, waste=processor if waste else None)


CORES = {
    "one part": (hard_core(13, 16, parts=0), False),
    "domains that share ports": (hard_core(14, 14, parts=3), False),
    "a scheduler that wastes": (hard_core(10, 12, parts=2), True),
    "few ports": (hard_core(12, 7, parts=0), True),
}


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    """Kernels are compiled by whoever needs them first, which takes seconds and nobody can interrupt."""
    ended(hard_core(4, 6, parts=2), 100.0, waste=True)
    ended(hard_core(4, 6, parts=0), 100.0)


@pytest.mark.parametrize("name", CORES)
def test_a_hard_core_ends_in_time_and_every_loop_looks_at_the_clock(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    core, waste = CORES[name]
    clock = Clock(ticks=False)
    monkeypatch.setattr(cegar_deadline, "time", SimpleNamespace(process_time=clock.process_time))
    began = time.process_time()
    result = ended(core, 2.0, waste=waste)
    assert time.process_time() - began < 2 + ALLOWANCE
    assert clock.longest < ALLOWANCE
    assert set(result.mapping.usage) == set(core[0].usage)
    assert result.verdict is not Determinacy.UNIQUE


@pytest.mark.parametrize("name", CORES)
@pytest.mark.parametrize("looks", [3, 30, 300, 3_000, 30_000])
def test_a_search_ends_at_any_moment(name: str, looks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    core, waste = CORES[name]
    clock = Clock(ticks=True)
    monkeypatch.setattr(cegar_deadline, "time", SimpleNamespace(process_time=clock.process_time))
    result = ended(core, float(looks), waste=waste)
    assert clock.longest < ALLOWANCE
    assert result.verdict is Determinacy.UNPROVEN
    assert "time_limit" in result.limit
    assert set(result.mapping.usage) == set(core[0].usage)
