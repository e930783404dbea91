"""The scheduler of a core is found from a few experiments of its own, and only where there is one to find."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from statistics import fmean

import pytest

from inference.core.core_model import CodeShape, CoreModel, FrontEndLimits, predict_core
from inference.core.core_model.scheduler_experiments import (
    MAX_EXPERIMENTS,
    OperandRole,
    OperationKind,
    operation_kinds,
    scheduler_experiments,
    usable_experiments,
)
from inference.core.core_model.scheduler_inference import MeasuredBody, infer_core_scheduler
from inference.core.core_model.simulated_program import dispatch_width
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.isa.scheme import Scheme
from inference.isa.x86.bodies import body_accesses
from inference.isa.x86.scheme_set import scheme_and_form
from inference.measuring.simulated import ScheduledCore, SimulatedProcessor
from tests.measuring.test_scheduled_core import ADD, ANY, COMPARE, DEPOSIT, HIGH, LOW, MULTIPLY, POLICY, SHIFT

SUBTRACT, AND_NOT = "sub GPR[64]:RW, GPR[64]:R", "andn GPR[64]:W, GPR[64]:R, GPR[64]:R"
LOAD, LOADED = "mov GPR[64]:W, MEM[64]:R", "add GPR[64]:RW, MEM[64]:R"
CARRY, MOVE = "adc GPR[64]:RW, GPR[64]:R", "mov GPR[64]:W, GPR[64]:R"
PORTS = PortMapping(
    tuple("0123456"),
    {
        **dict.fromkeys((ADD, SUBTRACT, AND_NOT, COMPARE, CARRY, MOVE), ((ANY, 1),)),
        MULTIPLY: ((LOW, 1),),
        SHIFT: ((HIGH, 1),),
        DEPOSIT: ((HIGH, 1),),
        LOAD: ((1 << 6, 1),),
        LOADED: ((ANY, 1), (1 << 6, 1)),
    },
    issue_width=8,
)
CYCLES = dict.fromkeys((ADD, SUBTRACT, AND_NOT, SHIFT, CARRY, MOVE, LOADED), 1.0) | {
    MULTIPLY: 3.0,
    DEPOSIT: 3.0,
}
LATENCIES = {
    **{
        scheme: dict.fromkeys((("1", "1"), ("2", "1"), ("3", "1")), cycles)
        for scheme, cycles in CYCLES.items()
    },
    COMPARE: {("1", "flags"): 1.0, ("2", "flags"): 1.0},
}
MODEL = CoreModel(PORTS, LATENCIES, moves=frozenset({MOVE}), front_end=FrontEndLimits(slots=7.1, nops=7.99))


def schemes(*texts: str) -> list[Scheme]:
    return [found[0] for text in texts if (found := scheme_and_form(text)) is not None]


KINDS = operation_kinds(MODEL, schemes(*PORTS.usage))


def measured(experiments: Sequence[Experiment], core: ScheduledCore | None) -> dict[Experiment, float]:
    results = SimulatedProcessor(PORTS, core=core, noise=0.005).measure(experiments)
    return {result.experiment: result.cycles for result in results if result.cycles is not None}


CORE = ScheduledCore(MODEL, POLICY, 8, lambda experiment: body_accesses(experiment.terms), 1 << 6)


@cache
def measured_bodies(*, wastes: bool) -> list[MeasuredBody]:
    chosen = scheduler_experiments(KINDS)
    cycles = measured([one.experiment for one in chosen], CORE if wastes else None)
    return [
        MeasuredBody(one.experiment, *body_accesses(one.experiment.terms), cycles[one.experiment], one.group)
        for one in chosen
    ]


def few_policies(number: int = 30) -> Callable[[], bool]:
    """A sixth of a search suffices to tell waste."""
    left = iter([True] * number)
    return lambda: next(left, False)


def test_it_predicts_mixes_that_it_never_saw() -> None:
    found = infer_core_scheduler(MODEL, measured_bodies(wastes=True), KINDS, lambda: True, seed=2)
    assert found.finished
    assert found.scheduler is not None
    assert (found.scheduler.width, found.scheduler.ports) == (8, ANY)
    assert found.error is not None
    assert found.error < 0.02 < 0.08 < (found.error_without or 0)
    assert sum(one.judges for one in found.experiments) > 20
    assert all(one.simulated for one in found.experiments)
    draw = random.Random(1)
    mixes = [Experiment.of(draw.choices(sorted(KINDS), k=5)) for _ in range(60)]
    model = replace(MODEL, scheduler=found.scheduler)

    def error(of: CoreModel) -> float:
        errors = []
        for experiment, cycles in measured(mixes, CORE).items():
            instructions, copies = body_accesses(experiment.terms)
            shape = CodeShape(4 * len(instructions), loop=False, copied=True)
            errors.append(abs(predict_core(instructions, shape, of).cycles / copies / cycles - 1))
        return fmean(errors)

    assert error(model) <= 0.04 < error(MODEL)


def test_a_core_that_wastes_nothing_has_none() -> None:
    found = infer_core_scheduler(MODEL, measured_bodies(wastes=False), KINDS, few_policies(), seed=2)
    assert found.scheduler is None
    assert found.alternatives == ()
    assert "ports and slots" in found.reason
    assert {one.simulated for one in found.experiments} == {None}


def test_without_a_width_or_with_few_experiments_it_is_said_what_is_missing() -> None:
    unknown = replace(MODEL, front_end=None, mapping=replace(PORTS, issue_width=None))
    found = infer_core_scheduler(unknown, [], KINDS, lambda: True)
    assert "measure the front end" in found.reason
    found = infer_core_scheduler(MODEL, [], KINDS, lambda: True)
    assert found.reason.startswith("0 experiments")


@pytest.mark.parametrize(
    ("front_end", "width"),
    [
        (FrontEndLimits(slots=7.1, nops=7.99), 8),
        (FrontEndLimits(slots=6.0, nops=11.8), 6),  # NOPs in pairs
        (FrontEndLimits(), 8),
        (None, 8),
    ],
)
def test_the_width_is_what_the_front_end_was_seen_to_hand_over(
    front_end: FrontEndLimits | None, width: int
) -> None:
    assert dispatch_width(replace(MODEL, front_end=front_end)) == width


def test_operations_are_told_apart_by_ports_latency_and_operands() -> None:
    assert {
        ADD: OperationKind(ANY, 1, OperandRole.UPDATES),
        SUBTRACT: OperationKind(ANY, 1, OperandRole.UPDATES),
        AND_NOT: OperationKind(ANY, 1, OperandRole.WRITES),
        COMPARE: OperationKind(ANY, 1, OperandRole.READS),
        MULTIPLY: OperationKind(LOW, 3, OperandRole.UPDATES),
        SHIFT: OperationKind(HIGH, 1, OperandRole.WRITES),
        DEPOSIT: OperationKind(HIGH, 3, OperandRole.WRITES),
    } == KINDS


def test_the_experiments_have_every_kind_alone_and_every_two_beside_each_other() -> None:
    chosen = [one.experiment for one in scheduler_experiments(KINDS)]
    assert len(chosen) <= MAX_EXPERIMENTS
    assert len(set(chosen)) == len(chosen)
    for scheme in KINDS:
        assert Experiment.of([scheme]) in chosen
    assert Experiment.of([MULTIPLY, SHIFT]) in chosen
    assert Experiment.of({AND_NOT: 6, SHIFT: 3}) in chosen


def test_experiments_that_were_measured_for_something_else_serve_as_well() -> None:
    others = [Experiment.of([ADD, LOAD]), Experiment.of([ADD] * 20)]
    alike = [Experiment.of([ADD, MULTIPLY]), Experiment.of([SUBTRACT, MULTIPLY]), Experiment.of([SHIFT])]
    usable = usable_experiments([*others, *alike], KINDS)
    assert {one.experiment for one in usable} == set(alike)
    groups = {one.experiment: one.group for one in usable}
    assert groups[alike[0]] == groups[alike[1]] != groups[alike[2]]
