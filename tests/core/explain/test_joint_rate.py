"""The bottleneck is measured again where all ports are in use."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inference.core.blocking_by_cegar import solve_by_cegar
from inference.core.bottleneck import Bottleneck
from inference.core.explain import ExplainProblem, ExplainResult, ExplainSettings, infer
from inference.core.mapping import PortMapping
from inference.measuring.simulated import NOTHING, SimulatedProcessor
from tests.core.explain.small import mapping_of
from tests.core.pmevo.small import Listener

CORE = mapping_of(
    "01234567",
    {
        **dict.fromkeys(("neg", "add"), "01"),
        **dict.fromkeys(("load", "loadx"), "67"),
        **dict.fromkeys(("vpor", "vpand"), "2345"),
        "vpor m": "2345 67",
    },
)


def explained(core: PortMapping) -> ExplainResult:
    problem = ExplainProblem(tuple(core.usage), ExplainSettings())
    measurer = SimulatedProcessor(core, counters=NOTHING)
    return infer(problem, measurer, Listener(), 1, None, solve_by_cegar)


@pytest.mark.parametrize("at_first", [None, 6.0])
def test_slots_are_those_that_pass_with_all_ports_in_use(
    monkeypatch: pytest.MonkeyPatch, at_first: float | None
) -> None:
    """`vpor m` has two µops, which makes six at first; noise makes seven look like all that ports allow."""
    found = Bottleneck(at_first, None, highest=at_first or 7.0)
    monkeypatch.setattr("inference.core.explain.algorithm.measure_bottleneck", lambda *_: found)
    result = explained(replace(CORE, issue_width=7.0))
    assert result.r_max == 7.0
    assert result.mapping.r_max == 7.0


def test_ports_that_can_all_be_used_at_once_are_no_bottleneck() -> None:
    assert explained(CORE).r_max is None
