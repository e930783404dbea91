"""Between an agent's results and the core's measurements: one conversion each way."""

from __future__ import annotations

from inference.agent.protocol import Result
from inference.core.experiment import Experiment, Measured, MeasurementState


def measured_of(experiment: Experiment, result: Result) -> Measured:
    """What an agent's result says of the experiment; both count cycles per execution of all of it."""
    return Measured(
        experiment,
        result.cycles,
        MeasurementState(result.state),
        spread=result.spread,
        passes=result.passes,
        note=result.note,
        counters=result.counters,
    )


def result_of(item: str, measured: Measured) -> Result:
    """The result that an agent would send for the item of that id."""
    return Result(
        item,
        measured.state.value,
        cycles=measured.cycles,
        spread=measured.spread,
        passes=measured.passes,
        note=measured.note,
        counters=measured.counters,
    )


def failure(experiment: Experiment, reason: str) -> Measured:
    """An experiment that has no result, and why."""
    return Measured(experiment, None, MeasurementState.FAILED, passes=0, note=reason)
