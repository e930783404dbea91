"""A search ends when its time is up, whatever it does then."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from inference.core.cegar import CegarProblem, CegarResult, CegarSettings, Determinacy, infer, search
from inference.core.mapping import PortMapping, uops_of
from tests.core.cegar.test_claims import Scheduler
from tests.core.pmevo.small import Listener

ALLOWANCE = 3.0
"""CPU seconds: one step between two looks at the clock, or until z3 heeds an interrupt, on a busy machine."""
KINDS = ("add", "shift", "vector", "load")


class Clock:
    """CPU time, and the longest that nobody looked at it; with `ticks`, every look is a second."""

    def __init__(self, *, ticks: bool) -> None:
        self.looks = 0
        self.longest = 0.0
        self._ticks = ticks
        self._last = time.process_time()

    def __call__(self) -> float:
        now = time.process_time()
        self.longest = max(self.longest, now - self._last)
        self._last = now
        self.looks += 1
        return float(self.looks) if self._ticks else now


class Wasteful(Scheduler):
    """Wastes time on every mix of additions and shifts, with noise."""

    def wastes(self, experiment):  # type: ignore[no-untyped-def]
        return {"add", "shift"} <= {scheme.partition(" ")[0] for scheme in experiment.schemes}


@dataclass(frozen=True)
class Case:
    """A search of a core with port sets drawn at random, whose domains, if any, share ports."""

    schemes: int
    ports: int
    domains: int = 0
    waste: bool = False
    uops: int = 1
    settings: Mapping[str, object] = field(default_factory=dict)

    def ended(self, limit: float) -> CegarResult:
        dice = random.Random(self.schemes)
        names = [f"{KINDS[k % 4]} {k}" for k in range(self.schemes)]
        usage = {scheme: uops_of((self._drawn(dice), 1) for _ in range(self.uops)) for scheme in names}
        truth = PortMapping(tuple(map(str, range(self.ports))), usage, issue_width=8)
        processor = Wasteful(truth, noise=0.02, seed=3)
        problem = CegarProblem(
            tuple(usage),
            CegarSettings(time_limit=limit, **self.settings),  # type: ignore[arg-type]
            uops=dict.fromkeys(usage, self.uops),
            domains={s: f"domain {k % self.domains}" for k, s in enumerate(usage)} if self.domains else {},
        )
        return infer(problem, processor, Listener(), 1, waste=processor if self.waste else None)

    def _drawn(self, dice: random.Random) -> int:
        return sum(1 << port for port in dice.sample(range(self.ports), dice.randint(1, min(6, self.ports))))


CASES = {
    "one part": Case(13, 16),
    "domains that share ports": Case(14, 14, domains=3),
    "a scheduler that wastes": Case(10, 12, domains=2, waste=True),
    "few ports": Case(12, 7, waste=True),
    "several µops": Case(6, 9, uops=3),
    "several µops on given ports": Case(6, 6, uops=2, settings={"ports": 6}),
    "schemes may be dropped": Case(10, 8, settings={"on_clash": "drop-scheme"}),
    "the thesis's encoding": Case(6, 6, settings={"encoding": "linear-program"}),
}


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    """Kernels are compiled by whoever needs them first, which takes seconds and nobody can interrupt."""
    Case(4, 6, domains=2, waste=True).ended(100.0)
    Case(4, 6).ended(100.0)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_hard_core_ends_in_time_and_every_loop_looks_at_the_clock(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(ticks=False)
    monkeypatch.setattr(search, "computing_seconds", clock)
    began = time.process_time()
    result = case.ended(0.3)
    assert time.process_time() - began < 0.3 + ALLOWANCE
    assert clock.longest < ALLOWANCE
    dropped = [scheme for clash in result.clashes for scheme in clash.dropped]
    assert len(result.mapping.usage) + len(dropped) == case.schemes
    assert result.verdict is not Determinacy.UNIQUE


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("looks", [3, 30, 300, 3_000, 30_000])
def test_a_search_ends_at_any_moment(case: Case, looks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(ticks=True)
    monkeypatch.setattr(search, "computing_seconds", clock)
    result = case.ended(float(looks))
    assert clock.longest < ALLOWANCE
    assert result.verdict is Determinacy.UNPROVEN
    assert "time_limit" in result.limit
    dropped = [scheme for clash in result.clashes for scheme in clash.dropped]
    assert len(result.mapping.usage) + len(dropped) == case.schemes
