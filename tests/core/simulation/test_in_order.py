"""The simulated core that issues in program order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from inference.core.errors import InvalidInputError
from inference.core.simulation.program import (
    Binding,
    IssueOrder,
    SchedulerPolicy,
    SimulatedProgram,
    SimulatedUop,
    Wait,
)
from inference.core.simulation.steady_state import simulate
from tests.core.simulation.test_scheduler import programs
from tests.drawn import examples

ALU, MULTIPLIER = 0b011, 0b100
SLOW = SimulatedUop(MULTIPLIER, 0, latency=3)
IN_ORDER = IssueOrder(in_order=True).policy
COMPLETING = IssueOrder(in_order=True, completes_in_order=True).policy
PAIRS = 4


def quick(instruction: int, *waits: Wait) -> SimulatedUop:
    return SimulatedUop(ALU, instruction, waits=waits)


EARLY = [
    uop
    for k in range(PAIRS)
    for uop in (replace(SLOW, instruction=2 * k), quick(2 * k + 1, Wait(2 * k, 0, 3)))
]
LATE = [
    *(replace(SLOW, instruction=k) for k in range(PAIRS)),
    *(quick(PAIRS + k, Wait(k, 0, 3)) for k in range(PAIRS)),
]
INDEPENDENT = [SLOW, *map(quick, range(1, 7))]


def cycles(uops: list[SimulatedUop], policy: SchedulerPolicy, width: int = 2) -> float:
    return simulate(SimulatedProgram(tuple(uops), 3, width), policy).cycles


@pytest.mark.parametrize(
    ("uops", "in_order", "completing", "out_of_order"),
    [
        (EARLY, 12.0, 12.0, 4.0),  # each addition holds up the next multiplication
        (LATE, 6.0, 7.0, 4.0),
        (INDEPENDENT, 3.5, 5.0, 3.5),  # additions may return before the multiplication, or not
    ],
)
def test_the_order_of_the_same_uops_matters(
    uops: list[SimulatedUop], in_order: float, completing: float, out_of_order: float
) -> None:
    for policy, expected in (
        (IN_ORDER, in_order),
        (COMPLETING, completing),
        (SchedulerPolicy(Binding.AT_ISSUE), out_of_order),
    ):
        assert cycles(uops, policy) == pytest.approx(expected, rel=0.01)


@given(program=programs())
@examples(60)
def test_no_uop_issues_before_an_older_one(program: SimulatedProgram) -> None:
    for policy in (IN_ORDER, COMPLETING):
        issued = simulate(program, policy).issued.ravel()
        assert (np.diff(issued) >= 0).all()


@given(program=programs())
@examples(60)
def test_issuing_in_order_is_no_quicker_than_an_ideal_scheduler(program: SimulatedProgram) -> None:
    in_order, completing = simulate(program, IN_ORDER).cycles, simulate(program, COMPLETING).cycles
    waits = sum(wait.cycles for uop in program.uops for wait in uop.waits)
    assert in_order <= completing + 0.2
    slots = -(-sum(uop.slots for uop in program.uops) // program.width)
    assert in_order <= waits + sum(max(1, uop.busy) for uop in program.uops) + slots + 0.2
    if all(uop.ports.bit_count() in (0, 1) for uop in program.uops):  # nothing to choose wrongly
        assert in_order >= simulate(program, SchedulerPolicy(Binding.AT_ISSUE)).cycles - 0.2


def test_stages_bring_schemes_nearer_that_both_have_one() -> None:
    issue = IssueOrder(True, stages={"add": 2, "mul": 1})
    assert issue.apart("mul", "add", 3) == 2
    assert issue.apart("add", "mul", 1) == 2
    assert issue.apart("add", "add", 1) == 1
    assert issue.apart("load", "add", 3) == 3  # arrives when the addition issues
    assert issue.apart(None, "add", 1) == 1


def test_only_cores_in_order_complete_in_order() -> None:
    with pytest.raises(InvalidInputError, match="issue in order"):
        SchedulerPolicy(completes_in_order=True)
    with pytest.raises(InvalidInputError, match="speculative_select"):
        SchedulerPolicy(Binding.IN_ORDER, speculative_select=True)
