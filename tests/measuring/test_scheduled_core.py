"""A simulated core that wastes as a Zen 5 does, on the code that the harness makes."""

from __future__ import annotations

import pytest

from inference.core.core_model.model import CoreModel
from inference.core.experiment import Experiment, MeasurementState
from inference.core.mapping import PortMapping
from inference.core.simulation.program import SchedulerPolicy, SharedResultBus
from inference.isa.x86.bodies import body_accesses
from inference.measuring.simulated import ScheduledCore, SimulatedProcessor

ADD, COMPARE = "add GPR[64]:RW, GPR[64]:R", "cmp GPR[64]:R, GPR[64]:R"
MULTIPLY, SHIFT = "imul GPR[64]:RW, GPR[64]:R", "shlx GPR[64]:W, GPR[64]:R, GPR[64]:R"
DEPOSIT = "pdep GPR[64]:W, GPR[64]:R, GPR[64]:R"
ANY, LOW, HIGH = 0b111111, 0b000111, 0b111000
MAPPING = PortMapping(
    tuple("012345"),
    {
        ADD: ((ANY, 1),),
        COMPARE: ((ANY, 1),),
        MULTIPLY: ((LOW, 1),),
        SHIFT: ((HIGH, 1),),
        DEPOSIT: ((HIGH, 1),),
    },
    issue_width=8,
)
LATENCIES = {
    scheme: {("1", "1"): float(cycles), ("2", "1"): float(cycles), ("3", "1"): float(cycles)}
    for scheme, cycles in {ADD: 1, MULTIPLY: 3, SHIFT: 1, DEPOSIT: 3}.items()
}
POLICY = SchedulerPolicy(
    load_age=2,
    load_step=3,
    queue=6,
    queued=88,
    writeback_conflicts=True,
    speculative_select=True,
    shared_buses=(SharedResultBus(LOW, HIGH),),
)


def body(experiment: Experiment):
    return body_accesses(experiment.terms)


CORE = ScheduledCore(CoreModel(MAPPING, LATENCIES), POLICY, 8, body)


def cycles(**counts: int) -> float:
    names = {"add": ADD, "cmp": COMPARE, "imul": MULTIPLY, "shlx": SHIFT, "pdep": DEPOSIT}
    processor = SimulatedProcessor(MAPPING, core=CORE)
    [measured] = processor.measure([Experiment.of({names[name]: count for name, count in counts.items()})])
    assert measured.cycles is not None
    return measured.cycles


@pytest.mark.parametrize(
    ("counts", "recorded"),
    [
        ({"cmp": 1}, 0.168),
        ({"add": 1}, 0.193),
        ({"imul": 1}, 0.335),
        ({"shlx": 1, "imul": 1}, 0.496),
        ({"pdep": 1, "shlx": 1}, 0.982),
        ({"add": 2, "imul": 1}, 0.713),
    ],
    ids=str,
)
def test_it_wastes_what_a_zen_5_was_seen_to_waste(counts: dict[str, int], recorded: float) -> None:
    assert cycles(**counts) == pytest.approx(recorded, rel=0.15)


def test_what_has_no_code_is_a_failed_measurement() -> None:
    mapping = PortMapping(("0",), {"frobnicate": ((1, 1),)})
    core = ScheduledCore(CoreModel(mapping), SchedulerPolicy(), 1, body)
    [measured] = SimulatedProcessor(mapping, core=core).measure([Experiment.of(["frobnicate"])])
    assert measured.state is MeasurementState.FAILED


def test_another_policy_is_another_processor() -> None:
    other = ScheduledCore(CORE.model, SchedulerPolicy(), 8, body)
    identities = [SimulatedProcessor(MAPPING, core=core).identity for core in (None, CORE, other)]
    assert len({str(identity) for identity in identities}) == 3
    assert "core" not in identities[0]
