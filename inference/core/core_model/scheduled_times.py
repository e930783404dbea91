"""How long experiments take on a core whose ports are being searched for, from its other known properties.

Latencies, front end and the code of loop bodies bound an experiment on any ports. A scheduler gives the time
on the current ports: it is inferred under one mapping, and has its buses on the ports that the same
operations have under others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import hypot, inf
from typing import Protocol

from inference.core.core_model.bounds import predict_core
from inference.core.core_model.dependences import dependence_bounds
from inference.core.core_model.loop_code import code_bounds
from inference.core.core_model.model import CoreModel, CoreScheduler
from inference.core.core_model.prediction import BoundKind, CodeShape
from inference.core.core_model.scheduler_experiments import (
    OperationKind,
    operation_kinds,
    scheduler_experiments,
    usable_experiments,
)
from inference.core.core_model.scheduler_inference import MeasuredBody, infer_core_scheduler
from inference.core.core_model.simulated_program import dispatch_width
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.simulation.program import SchedulerPolicy, SharedResultBus
from inference.core.waste import SchedulerFit, Simulated
from inference.isa.dependences import InstructionAccesses
from inference.isa.machine_bodies import CannotMeasureError
from inference.isa.scheme import Scheme

_MAX_BODIES = 80
"""Loop bodies by which a scheduler is inferred for the current ports: half as many as for a final result."""
_COPIES = CodeShape(0, loop=False, copied=True)
_CHAINED_COPIES = replace(_COPIES, limiting=0.5)
"""Experiments wait in a dozen chains at once, which a scheduler delays where a chain takes longer than ports:
of 30 recorded ones on a Zen 5, chains alone explain all but 9.5 %, simulated all but 3.4 % of the time.
"""


class ExperimentBody(Protocol):
    @property
    def instructions(self) -> Sequence[InstructionAccesses]:
        """All instructions of the body, in order."""
        ...

    @property
    def copies(self) -> int: ...

    @property
    def size(self) -> int: ...


@dataclass
class ScheduledTimes:
    """A `WasteSource` of a core.

    Args:
        model: The known properties of the core. Its ports matter only for its scheduler, where it has one.
        schemes: Schemes of the experiments, as far as they are described.
        body_of: The loop body of an experiment. Raises `CannotMeasureError`.
        chained: Whether experiments are simulated too that chains through registers limit.
    """

    model: CoreModel
    schemes: Sequence[Scheme]
    body_of: Callable[[Experiment], ExperimentBody]
    chained: bool = False

    def __post_init__(self) -> None:
        self._plain = replace(self.model, mapping=None, alone={}, scheduler=None)
        self._bodies: dict[Experiment, ExperimentBody | None] = {}
        self._policies: dict[SchedulerPolicy, None] = {}  # of the one core, under all ports so far

    @cached_property
    def width(self) -> int | None:
        """Slots that the core dispatches per cycle, as measured; None where they were not."""
        return dispatch_width(self._plain)

    @property
    def mapping(self) -> PortMapping | None:
        return None if self.model.scheduler is None else self.model.mapping

    def with_chains(self) -> ScheduledTimes:
        return replace(self, chained=True)

    def least_cycles(
        self,
        measured: Mapping[Experiment, float],
        further: Iterable[Experiment] = (),
        *,
        pulse: Callable[[], None] = lambda: None,
    ) -> dict[Experiment, float]:
        """See `WasteSource`: chains through the registers of loop bodies, and their bytes.

        `further`: experiments whose bounds are also computed, but on which no bound rests.
        """
        bodies = {}
        for experiment in (*measured, *further):
            pulse()
            if (body := self._body(experiment)) is not None:
                bodies[experiment] = body
        bounds = code_bounds(
            measured, {experiment: body.size / len(body.instructions) for experiment, body in bodies.items()}
        )
        if self._plain.latencies:
            for experiment, body in bodies.items():
                registers, _ = dependence_bounds(body.instructions, self._plain)
                chain = registers.cycles / body.copies
                bounds[experiment] = max(bounds.get(experiment, 0.0), chain)
        return bounds

    def experiments(self, mapping: PortMapping) -> list[Experiment]:
        return [planned.experiment for planned in scheduler_experiments(self._kinds(mapping))[:_MAX_BODIES]]

    def simulator(
        self, mapping: PortMapping, measured: Mapping[Experiment, float], pulse: Callable[[], bool]
    ) -> Simulated | None:
        """See `WasteSource`. The result has the scheduler on the ports of the mapping that it is called
        with.
        """
        return self._known or self.fit(mapping, measured, pulse).simulated

    def fit(
        self, mapping: PortMapping, measured: Mapping[Experiment, float], pulse: Callable[[], bool]
    ) -> SchedulerFit:
        """See `WasteSource`. The error is that of an inferred scheduler, also where one is known: under other
        ports, another one is inferred.
        """
        kinds = self._kinds(mapping)
        planned = ((row.experiment, row.group) for row in usable_experiments(measured, kinds)[:_MAX_BODIES])
        bodies = [
            MeasuredBody(mix, body.instructions, body.copies, measured[mix], group)
            for mix, group in planned
            if (body := self._body(mix)) is not None
        ]
        model = replace(self._plain, mapping=mapping)
        finding = infer_core_scheduler(model, bodies, kinds, pulse, likely=self._policies)
        if finding.scheduler is not None:
            self._policies[finding.scheduler.policy] = None
        inferred = None if finding.scheduler is None else self._simulated_by(finding.scheduler, kinds)
        errors = [
            (row.without if row.simulated is None else row.simulated) / row.measured - 1
            for row in finding.experiments
        ]
        error = hypot(*errors) / len(errors) ** 0.5 if errors else inf
        return SchedulerFit(self._known or inferred, error)

    @property
    def _known(self) -> Simulated | None:
        if self.model.scheduler is None or self.mapping is None:
            return None
        return self._simulated_by(self.model.scheduler, self._kinds(self.mapping))

    def _simulated_by(self, scheduler: CoreScheduler, kinds: Mapping[str, OperationKind]) -> Simulated:
        models: dict[int, tuple[PortMapping, CoreModel, int]] = {}
        shape = _CHAINED_COPIES if self.chained else _COPIES

        def cycles(mapping: PortMapping, experiment: Experiment) -> float | None:
            if id(mapping) not in models:
                moved = _on_new_ports(scheduler, kinds, self._kinds(mapping))
                model = replace(self._plain, mapping=mapping, scheduler=moved)
                models.clear()
                models[id(mapping)] = mapping, model, moved.ports
            _, model, ports = models[id(mapping)]
            masks = (mask for scheme in experiment.schemes for mask, _ in mapping.usage[scheme])
            body = self._body(experiment)
            if body is None or all(mask & ~ports for mask in masks):
                return None
            prediction = predict_core(body.instructions, shape, model)
            simulated = (bound.cycles for bound in prediction.bounds if bound.kind is BoundKind.SCHEDULER)
            return next((total / body.copies for total in simulated), None)

        return cycles

    def _kinds(self, mapping: PortMapping) -> dict[str, OperationKind]:
        return operation_kinds(replace(self._plain, mapping=mapping), self.schemes)

    def _body(self, experiment: Experiment) -> ExperimentBody | None:
        if experiment not in self._bodies:
            try:
                self._bodies[experiment] = self.body_of(experiment)
            except CannotMeasureError:  # measured elsewhere, with other code
                self._bodies[experiment] = None
        return self._bodies[experiment]


def _on_new_ports(
    scheduler: CoreScheduler, before: Mapping[str, OperationKind], now: Mapping[str, OperationKind]
) -> CoreScheduler:
    def ports(mask: int) -> int:
        moved = Counter(
            now[text].ports for text, kind in before.items() if kind.ports == mask and text in now
        )
        return moved.most_common(1)[0][0] if moved else 0

    pairs = [(ports(shared.ports), ports(shared.buses)) for shared in scheduler.policy.shared_buses]
    buses = tuple(
        SharedResultBus(slow, quick) for slow, quick in pairs if slow and quick and not slow & quick
    )
    ports_so_far = 0
    for kind in now.values():
        ports_so_far |= kind.ports
    policy = replace(scheduler.policy, shared_buses=buses)
    return CoreScheduler(policy, scheduler.width, ports_so_far)
