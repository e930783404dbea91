"""A simulated core that wastes what it executes the harness's code on: its waste makes no µops."""

from __future__ import annotations

import pytest

from inference.core.core_model import CoreModel, FrontEndLimits
from inference.core.core_model.scheduled_times import ScheduledTimes
from inference.core.mapping import PortMapping
from inference.core.pmevo import PMEvoProblem, PMEvoResult, PMEvoSettings, infer
from inference.core.simulation.program import SchedulerPolicy, SharedResultBus
from inference.isa.domains import single_domains
from inference.isa.x86.bodies import body_accesses, loop_body
from inference.isa.x86.scheme_set import scheme_and_form
from inference.measuring.simulated import ScheduledCore, SimulatedProcessor
from tests.core.pmevo.small import Listener

SETTINGS = PMEvoSettings(starts=1, rounds=1, sweeps=1, perturbations=10, learnt_mixes=6)
WIDTH = 8
ANY, LOW, HIGH, LOADS = 0b00111111, 0b00000111, 0b00111000, 0b11000000
UNITS = {
    ANY: ("add GPR[64]:RW, GPR[64]:R", "sub GPR[64]:RW, GPR[64]:R", "cmp GPR[64]:R, GPR[64]:R",
          "test GPR[64]:R, GPR[64]:R", "andn GPR[64]:W, GPR[64]:R, GPR[64]:R"),
    LOW: ("imul GPR[64]:RW, GPR[64]:R", "imul GPR[32]:W, GPR[32]:R, IMM[32]:R"),
    HIGH: ("shlx GPR[64]:W, GPR[64]:R, GPR[64]:R", "bt GPR[64]:R, GPR[64]:R"),
    LOADS: ("mov GPR[64]:W, MEM[64]:R",),
}  # fmt: skip
PORTS = PortMapping(
    tuple("01234567"),
    {scheme: ((mask, 1),) for mask, schemes in UNITS.items() for scheme in schemes},
    issue_width=WIDTH,
)
LATENCIES = {
    scheme: {
        (source, target): 3.0 if scheme.startswith("imul") else 1.0
        for source in ("1", "2", "3")
        for target in ("1", "flags")
    }
    for scheme in PORTS.usage
}
MODEL = CoreModel(PORTS, LATENCIES, front_end=FrontEndLimits(slots=float(WIDTH)))
POLICY = SchedulerPolicy(
    load_age=1,
    load_step=2,
    queue=8,
    writeback_conflicts=True,
    speculative_select=True,
    shared_buses=(SharedResultBus(LOW, HIGH),),
)
CORE = ScheduledCore(MODEL, POLICY, WIDTH, lambda mix: body_accesses(mix.terms), LOADS)


def found(core: ScheduledTimes | None) -> PMEvoResult:
    schemes = tuple(PORTS.usage)
    measurer = SimulatedProcessor(PORTS, noise=0.005, core=CORE)
    return infer(
        PMEvoProblem(schemes, SETTINGS, domains=single_domains(schemes), core=core),
        measurer,
        Listener(),
        seed=1,
    )


def units(of: PMEvoResult) -> dict[str, list[int]]:
    """Of every µop of each scheme, on how many ports it is executed."""
    return {
        scheme: [mask.bit_count() for mask, count in uops for _ in range(count)]
        for scheme, uops in of.mapping.usage.items()
    }


TRUTH = {scheme: [mask.bit_count()] for scheme, ((mask, _),) in PORTS.usage.items()}


@pytest.fixture(scope="module")
def schemes_of_core() -> ScheduledTimes:
    schemes = [known[0] for text in PORTS.usage if (known := scheme_and_form(text)) is not None]
    blank = CoreModel(None, LATENCIES, front_end=MODEL.front_end)
    return ScheduledTimes(blank, schemes, lambda mix: loop_body(mix.terms))


def test_every_operation_has_one_uop_of_its_unit(schemes_of_core: ScheduledTimes) -> None:
    result = found(schemes_of_core)
    assert result.simulated is not None
    assert units(result) == TRUTH
    assert len(result.mapping.ports) == len(PORTS.ports)
    assert result.mapping.issue_width == WIDTH


def test_what_is_not_known_of_a_core_makes_uops() -> None:
    assert units(found(None)) != TRUTH
