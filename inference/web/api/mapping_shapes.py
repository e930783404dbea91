"""What answers about port mappings and resource mappings have in common, evaluations of either included."""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, Manager, OuterRef, QuerySet
from ninja import Schema
from pydantic import Field

from inference.core.judging.accuracy import Grade
from inference.models import InstructionScheme, PortMapping, ResourceMapping
from inference.models.scheme_search import search_schemes
from inference.web.api.named_rows import NamedOut
from inference.web.api.shapes import Cycles, Ref, SchemeText
from inference.web.validation import Id


class AnyMappingOut(NamedOut):
    """A mapping of schemes of one instruction set to what they occupy."""

    isa: Ref
    machine: Ref | None
    schemes: int = Field(validation_alias="scheme_count", description="That it describes.", examples=[577])
    evaluation_id: Id | None = Field(description="The one that says most about it.", examples=[3])


def described_schemes(
    row: PortMapping | ResourceMapping, parts: Manager[Any], q: str
) -> QuerySet[InstructionScheme]:
    """The schemes that the mapping describes, in its `parts` (usages or loads), and the search `q` finds."""
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


class AccuracyJudgementOut(Schema):
    """What predictions are fit for, by what repeating gives and by the best published tool."""

    grade: Grade
    reasons: list[str] = Field(examples=[["off by 4.8 % on average, median 0.9 %, on 398 blocks"]])


class PredictedOut(Schema):
    """A measurement with its prediction, both in the evaluation's unit."""

    measurement_id: Id
    experiment_id: Id
    experiment: str = Field(examples=["2*add GPR[64]:RW, GPR[64]:R"])
    measured: Cycles
    predicted: Cycles
    difference: float = Field(description="Per cent of the measurement.", examples=[2.0])
