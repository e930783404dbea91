"""A core's scheduler as JSON: a part of core models, and the record of its inference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated

from pydantic import Field

from inference.core.core_model import CoreScheduler
from inference.core.core_model.scheduler_inference import (
    CoreSchedulerFinding,
    ExplainedBlock,
    ExplainedExperiment,
)
from inference.core.errors import InvalidInputError
from inference.core.mapping import ports_in
from inference.core.protocols import Json
from inference.core.simulation.program import Binding, SchedulerPolicy, SharedResultBus
from inference.formats.core_latencies_json import DocumentPart

_Text = Annotated[str, Field(max_length=200)]
_SchedulerText = Annotated[str, Field(max_length=2000)]
_Share = Annotated[float, Field(ge=0)]
_Cycles = Annotated[float, Field(gt=0)]


class SharedResultBusPart(DocumentPart):
    """See `inference.core.simulation.program.SharedResultBus`; ports by name."""

    ports: list[_Text]
    buses: list[_Text]


class SchedulerPart(DocumentPart):
    """See `inference.core.simulation.program.SchedulerPolicy`; ports by name."""

    width: Annotated[int, Field(ge=1, le=64)]
    binding: Annotated[Binding, Field(strict=False)]
    load_age: int
    load_step: int
    queue: int
    queued: int
    window: int
    writeback_conflicts: bool
    speculative_select: bool
    shared_buses: list[SharedResultBusPart] = []
    ports: list[_Text]

    def scheduler(self, ports: Sequence[str]) -> CoreScheduler:
        """The scheduler, on a mapping's ports. Raises `InvalidInputError` for unknown ports and values."""
        shared = tuple(
            SharedResultBus(_mask(bus.ports, ports), _mask(bus.buses, ports)) for bus in self.shared_buses
        )
        numbers = self.model_dump(exclude={"width", "ports", "shared_buses"})
        policy = SchedulerPolicy(**numbers, shared_buses=shared)
        return CoreScheduler(policy, self.width, _mask(self.ports, ports))


class AlternativePart(DocumentPart):
    """A policy that fits as well. `error`: mean relative error on the experiments for judging."""

    scheduler: SchedulerPart
    error: _Share


class ScheduledExperimentPart(DocumentPart):
    """Cycles per execution of an experiment, measured and predicted.

    Predictions are made without a scheduler, and simulated (null where no policy was found). `judges`:
    held out from the choice of the policy.
    """

    experiment: _SchedulerText
    measured: _Cycles
    without: Annotated[float, Field(ge=0)]
    simulated: _Cycles | None = None
    judges: bool = False


class DependentBlockPart(DocumentPart):
    """Cycles per iteration of a block with dependences, measured in a loop and predicted.

    The block is in hexadecimal digits. Predictions are made without a scheduler, and simulated with the
    best policy, accepted or not. `judges`: held out from the choice of the policy.
    """

    block: Annotated[str, Field(max_length=400)]
    measured: _Cycles
    without: _Cycles
    simulated: _Cycles | None = None
    judges: bool = False


class CodeScoresPart(DocumentPart):
    error: _Share
    error_without: _Share
    overstated: _Share
    overstated_without: _Share


class SchedulerRecord(DocumentPart):
    """Result of the inference of a core's scheduler, with its evidence.

    Attributes:
        reason: Why there is none, "" where there is one.
        error, error_without: Mean relative errors with and without it, on the experiments for judging.
        source: What measured the experiments.
        tried: Number of simulated policies.
        finished: Whether the search ended before its time limit.
        blocks: Code with dependences, for choosing and judging.
        code: Scores of the best policy on those for judging.
        unjudged: Why there is no such code, "" where there is, and in older records.
        slots: {scheme: dispatch slots} of those that take several; null where they were not counted.
    """

    scheduler: SchedulerPart | None = None
    reason: _SchedulerText = ""
    error: _Share | None = None
    error_without: _Share | None = None
    alternatives: list[AlternativePart] = []
    experiments: list[ScheduledExperimentPart] = []
    source: _SchedulerText = ""
    tried: Annotated[int, Field(ge=0)] = 0
    finished: bool = True
    blocks: list[DependentBlockPart] = []
    code: CodeScoresPart | None = None
    unjudged: _SchedulerText = ""
    slots: dict[_Text, Annotated[int, Field(ge=2, le=64)]] | None = None


def scheduler_json(scheduler: CoreScheduler, ports: Sequence[str]) -> Json:
    """A scheduler as JSON; `SchedulerPart` reads it."""
    policy = asdict(scheduler.policy)
    del policy["completes_in_order"]  # a property of `IssueOrder`, not of an inferred scheduler

    def names(mask: int) -> list[str]:
        return [ports[bit] for bit in ports_in(mask)]

    return {
        "width": scheduler.width,
        **policy,
        "binding": str(scheduler.policy.binding),
        "shared_buses": [
            {"ports": names(bus.ports), "buses": names(bus.buses)} for bus in scheduler.policy.shared_buses
        ],
        "ports": names(scheduler.ports),
    }


MAX_ALTERNATIVES = 12
"""Equally good policies that are stored, the best first."""


def scheduler_record(
    finding: CoreSchedulerFinding,
    ports: Sequence[str],
    source: str,
    unjudged: str = "",
    slots: Mapping[str, int] | None = None,
) -> Json:
    """The result of an inference as JSON; `SchedulerRecord` reads it.

    Args:
        finding: The scheduler, how well it and others explain the measurements, and these.
        ports: Names of the ports, which replace masks.
        source: Where the measurements are from, as a line of text.
        unjudged: Why there is no code with dependences to judge it on, "" where there is.
    """
    code = finding.code
    scheduler = finding.scheduler
    return {
        "scheduler": None if scheduler is None else scheduler_json(scheduler, ports),
        "reason": finding.reason,
        "error": _round_or_none(finding.error),
        "error_without": _round_or_none(finding.error_without),
        "alternatives": [
            {"scheduler": scheduler_json(other, ports), "error": _round_or_none(error)}
            for other, error in finding.alternatives[:MAX_ALTERNATIVES]
        ],
        "experiments": [
            {"experiment": str(explained.experiment), **_times_json(explained)}
            for explained in finding.experiments
        ],
        "source": source,
        "tried": finding.tried,
        "finished": finding.finished,
        "blocks": [{"block": explained.block.hex, **_times_json(explained)} for explained in finding.blocks],
        "code": None if code is None else {key: _round_or_none(value) for key, value in asdict(code).items()},
        "unjudged": unjudged,
        "slots": None if slots is None else dict(slots),
    }


def _times_json(explained: ExplainedExperiment | ExplainedBlock) -> Json:
    return {
        "measured": explained.measured,
        "without": _round_or_none(explained.without),
        "simulated": _round_or_none(explained.simulated),
        "judges": explained.judges,
    }


def _round_or_none(number: float | None) -> float | None:
    return None if number is None else round(number, 5)


def _mask(names: Sequence[str], ports: Sequence[str]) -> int:
    bits = {port: 1 << bit for bit, port in enumerate(ports)}
    if unknown := sorted(set(names) - bits.keys()):
        raise InvalidInputError(
            f"the scheduler names port {', '.join(unknown)}: the ports are {', '.join(ports)}"
        )
    return sum(bits[name] for name in set(names))
