"""What a search may claim: nothing that a bottleneck hides, that mixes contradict, or that took too long."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import pytest

from inference.core.cegar import CegarProblem, CegarResult, CegarSettings, Determinacy, infer
from inference.core.cegar import search as cegar_search
from inference.core.cegar.algorithm import MAX_CHECKS
from inference.core.events import PhaseStarted
from inference.core.experiment import Experiment, Measured
from inference.core.identity import same_up_to_renaming
from inference.core.identity.comparison import agreement_up_to_hidden
from inference.core.mapping import PortMapping
from inference.core.sampling import random_mixes
from inference.core.throughput import inverse_throughput
from inference.core.waste import SchedulerFit, Simulated
from inference.measuring.simulated import SimulatedProcessor
from tests.core.pmevo.small import Listener

WIDE = PortMapping(
    tuple("0123456"),
    {"add": ((0b111, 1),), "shift": ((0b11, 1),), "vector": ((0b11000, 1),), "load": ((0b1100000, 1),)},
)
DOMAINS = {"add": "integer", "shift": "integer", "vector": "vector", "load": "load"}


def found_on(
    processor: SimulatedProcessor, truth: PortMapping, listener: Listener | None = None, **settings: object
) -> CegarResult:
    problem = CegarProblem(tuple(truth.usage), CegarSettings(**settings), domains=DOMAINS)  # type: ignore[arg-type]
    return infer(problem, processor, listener or Listener(), 1)


@pytest.mark.parametrize("width", [3, 4])
def test_nothing_is_called_unique_that_the_dispatch_width_hides(width: int) -> None:
    truth = dataclasses.replace(WIDE, issue_width=width)
    problem = CegarProblem(tuple(truth.usage), CegarSettings())
    result = infer(problem, SimulatedProcessor(truth), Listener(), 1)
    assert result.verdict is not Determinacy.UNIQUE
    assert f"{len(result.mapping.ports) + 1} ports" in result.reason


@pytest.mark.parametrize("width", [3, 4, 5, 8])
def test_domains_keep_their_own_ports_whatever_the_width(width: int) -> None:
    truth = dataclasses.replace(WIDE, issue_width=width)
    result = found_on(SimulatedProcessor(truth, noise=0.01, seed=2), truth)
    judged = random_mixes(tuple(truth.usage), 100, seed=0)
    assert agreement_up_to_hidden(result.mapping, truth, judged) == 1
    assert len(result.apart) == 3


def test_a_wide_core_is_unique_and_has_no_bottleneck() -> None:
    result = found_on(SimulatedProcessor(WIDE), WIDE)
    assert result.verdict is Determinacy.UNIQUE
    assert same_up_to_renaming(result.mapping, WIDE)
    assert result.mixes > 10
    assert not result.mixes_unexplained


def test_domains_that_share_a_port_are_searched_for_together() -> None:
    truth = dataclasses.replace(WIDE, usage={**WIDE.usage, "vector": ((0b11010, 1),)})
    result = found_on(SimulatedProcessor(truth), truth)
    assert ("integer", "vector") not in result.apart
    assert same_up_to_renaming(dataclasses.replace(result.mapping, r_max=None), truth)


@pytest.mark.parametrize(
    ("factor", "searches"),
    [pytest.param(1.3, 1, id="as much as cores waste"), pytest.param(1.6, MAX_CHECKS, id="more than that")],
)
def test_nothing_is_unique_that_fresh_mixes_contradict(factor: float, searches: int) -> None:
    class Slow(SimulatedProcessor):
        """Mixes of four schemes take longer than ports explain."""

        def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
            for each in super().measure(experiments):
                assert each.cycles is not None
                slower = factor if len(each.experiment.terms) == 4 else 1.0
                yield dataclasses.replace(each, cycles=each.cycles * slower)

    listener = Listener()
    result = found_on(Slow(WIDE), WIDE, listener)
    assert result.verdict is Determinacy.UNPROVEN
    assert result.unexplained
    assert "not explained" in result.limit
    checks = [
        event for event in listener.events if isinstance(event, PhaseStarted) and event.name == "checking"
    ]
    assert len(checks) == searches  # a search that knows these mixes may explain them


def test_a_reading_that_is_quicker_than_its_repetitions_is_no_bottleneck() -> None:
    class Hasty(SimulatedProcessor):
        """Loops with one copy of four schemes are read a tenth too quick, those with more are not."""

        def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
            for each in super().measure(experiments):
                assert each.cycles is not None
                counts = [count for _, count in each.experiment.terms]
                is_hasty = len(counts) == 4 and math.gcd(*counts) == 1
                yield dataclasses.replace(each, cycles=each.cycles * (0.9 if is_hasty else 1.0))

    truth = dataclasses.replace(WIDE, issue_width=4)
    assert found_on(Hasty(truth), truth).mapping.r_max == 4.0


def test_when_time_is_up_the_best_mapping_is_the_result() -> None:
    result = found_on(SimulatedProcessor(WIDE), WIDE, time_limit=1e-6)
    assert result.verdict is Determinacy.UNPROVEN
    assert "time_limit" in result.limit
    assert set(result.mapping.usage) == set(WIDE.usage)


def test_progress_says_what_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cegar_search, "REPORT_INTERVAL", 0.0)
    listener = Listener()
    found_on(SimulatedProcessor(WIDE), WIDE, listener)
    texts = {event.text for event in listener.events if event.kind == "log" and "s left" in event.text}
    assert any("ports: the fewest for what is measured so far" in text for text in texts)
    assert any("one port more" in text for text in texts)


def test_more_than_fourteen_ports_are_found() -> None:
    usage = {f"s{k}": ((0b1111 << 4 * k, 1),) for k in range(4)}
    truth = PortMapping(tuple(f"{k}" for k in range(16)), usage)
    problem = CegarProblem(tuple(usage), CegarSettings(), domains={s: s for s in usage})
    result = infer(problem, SimulatedProcessor(truth), Listener(), 1)
    assert len(result.mapping.ports) == 16


class Scheduler(SimulatedProcessor):
    """Wastes a fifth of the time of what mixes `add` and `shift`, and simulates that."""

    share = 0.2

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        for each in super().measure(experiments):
            assert each.cycles is not None
            wasted = self.share if self.wastes(each.experiment) else 0.0
            yield dataclasses.replace(each, cycles=each.cycles / (1 - wasted))

    def wastes(self, experiment: Experiment) -> bool:
        return {"add", "shift"} <= set(experiment.schemes)

    width: int | None = None
    mapping: PortMapping | None = None

    def least_cycles(
        self, measured: Mapping[Experiment, float], *, pulse: Callable[[], None] = lambda: None
    ) -> Mapping[Experiment, float]:
        return {}

    def experiments(self, mapping: PortMapping) -> Sequence[Experiment]:
        return ()

    def fit(
        self, mapping: PortMapping, measured: Mapping[Experiment, float], pulse: Callable[[], bool]
    ) -> SchedulerFit:
        return SchedulerFit(self.simulator(mapping, measured, pulse), 0.0)

    def simulator(
        self, mapping: PortMapping, measured: Mapping[Experiment, float], pulse: Callable[[], bool]
    ) -> Simulated:
        def cycles(mapping: PortMapping, experiment: Experiment) -> float:
            wasted = self.share if self.wastes(experiment) else 0.0
            return inverse_throughput(mapping, experiment) / (1 - wasted)

        return cycles


def test_what_the_scheduler_wastes_is_explained() -> None:
    core = Scheduler(WIDE)
    problem = CegarProblem(tuple(WIDE.usage), CegarSettings(), domains=DOMAINS)
    plain = infer(problem, core, Listener(), 1)
    assert plain.verdict is Determinacy.UNPROVEN
    assert plain.unexplained
    result = infer(problem, core, Listener(), 1, waste=core)
    assert not result.unexplained
    assert same_up_to_renaming(dataclasses.replace(result.mapping, r_max=None), WIDE)
