"""Two experiment sets side by side: how well what both have measured repeats."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from inference.features.library.sets.comparing import (
    CSV_WRITERS,
    TOLERANCES,
    SetReport,
    comparison_head,
)
from inference.features.library.sets.comparison_query import pairs_of, report_at_hand
from inference.models import ExperimentSet
from inference.web.api.document import FILE
from inference.web.api.errors import ProblemError
from inference.web.api.paging import PageOf, Paging, listed_in_memory
from inference.web.api.result_shapes import HeatMapOut, SchemeErrorOut
from inference.web.api.shapes import Cycles, Ref, Scores, fields_of, parameter
from inference.web.file_answers import attachment
from inference.web.validation import Id

router = Router()


class WithinOut(Schema):
    """How many experiments differ by at most so many per cent."""

    tolerance: float = Field(description="Per cent of the first set.", examples=[5.0])
    n: int = Field(examples=[4890])


class LengthAgreementOut(Schema):
    """The experiments of so many instructions that both sets have."""

    length: int = Field(examples=[2])
    n: int = Field(examples=[4851])
    mean: float = Field(description="Mean absolute difference in per cent.", examples=[0.4])
    within: list[WithinOut]


class SetComparisonOut(Scores):
    """How two sets compare, over the `n` experiments that both have settled, relative to the first."""

    first: Ref
    second: Ref
    only_first: int = Field(examples=[10])
    only_second: int = Field(examples=[0])
    median: float | None = Field(description="Of the absolute differences, per cent.", examples=[0.2])
    within: list[WithinOut]
    lengths: list[LengthAgreementOut]
    heat_map: HeatMapOut = Field(description="Rows are of the second set, columns of the first, in cycles.")


class PairOut(Schema):
    """An experiment with the median cycles of both sets."""

    experiment_id: Id
    experiment: str = Field(examples=["2*add GPR[64]:RW, GPR[64]:R"])
    first: Cycles
    second: Cycles
    difference: float = Field(description="Per cent of the first.", examples=[-1.5])


@router.get("/sets/{set_id}/comparisons/{other_set_id}", response=SetComparisonOut)
def compare_experiment_sets(request: HttpRequest, set_id: Id, other_set_id: Id) -> Any:
    """Compare two sets of one instruction set: what share of what both have measured repeats.

    Large sets are compared by a run of the kind `compare-sets` first: without it, the answer is 409.
    """
    first, second, report = _compared(set_id, other_set_id)
    return {
        "first": first,
        "second": second,
        **report.scores.as_json(),
        "only_first": report.only[0],
        "only_second": report.only[1],
        "median": report.median,
        "within": _within(report.within),
        "lengths": [
            fields_of(each, LengthAgreementOut, within=_within(each.within)) for each in report.lengths
        ],
        "heat_map": report.heat_map.as_json(),
    }


@router.get("/sets/{set_id}/comparisons/{other_set_id}/schemes", response=PageOf[SchemeErrorOut])
def list_scheme_differences(request: HttpRequest, set_id: Id, other_set_id: Id, paging: Query[Paging]) -> Any:
    """Differences by scheme, over the experiments that contain it, the largest first."""
    return listed_in_memory(_compared(set_id, other_set_id)[2].schemes, paging, lambda found: found)


@router.get("/sets/{set_id}/comparisons/{other_set_id}/experiments", response=list[PairOut])
def list_differing_experiments(
    request: HttpRequest,
    set_id: Id,
    other_set_id: Id,
    row: int | None = parameter(None, ge=0, le=1000, examples=[3]),
    column: int | None = parameter(None, ge=0, le=1000, examples=[3]),
) -> Any:
    """The experiments that differ most: of all, or of a bin of the heat map (`row`, `column`); 50 at most."""
    first, second, report = _compared(set_id, other_set_id)
    if (row is None) != (column is None):
        raise ProblemError(422, "a bin has a row and a column", where="query", right="give both or none")
    wanted = report.listing.worst
    if row is not None and column is not None:
        wanted = report.listing.bins.get((row, column), ())
    return [
        fields_of(each, PairOut, experiment=str(each.experiment)) for each in pairs_of(first, second, wanted)
    ]


@router.get(
    "/sets/{set_id}/comparisons/{other_set_id}/export", response=str, openapi_extra={FILE: "text/csv"}
)
def export_set_comparison(
    request: HttpRequest, set_id: Id, other_set_id: Id, by: Literal["schemes", "lengths"] = "schemes"
) -> HttpResponse:
    """The comparison as CSV: a row per scheme, or per number of instructions."""
    first, second, report = _compared(set_id, other_set_id)
    text = CSV_WRITERS[by](report, comparison_head(first, second))
    return attachment(text, "text/csv; charset=utf-8", f"{first.name} and {second.name}", "csv")


def _compared(set_id: int, other_set_id: int) -> tuple[ExperimentSet, ExperimentSet, SetReport]:
    """Both rows and their comparison. Raises `ExchangeError` for sets that cannot be compared."""
    rows = ExperimentSet.objects.select_related("isa", "machine", "run")
    first, second = get_object_or_404(rows, pk=set_id), get_object_or_404(rows, pk=other_set_id)
    report = report_at_hand(first, second)
    if report is None:
        raise ProblemError(
            409,
            f"{first.name!r} and {second.name!r} are large, and not compared yet",
            where="path",
            right=f"start a run of the kind compare-sets with first {set_id} and second {other_set_id}",
        )
    return first, second, report


def _within(counts: tuple[int, ...]) -> list[dict[str, Any]]:
    return [{"tolerance": tolerance, "n": n} for tolerance, n in zip(TOLERANCES, counts, strict=True)]
