"""What mappings predict for experiments, as answers of the API have it."""

from __future__ import annotations

from typing import Any

from ninja import Schema
from pydantic import Field

from inference.core.experiment import Experiment as ExperimentValue
from inference.core.schedule import Schedule
from inference.models import ISA
from inference.storage.instruction_sets import read_experiment
from inference.web.api.errors import Flaw, ProblemError
from inference.web.api.shapes import Cycles, fields_of


class PortLoad(Schema):
    """The work on a port; `least` and `most` among all distributions that take no longer."""

    port: str = Field(examples=["0"])
    cycles: float = Field(examples=[0.5])
    least: float = Field(examples=[0.0])
    most: float = Field(examples=[0.5])


class PortPrediction(Schema):
    """What a port mapping says of an experiment."""

    cycles: Cycles
    port_cycles: float = Field(description="What the ports alone would need.", examples=[0.5])
    limited_by: str = Field(
        description="ports, instructions or slots: what takes longest.", examples=["ports"]
    )
    limits: dict[str, float] = Field(
        description="Cycles that the limits outside the ports ask for.", examples=[{"slots": 0.4}]
    )
    limited_by_r_max: bool
    bottleneck: list[str] = Field(description="Ports that are always busy.", examples=[["0", "1", "5"]])
    loads: list[PortLoad]


def read(text: str, isa: ISA, where: str) -> ExperimentValue:
    """An experiment as it was typed. Raises `ProblemError` with the nearest names of unknown schemes."""
    typed = read_experiment(text.strip(), isa)
    if typed.experiment is None:
        nearest = "; ".join(f"{each.name!r}: {each.nearest!r}?" for each in typed.suggestions[:5])
        flaws = [Flaw(each, where, nearest) for each in typed.problems]
        raise ProblemError(422, "; ".join(typed.problems)[:500], flaws=flaws)
    return typed.experiment


def prediction_json(found: Schedule) -> dict[str, Any]:
    loads = zip(found.ports, found.loads, found.intervals, strict=True)
    return fields_of(
        found,
        PortPrediction,
        bottleneck=[found.ports[port] for port in found.bottleneck],
        loads=[
            {"port": port, "cycles": load, "least": interval.least, "most": interval.greatest}
            for port, load, interval in loads
        ],
    )
