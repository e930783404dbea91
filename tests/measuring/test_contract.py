"""What every measurer promises, run over all of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest

from inference.agent.protocol import Settings
from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.core.mapping import PortMapping
from inference.core.protocols import Measurer
from inference.measuring.proxies import StoreBackedMeasurer
from inference.measuring.recorded import RecordedMeasurer
from inference.measuring.remote import RemoteMeasurer
from inference.measuring.simulated import SimulatedProcessor
from inference.measuring.simulated_agent import SimulatedHarness, dummy_code
from tests.measuring.boards import MemoryBoard

MAPPING = PortMapping(
    ("0", "1", "2"), {"add": ((0b11, 1),), "mul": ((0b1, 1),), "store": ((0b11, 1), (0b100, 2))}, r_max=4
)
ASKED = tuple(
    Experiment.of(counts)
    for counts in (
        {"add": 1},
        {"mul": 1},
        {"store": 1},
        {"add": 2, "mul": 1},
        {"add": 4, "store": 3},
        {"add": 1, "mul": 1, "store": 1},
    )
)
STRANGER = Experiment.of({"add": 1, "stranger": 1})


class MemoryStore:
    """A `MeasurementStore` in a dictionary."""

    def __init__(self) -> None:
        self.kept: dict[Experiment, Measured] = {}
        self.batches: list[int] = []

    def known(self, experiments: Sequence[Experiment]) -> Mapping[Experiment, Measured]:
        return {e: self.kept[e] for e in experiments if e in self.kept}

    def remember(self, results: Sequence[Measured]) -> None:
        self.batches.append(len(results))
        for result in results:
            self.kept.setdefault(result.experiment, result)


def simulated(seed: int = 7) -> SimulatedProcessor:
    return SimulatedProcessor(MAPPING, noise=0.05, outlier_share=0.3, outlier_factor=3.0, seed=seed)


def recorded(seed: int = 7) -> RecordedMeasurer:
    return RecordedMeasurer(simulated(seed).measure(ASKED))


def remote(seed: int = 7) -> RemoteMeasurer:
    harness = SimulatedHarness(
        MAPPING, noise=0.05, outlier_share=0.3, outlier_factor=3.0, seed=seed, contended_share=0.3
    )
    identity = {"kind": "machine", "machine": f"simulated {seed}"}
    return RemoteMeasurer(MemoryBoard(harness), identity, None, Settings(), True, assemble=dummy_code)


MAKERS = {
    "recorded": recorded,
    "simulated": simulated,
    "remote": remote,
    "cached recorded": lambda seed=7: StoreBackedMeasurer(recorded(seed), MemoryStore()),
    "cached remote": lambda seed=7: StoreBackedMeasurer(remote(seed), MemoryStore()),
    "cached simulated": lambda seed=7: StoreBackedMeasurer(simulated(seed), MemoryStore()),
}


@pytest.fixture(params=sorted(MAKERS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def measurer(kind: str) -> Measurer:
    return MAKERS[kind]()


def test_there_is_one_result_per_experiment_in_the_order_asked(measurer: Measurer) -> None:
    asked = (*ASKED[::-1], ASKED[0], ASKED[0])
    assert [result.experiment for result in measurer.measure(asked)] == list(asked)


def test_settled_results_carry_positive_cycles(measurer: Measurer) -> None:
    for result in measurer.measure(ASKED):
        assert result.state is MeasurementState.SETTLED
        assert result.cycles is not None
        assert result.cycles > 0


def test_answers_depend_neither_on_order_nor_on_company(kind: str) -> None:
    together = {r.experiment: r.cycles for r in MAKERS[kind]().measure(ASKED)}
    backwards = {r.experiment: r.cycles for r in MAKERS[kind]().measure(ASKED[::-1])}
    alone = {e: next(iter(MAKERS[kind]().measure([e]))).cycles for e in ASKED}
    assert together == backwards == alone


def test_asking_again_gives_the_same_answer(measurer: Measurer) -> None:
    assert list(measurer.measure(ASKED)) == list(measurer.measure(ASKED))


def test_an_experiment_that_cannot_be_measured_is_a_failure_that_says_why(measurer: Measurer) -> None:
    first, failure, last = measurer.measure([ASKED[0], STRANGER, ASKED[1]])
    assert first.usable
    assert last.usable
    assert failure.experiment == STRANGER
    assert failure.state is MeasurementState.FAILED
    assert failure.cycles is None
    assert failure.note


def test_nothing_asked_is_nothing_measured(measurer: Measurer) -> None:
    assert list(measurer.measure([])) == []


def test_experiments_may_come_from_an_iterator(measurer: Measurer) -> None:
    assert [r.experiment for r in measurer.measure(iter(ASKED))] == list(ASKED)


def test_the_identity_is_json_and_stays_the_same(kind: str) -> None:
    identity = MAKERS[kind]().identity
    assert json.loads(json.dumps(identity)) == identity
    assert identity == MAKERS[kind]().identity


def test_other_answers_have_another_identity(kind: str) -> None:
    assert MAKERS[kind](7).identity != MAKERS[kind](8).identity


def test_what_is_offered_can_be_measured(measurer: Measurer) -> None:
    offers = measurer.offers()
    assert offers is None or set(offers) == set(ASKED)
    for result in measurer.measure(offers or ASKED):
        assert result.usable
