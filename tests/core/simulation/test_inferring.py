"""A scheduler is found where it explains what was measured, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from inference.core.errors import InvalidInputError
from inference.core.simulation.inferring import (
    ScheduledExperiment,
    candidates_of_shared_buses,
    code_scores,
    infer_scheduler,
    is_explained,
)
from inference.core.simulation.program import (
    Binding,
    SchedulerPolicy,
    SharedResultBus,
    SimulatedProgram,
    SimulatedUop,
    Wait,
)
from inference.core.simulation.steady_state import simulate

ANY, MULTIPLY, SHIFT = 0b111111, 0b000111, 0b111000
WASTEFUL = SchedulerPolicy(load_age=1, load_step=2, queue=6, queued=48, writeback_conflicts=True)


def mix(*kinds: tuple[int, int, bool]) -> SimulatedProgram:
    """A body in which every kind (ports, latency, read and written) has a µop per turn."""
    uops: list[SimulatedUop] = []
    for turn in range(12 // len(kinds)):
        for ports, latency, is_chained in kinds:
            place = len(uops)
            waits = (Wait(place, 1, latency),) if is_chained else ()
            uops.append(SimulatedUop(ports, turn, latency=latency, waits=waits))
    return SimulatedProgram(tuple(uops), 6, 8)


PROGRAMS = [
    (mix((ANY, 1, True)), "chained", 1 / 6),
    (mix((ANY, 1, True), (ANY, 1, False)), "chained", 1 / 6),
    (mix((ANY, 1, False)), "free", 1 / 6),
    (mix((ANY, 1, False), (SHIFT, 1, False)), "free", 1 / 6),
    (mix((SHIFT, 3, False), (SHIFT, 1, False)), "conflicts", 1 / 3),
    (mix((SHIFT, 3, False), (SHIFT, 1, True)), "conflicts", 1 / 3),
    (mix((SHIFT, 1, True), (ANY, 1, True)), "mixed", 1 / 6),
    (mix((SHIFT, 1, True), (ANY, 1, True), (ANY, 1, True)), "mixed", 1 / 6),
]


def measured(policy: SchedulerPolicy | None) -> list[ScheduledExperiment]:
    """By a core with this policy, or by one that spreads its µops as it best could."""
    return [
        ScheduledExperiment(
            program,
            bound * len(program.uops) if policy is None else simulate(program, policy, seed=7).cycles,
            bound * len(program.uops),
            group,
        )
        for program, group, bound in PROGRAMS
    ]


def always() -> bool:
    return True


def test_a_policy_is_found_that_explains_what_was_held_back() -> None:
    finding = infer_scheduler(measured(WASTEFUL), always, seed=1)
    assert finding.finished
    assert finding.best is not None
    assert finding.best.judged < 0.03 < finding.without
    assert finding.best.policy.writeback_conflicts


def test_nothing_is_found_where_ports_and_slots_say_it_all() -> None:
    finding = infer_scheduler(measured(None), always, seed=1)
    assert finding.best is None
    assert finding.alternatives == ()


def test_a_search_that_has_to_stop_keeps_the_best_so_far() -> None:
    answers = iter([True] * 15)
    finding = infer_scheduler(measured(WASTEFUL), lambda: next(answers, False), seed=1)
    assert (finding.finished, finding.tried) == (False, 15)


def as_code(*experiments: ScheduledExperiment) -> list[ScheduledExperiment]:
    """As dependent code, of which every second one judges."""
    return [replace(one, group="", floor=one.bound) for one in experiments]


def test_dependent_code_that_a_policy_explains_confirms_it() -> None:
    finding = infer_scheduler(measured(WASTEFUL), always, seed=1, dependent_code=as_code(*measured(WASTEFUL)))
    assert finding.best is not None
    assert finding.code is not None
    assert finding.code.error < 0.03 < finding.code.error_without
    assert finding.code.overstated == 0


def test_a_policy_that_dependent_code_contradicts_is_none() -> None:
    # Half of the code chooses like the experiments do. The other half takes no longer than its bound.
    code = as_code(*(one for pair in zip(measured(WASTEFUL), measured(None), strict=True) for one in pair))
    finding = infer_scheduler(measured(WASTEFUL), always, seed=1, dependent_code=code)
    assert finding.closest is not None
    assert is_explained(finding.closest.judged, finding.without)
    assert finding.best is None
    assert finding.alternatives == ()
    assert finding.code is not None
    assert finding.code.overstates


def test_overstating_counts_from_the_longest_of_repeated_measurements_on() -> None:
    measured, longest = np.array([1.0, 1.0, 1.0, 1.0]), np.array([1.0, 1.0, 1.1, 1.0])
    scores = code_scores(measured, longest, np.array([0.9, 1.0, 1.0, 1.04]), np.array([1.02, 1.1, 1.1, 1.04]))
    assert (scores.overstated, scores.overstated_without) == (0.5, 0.25)
    assert scores.error == pytest.approx(0.065)
    assert scores.error_without == pytest.approx(0.035)
    assert scores.overstates
    assert not replace(scores, overstated=0.35).overstates


def test_equal_seeds_find_the_same() -> None:
    def some() -> Callable[[], bool]:
        answers = iter([True] * 30)
        return lambda: next(answers, False)

    first, again = (infer_scheduler(measured(WASTEFUL), some(), seed=3) for _ in range(2))
    assert first == again


def test_buses_may_be_shared_by_multiplications_with_disjoint_ports() -> None:
    kinds = [(ANY, 1), (SHIFT, 1), (SHIFT, 3), (MULTIPLY, 3)]
    assert candidates_of_shared_buses(kinds) == [SharedResultBus(MULTIPLY, SHIFT)]


@pytest.mark.parametrize("number", [0, 3])
def test_too_few_experiments_are_refused(number: int) -> None:
    experiments: Sequence[ScheduledExperiment] = measured(None)[:number]
    with pytest.raises(InvalidInputError, match="from 4 experiments or more"):
        infer_scheduler(experiments, always)


def test_of_policies_that_explain_as_much_the_plainest_is_chosen() -> None:
    plain = SchedulerPolicy(Binding.AT_ISSUE)
    chains = [mix((ANY, 1, True)), mix((SHIFT, 3, True)), mix((MULTIPLY, 3, False)), mix((ANY, 1, False))]
    experiments = [ScheduledExperiment(program, simulate(program, plain).cycles, 100.0) for program in chains]
    found = infer_scheduler(experiments, lambda: True)
    assert found.best is not None
    policy = found.best.policy
    assert policy.binding is Binding.AT_ISSUE
    plainest = replace(
        policy, load_age=0, writeback_conflicts=False, speculative_select=False, shared_buses=()
    )
    assert policy == plainest
