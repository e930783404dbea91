"""A core's scheduler from measured loop bodies and the core's other known properties."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from inference.core.core_model.bounds import predict_core
from inference.core.core_model.model import CoreModel, CoreScheduler
from inference.core.core_model.prediction import CodeShape, shape_of
from inference.core.core_model.scheduler_experiments import OperationKind
from inference.core.core_model.simulated_program import dispatch_width, program_of
from inference.core.experiment import Experiment
from inference.core.simulation.inferring import (
    MIN_BODIES,
    CodeScores,
    PolicyFit,
    ScheduledExperiment,
    SchedulerFinding,
    candidates_of_shared_buses,
    infer_scheduler,
    is_explained,
    judging_mask,
)
from inference.core.simulation.program import SchedulerPolicy
from inference.core.simulation.steady_state import simulate
from inference.isa.blocks import Block, accesses_of
from inference.isa.dependences import InstructionAccesses

MIN_EXPERIMENTS = 12
"""Fewer experiments and blocks leave a search more parameters than measurements."""
MIN_BLOCKS = 12
"""Smallest number of blocks; half of them judge, and of fewer, chance decides."""
_COPIES = CodeShape(0, loop=False, copied=True)
"""Loop bodies of experiments, which are dispatched slot by slot, independent of their bytes."""


@dataclass(frozen=True)
class MeasuredBody:
    """A measured loop body.

    Args:
        experiment: The experiment that it has `copies` of.
        instructions: All of it, in order.
        copies: Copies of the experiment.
        cycles: Per execution of the experiment.
        group: See `ScheduledExperiment`.
    """

    experiment: Experiment
    instructions: Sequence[InstructionAccesses]
    copies: int
    cycles: float
    group: str


@dataclass(frozen=True)
class MeasuredBlock:
    """Straight code with dependences, and the cycles per iteration of its copies in a loop, one for each
    measurement.
    """

    block: Block
    readings: Sequence[float]


@dataclass(frozen=True, slots=True)
class ExplainedBlock:
    """Cycles per iteration of a block, as measured, `without` a scheduler, and with the best policy.

    `judges`: whether it had no part in the choice of the policy.
    """

    block: Block
    measured: float
    without: float
    simulated: float | None
    judges: bool


@dataclass(frozen=True, slots=True)
class ExplainedExperiment:
    """Cycles per execution of an experiment, as measured, `without` a scheduler, and with the best policy.

    `judges`: whether it had no part in the choice of the policy.
    """

    experiment: Experiment
    measured: float
    without: float
    simulated: float | None
    judges: bool


@dataclass(frozen=True)
class CoreSchedulerFinding:
    """The result of inferring a core's scheduler.

    Args:
        scheduler: None where none is known, for a `reason`.
        reason: A sentence; "" with a scheduler.
        error: Mean relative error with the scheduler, on the experiments that judge; None where nothing was
            compared.
        error_without: The same of ports and slots alone.
        alternatives: Schedulers that fit as well, with their errors.
        experiments: Experiments that the result rests on.
        tried: Number of policies that were simulated.
        finished: Whether the search ended by itself.
        blocks: The code with dependences that the result rests on; none where there was too little.
        code: Errors of the best policy on those blocks that judge.
    """

    scheduler: CoreScheduler | None
    reason: str
    error: float | None = None
    error_without: float | None = None
    alternatives: tuple[tuple[CoreScheduler, float], ...] = ()
    experiments: tuple[ExplainedExperiment, ...] = ()
    tried: int = 0
    finished: bool = True
    blocks: tuple[ExplainedBlock, ...] = ()
    code: CodeScores | None = None


def infer_core_scheduler(
    model: CoreModel,
    bodies: Sequence[MeasuredBody],
    kinds: Mapping[str, OperationKind],
    pulse: Callable[[], bool],
    progress: Callable[[int, float], None] = lambda tried, error: None,
    seed: int = 0,
    blocks: Sequence[MeasuredBlock] = (),
    likely: Iterable[SchedulerPolicy] = (),
) -> CoreSchedulerFinding:
    """Search for the policy with which simulated bodies take as long as measured ones.

    Args:
        model: The known properties of the core; its own scheduler is ignored.
        bodies: Experiments of `kinds`.
        kinds: {scheme: its kind}.
        pulse: See `infer_scheduler`.
        progress: See `infer_scheduler`.
        seed: See `infer_scheduler`.
        blocks: Code of `kinds` with dependences. Fewer than `MIN_BLOCKS` are ignored.
        likely: See `infer_scheduler`; a policy with buses of other ports is left out.
    """
    width = dispatch_width(model)
    if width is None:
        return CoreSchedulerFinding(None, "the dispatch width is unknown: measure the front end")
    judged = blocks if len(blocks) >= MIN_BLOCKS else ()
    if len(bodies) < MIN_BODIES or len(bodies) + len(judged) < MIN_EXPERIMENTS:
        least = MIN_BODIES if judged else MIN_EXPERIMENTS
        reason = (
            f"{len(bodies)} experiments of operations with one µop were measured; it takes {least} or more"
        )
        return CoreSchedulerFinding(None, reason)
    plain = replace(model, scheduler=None)
    ports = 0
    for kind in kinds.values():
        ports |= kind.ports
    experiments = [_scheduled_experiment(body, plain, width) for body in bodies]
    code = [_scheduled_block(block, plain, width, ports) for block in judged]
    buses = candidates_of_shared_buses((kind.ports, kind.latency) for kind in kinds.values())
    possible = [policy for policy in likely if set(buses).issuperset(policy.shared_buses)]
    search = infer_scheduler(experiments, pulse, seed, buses, progress, code, possible)
    finding = _to_finding(search, bodies, experiments, width, ports, seed)
    return replace(finding, blocks=_explained_blocks(search, judged, code, seed), code=search.code)


def _scheduled_experiment(body: MeasuredBody, model: CoreModel, width: int) -> ScheduledExperiment:
    bound = predict_core(body.instructions, _COPIES, model).cycles
    program = program_of(body.instructions, model, width)
    return ScheduledExperiment(program, body.cycles * body.copies, bound, body.group)


def _scheduled_block(
    measured: MeasuredBlock, model: CoreModel, width: int, ports: int
) -> ScheduledExperiment:
    accesses, shape = accesses_of(measured.block, equal_start=True), shape_of(measured.block, in_loop=True)
    bound = predict_core(accesses, shape, model).cycles
    program = program_of(accesses, model, width, simulated_ports=ports, copies=shape.copies)
    cycles = median(measured.readings)
    return ScheduledExperiment(program, cycles, bound, floor=bound, longest=max(measured.readings))


def _explained_blocks(
    fits: SchedulerFinding, blocks: Sequence[MeasuredBlock], code: Sequence[ScheduledExperiment], seed: int
) -> tuple[ExplainedBlock, ...]:
    policy = None if fits.closest is None else fits.closest.policy
    return tuple(
        ExplainedBlock(
            block.block,
            loop.measured,
            loop.bound,
            None if policy is None else loop.predicted(policy, seed),
            judges,
        )
        for block, loop, judges in zip(blocks, code, judging_mask([loop.group for loop in code]), strict=True)
    )


def _to_finding(
    search: SchedulerFinding,
    bodies: Sequence[MeasuredBody],
    experiments: Sequence[ScheduledExperiment],
    width: int,
    ports: int,
    seed: int,
) -> CoreSchedulerFinding:
    def scheduler_of(fit: PolicyFit) -> CoreScheduler:
        return CoreScheduler(fit.policy, width, ports)

    explained = [
        ExplainedExperiment(
            body.experiment,
            body.cycles,
            experiment.bound / body.copies,
            None
            if search.best is None
            else simulate(experiment.program, search.best.policy, seed).cycles / body.copies,
            judges,
        )
        for body, experiment, judges in zip(
            bodies, experiments, judging_mask([body.group for body in bodies]), strict=True
        )
    ]
    return CoreSchedulerFinding(
        None if search.best is None else scheduler_of(search.best),
        "" if search.best is not None else _reason(search),
        None if search.closest is None else search.closest.judged,
        search.without,
        tuple((scheduler_of(fit), fit.judged) for fit in search.alternatives),
        tuple(explained),
        search.tried,
        search.finished,
    )


def _reason(search: SchedulerFinding) -> str:
    if search.closest is None:
        return "the time limit was reached before the first policy was simulated"
    errors = (
        f"mean error on experiments {search.without:.1%} without a scheduler, "
        f"{search.closest.judged:.1%} with the best of {search.tried}"
    )
    if search.code is not None:
        code = search.code
        errors += (
            f"; on blocks with dependences {code.error_without:.1%} without and {code.error:.1%} with it, "
            f"where {code.overstated:.0%} instead of {code.overstated_without:.0%} of the blocks are "
            "overestimated"
        )
    if is_explained(search.closest.judged, search.without):
        return f"the best scheduler fails on blocks with dependences: {errors}"
    return f"no scheduler explains clearly more than ports and slots alone: {errors}"
