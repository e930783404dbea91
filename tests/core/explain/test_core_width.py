"""The slots of a core as its bottleneck, where schedulers waste too much to see one in the ports."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations_with_replacement

import pytest

from benchmarks._drawn_cores import drawn_core
from inference.core.blocking_by_cegar import solve_by_cegar
from inference.core.bottleneck import width_if_reached
from inference.core.experiment import Experiment
from inference.core.explain import ExplainProblem, ExplainSettings, infer
from inference.core.throughput import inverse_throughput
from inference.isa.domains import domains_of
from tests.core.pmevo.small import Listener

SCHEMES = (
    "neg GPR[64]:RW",
    "sub GPR[64]:RW, GPR[64]:R",
    "test GPR[64]:R, GPR[64]:R",
    "popcnt GPR[64]:W, GPR[64]:R",
    "pdep GPR[64]:W, GPR[64]:R, GPR[64]:R",
    "lzcnt GPR[64]:W, GPR[64]:R",
    "vaddss XMM:W, XMM:R, XMM:R",
    "vpand YMM:W, YMM:R, YMM:R",
    "vpminsd YMM:W, YMM:R, YMM:R",
    "mov GPR[64]:W, MEM[64]:R",
    "mov GPR[32]:W, MEM[32]:R",
    "mov MEM[64]:W, GPR[64]:R",
    "mov MEM[32]:W, GPR[32]:R",
    "movzx GPR[32]:W, MEM[8]:R",
    "vmovaps YMM:W, MEM[256]:R",
    "mov MEM[64]:W, IMM[32]:R",
    "mov MEM[32]:W, IMM[32]:R",
)


def test_kinds_that_fill_all_slots_are_not_taken_for_kinds_that_share_ports() -> None:
    core = drawn_core(13)  # five slots; ALUs beside loads or stores would need six
    problem = ExplainProblem(SCHEMES, ExplainSettings(), domains=domains_of(SCHEMES), core=core.facts())
    result = infer(problem, core.processor(), Listener(), 1, None, solve_by_cegar)
    assert result.mapping.r_max == 5.0
    assert set(result.mapping.usage) == set(SCHEMES)
    assert not any("take longer beside kinds of all domains" in text for text in result.warnings)
    truth = replace(core.truth, slots={})
    for mix in map(Experiment.of, combinations_with_replacement(SCHEMES, 3)):
        assert inverse_throughput(result.mapping, mix) == inverse_throughput(truth, mix)


@pytest.mark.parametrize(
    ("highest", "width", "rate"), [(4.97, 5, 5.0), (4.8, 5, None), (6.0, 5, None), (5.0, None, None)]
)
def test_slots_that_no_mix_reaches_or_some_exceeds_are_no_bottleneck(
    highest: float, width: int | None, rate: float | None
) -> None:
    assert width_if_reached(highest, width) == rate
