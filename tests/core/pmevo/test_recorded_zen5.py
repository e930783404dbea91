"""A recorded Zen 5, which takes up to 45 % longer than its ports allow: that makes no µops."""

from __future__ import annotations

import pytest

from benchmarks.starter_ports import DOCUMENTED, recorded
from inference.core.experiment import Measured
from inference.core.pmevo import PMEvoProblem, PMEvoResult, PMEvoSettings, infer
from inference.isa.domains import single_domains
from inference.measuring.recorded import RecordedMeasurer
from tests.core.pmevo.small import Listener

pytestmark = pytest.mark.shared
SCHEMES = (
    *DOCUMENTED,
    "sub GPR[64]:RW, GPR[64]:R",
    "bt GPR[64]:R, GPR[64]:R",
    "shlx GPR[64]:W, GPR[64]:R, GPR[64]:R",
    "sar GPR[64]:RW, 0x1",
    "pdep GPR[64]:W, GPR[64]:R, GPR[64]:R",
    "neg GPR[64]:RW",
)
"""Whatever has one µop on as many ports as is documented, and a few more of the same units."""


@pytest.fixture(scope="module")
def found() -> PMEvoResult:
    times, source = recorded()
    measured = [
        Measured(experiment, cycles)
        for experiment, cycles in times.items()
        if set(experiment.schemes) <= set(SCHEMES)
    ]
    quick = PMEvoSettings(starts=1, sweeps=1, perturbations=10)
    problem = PMEvoProblem(SCHEMES, quick, domains=single_domains(SCHEMES), core=source)
    return infer(problem, RecordedMeasurer(measured), Listener(), seed=0)


def test_each_operation_has_one_uop_on_as_many_ports_as_are_documented(found: PMEvoResult) -> None:
    units = {
        scheme: [mask.bit_count() for mask, count in found.mapping.usage[scheme] for _ in range(count)]
        for scheme in DOCUMENTED
    }
    assert units == {scheme: [ports] for scheme, ports in DOCUMENTED.items()}


def test_a_scheduler_explains_what_the_ports_do_not(found: PMEvoResult) -> None:
    assert found.scheduled_error is not None
    assert found.unscheduled_error is not None
    assert found.scheduled_error < 0.05
    assert found.scheduled_error < found.unscheduled_error
