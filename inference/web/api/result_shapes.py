"""Shapes of mappings, measurements and predictions in API answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Exists, Manager, OuterRef, QuerySet
from ninja import Schema
from pydantic import Field

from inference.core.experiment import Experiment as ExperimentValue
from inference.core.judging.accuracy import Grade
from inference.core.schedule import Schedule
from inference.models import ISA, InstructionScheme, Measurement, PortMapping, ResourceMapping
from inference.models.scheme_search import search_schemes
from inference.storage.instruction_sets import read_experiment
from inference.storage.rows import measurements_of
from inference.web.api.errors import Flaw, ProblemError
from inference.web.api.named_rows import NamedOut
from inference.web.api.shapes import Cycles, Ref, RowOut, SchemeText, fields_of
from inference.web.validation import Id


class AnyMappingOut(NamedOut):
    """A port mapping or resource mapping of an instruction set."""

    isa: Ref
    machine: Ref | None
    schemes: int = Field(
        validation_alias="scheme_count",
        description="Number of schemes that the mapping describes.",
        examples=[577],
    )
    evaluation_id: Id | None = Field(description="Id of the most informative evaluation.", examples=[3])


def described_schemes(
    row: PortMapping | ResourceMapping, parts: Manager[Any], q: str
) -> QuerySet[InstructionScheme]:
    """The mapping's schemes that match the search `q`; `parts` are its usages or loads."""
    described = Exists(parts.filter(scheme=OuterRef("pk")))
    return search_schemes(InstructionScheme.objects.filter(described, isa=row.isa_id), q)


class HeatMapOut(Schema):
    """`counts[row][column]`: predictions in bin `row`, measurements in `column`, `limit` / `bins` wide."""

    bins: int = Field(examples=[35])
    limit: float = Field(examples=[10.0])
    n: int = Field(examples=[1000])
    outside: int = Field(examples=[0])
    counts: list[list[int]] = Field(examples=[[[3, 0], [1, 5]]])


class SchemeErrorOut(Schema):
    """Relative errors of the experiments with a scheme, in per cent; `signed` > 0: predicted too long."""

    scheme: SchemeText
    n: int = Field(examples=[40])
    signed: float = Field(examples=[-3.0])
    absolute: float = Field(examples=[5.1])


class PortLoad(Schema):
    """The load of a port; `least` and `most` over all optimal distributions of the µops."""

    port: str = Field(examples=["0"])
    cycles: float = Field(examples=[0.5])
    least: float = Field(examples=[0.0])
    most: float = Field(examples=[0.5])


class PortPrediction(Schema):
    """A port mapping's prediction for an experiment."""

    cycles: Cycles
    port_cycles: float = Field(description="Cycles that the ports alone need.", examples=[0.5])
    limited_by: str = Field(
        description="The limiting resource: ports, instructions or slots.", examples=["ports"]
    )
    limits: dict[str, float] = Field(
        description="Cycles that the limits outside the ports need.", examples=[{"slots": 0.4}]
    )
    limited_by_r_max: bool
    bottleneck: list[str] = Field(
        description="Ports that are busy in every cycle.", examples=[["0", "1", "5"]]
    )
    loads: list[PortLoad]


def read(text: str, isa: ISA, where: str) -> ExperimentValue:
    """Parse an experiment. Raises `ProblemError` (422), with similar names for unknown schemes."""
    typed = read_experiment(text.strip(), isa)
    if typed.experiment is None:
        nearest = "; ".join(f"{name.name!r}: {name.nearest!r}?" for name in typed.suggestions[:5])
        flaws = [Flaw(problem, where, nearest) for problem in typed.problems]
        raise ProblemError(422, "; ".join(typed.problems)[:500], flaws=flaws)
    return typed.experiment


def prediction_json(schedule: Schedule) -> dict[str, Any]:
    loads = zip(schedule.ports, schedule.loads, schedule.intervals, strict=True)
    return fields_of(
        schedule,
        PortPrediction,
        bottleneck=[schedule.ports[port] for port in schedule.bottleneck],
        loads=[
            {"port": port, "cycles": load, "least": interval.least, "most": interval.greatest}
            for port, load, interval in loads
        ],
    )


class MeasurementOut(RowOut):
    """One row of a set."""

    id: Id
    experiment_id: Id
    experiment: str = Field(examples=["2*add GPR[64]:RW, GPR[64]:R"])
    terms: dict[str, int] = Field(examples=[{"add GPR[64]:RW, GPR[64]:R": 2}])
    length: int = Field(
        validation_alias="experiment.length", description="Number of instructions.", examples=[2]
    )
    state: str = Field(description="settled, unsettled, contended or failed.", examples=["settled"])
    cycles: Cycles | None
    spread: float | None = Field(description="Relative spread over the passes.", examples=[0.003])
    passes: int = Field(examples=[11])
    note: str = Field(examples=[""])
    annotations: dict[str, float] = Field(description="{tool: its cycles}.", examples=[{"llvm-mca": 0.5}])
    counters: dict[str, float] = Field(
        description="{event: count per execution of the experiment}.", examples=[{"uops": 2.0}]
    )


def measurements_json(page_rows: Sequence[Measurement]) -> list[dict[str, Any]]:
    """Rows in the shape of `MeasurementOut`, in the same order (two queries)."""
    rows = Measurement.objects.filter(pk__in=[row.pk for row in page_rows])
    values = {record.id: record for record in measurements_of(rows)}
    records = [values[row.pk] for row in page_rows if row.pk in values]
    return [
        fields_of(
            entry.value,
            MeasurementOut,
            id=entry.id,
            experiment_id=entry.experiment_id,
            experiment=str(entry.value.experiment),
            terms=dict(entry.value.experiment.terms),
        )
        for entry in records
    ]


class AccuracyJudgementOut(Schema):
    """A grade of predictions, compared with the repeatability of measurements and with published tools."""

    grade: Grade | None
    reasons: list[str] = Field(examples=[["off by 4.8 % on average, median 0.9 %, on 398 blocks"]])


class PredictedOut(Schema):
    """A measurement with its prediction, both in the evaluation's unit."""

    measurement_id: Id
    experiment_id: Id
    experiment: str = Field(examples=["2*add GPR[64]:RW, GPR[64]:R"])
    measured: Cycles
    predicted: Cycles
    difference: float = Field(description="Per cent of the measurement.", examples=[2.0])
