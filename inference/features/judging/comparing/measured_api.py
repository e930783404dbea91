"""Comparisons of two experiment sets, and of several sets of latencies, in the API."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from inference.features.judging.comparing.latencies import (
    COLUMNS,
    DEFAULT_ORDER,
    MAX_SETS,
    comparison_of_latencies,
    filtered_schemes,
    schemes_json,
)
from inference.features.judging.comparing.sets import (
    OF_FORMER_FILES,
    SET_ROWS,
    ComparedSets,
    compared_sets,
    counts_within,
)
from inference.features.judging.comparing.tables import head_of_pair
from inference.features.judging.engine.differences_view import Closeness
from inference.features.judging.engine.query import (
    FULL_COMPARISON,
    PredictedExperiment,
    heat_map_of,
    items_in_bin,
)
from inference.features.judging.engine.tables import csv_of
from inference.features.judging.engine.views import VIEWS
from inference.models import LatencySet
from inference.web.api.document import FILE
from inference.web.api.errors import ProblemError
from inference.web.api.paging import PageOf, Paging, allowed_sorts, list_answer_in_memory
from inference.web.api.result_shapes import HeatMapOut, SchemeErrorOut
from inference.web.api.shapes import Cycles, Ref, SchemeText, Scores, Text, parameter, ref
from inference.web.file_answers import attachment
from inference.web.paging import Order
from inference.web.validation import Id

router = Router(tags=["Experiment sets"])
latency_router = Router(tags=["Latencies"])
router.add_router("", latency_router)
ADDRESS = "/sets/{set_id}/comparisons/{other_set_id}"


class WithinOut(Schema):
    """Number of experiments whose values in both sets differ by at most a tolerance."""

    tolerance: float = Field(description="Tolerance in per cent of the first set.", examples=[5.0])
    n: int = Field(examples=[4890])


class LengthAgreementOut(Schema):
    """The common experiments with a number of instructions."""

    length: int = Field(examples=[2])
    n: int = Field(examples=[4851])
    mean: float = Field(description="Mean absolute difference in per cent.", examples=[0.4])
    within: list[WithinOut]


class SetComparisonOut(Scores):
    """The comparison of two sets over the `n` experiments settled in both, relative to the first set."""

    first: Ref
    second: Ref
    only_first: int = Field(examples=[10])
    only_second: int = Field(examples=[0])
    median: float | None = Field(description="Median absolute difference in per cent.", examples=[0.2])
    within: list[WithinOut]
    lengths: list[LengthAgreementOut]
    heat_map: HeatMapOut = Field(description="Rows are of the second set, columns of the first, in cycles.")


class PairOut(Schema):
    """An experiment with the median cycles of both sets."""

    experiment_id: Id
    experiment: str = Field(examples=["2*add GPR[64]:RW, GPR[64]:R"])
    first: Cycles
    second: Cycles
    difference: float = Field(description="Difference in per cent of the first.", examples=[-1.5])


@router.get(ADDRESS, response=SetComparisonOut)
def compare_experiment_sets(request: HttpRequest, set_id: Id, other_set_id: Id) -> Any:
    """Compare two sets of one instruction set: how well their common experiments repeat.

    Large sets are compared by a run of the kind `compare-sets` first: without it, the answer is 409.
    """
    compared = _compare_sets(set_id, other_set_id)
    return {
        "first": compared.first,
        "second": compared.second,
        **compared.figures(),
        "within": _within(compared.closeness),
        "lengths": [
            {"length": length, "n": close.n, "mean": close.mean, "within": _within(close)}
            for length, close in compared.lengths.items()
        ],
        "heat_map": heat_map_of(compared.question.column, FULL_COMPARISON).as_json(),
    }


@router.get(f"{ADDRESS}/schemes", response=PageOf[SchemeErrorOut])
def list_scheme_differences(request: HttpRequest, set_id: Id, other_set_id: Id, paging: Query[Paging]) -> Any:
    """Differences by scheme, over the experiments that contain it, the largest first."""
    return list_answer_in_memory(_compare_sets(set_id, other_set_id).schemes, paging, lambda schemes: schemes)


@router.get(f"{ADDRESS}/experiments", response=list[PairOut])
def list_differing_experiments(
    request: HttpRequest,
    set_id: Id,
    other_set_id: Id,
    row: int | None = parameter(None, ge=0, le=1000, examples=[3]),
    column: int | None = parameter(None, ge=0, le=1000, examples=[3]),
) -> Any:
    """The experiments that differ most, at most 50: of all, or of the heat map's bin at `row` and
    `column`."""
    compared = _compare_sets(set_id, other_set_id)
    if (row is None) != (column is None):
        raise ProblemError(422, "a bin has a row and a column", where="query", right="give both or none")
    place = None if row is None or column is None else (row, column)
    items, _ = items_in_bin(compared.question.column, FULL_COMPARISON, place)
    return [
        {
            "experiment_id": item.stored.experiment_id,
            "experiment": str(item.stored.value.experiment),
            "first": item.measured,
            "second": item.predicted,
            "difference": item.difference,
        }
        for item in items
        if isinstance(item, PredictedExperiment)
    ]


@router.get(f"{ADDRESS}/export", response=str, openapi_extra={FILE: "text/csv"})
def export_set_comparison(
    request: HttpRequest, set_id: Id, other_set_id: Id, by: Literal["schemes", "lengths"] = "schemes"
) -> HttpResponse:
    """The comparison as CSV: a row per scheme, or per number of instructions."""
    compared = _compare_sets(set_id, other_set_id)
    (table,) = VIEWS[OF_FORMER_FILES[by]].tables(compared.question)
    text = csv_of(table, head_of_pair(compared.first, compared.second))
    name = f"{compared.first.name} and {compared.second.name}"
    return attachment(text, "text/csv; charset=utf-8", name, "csv")


def _compare_sets(set_id: int, other_set_id: int) -> ComparedSets:
    """The comparison of two sets. Raises `ExchangeError` if they do not fit, `ProblemError` (409) if a run
    must compare them."""
    first, second = (get_object_or_404(SET_ROWS, pk=pk) for pk in (set_id, other_set_id))
    compared = compared_sets(first, second)
    if compared is None:
        raise ProblemError(
            409,
            f"{first.name!r} and {second.name!r} are large and have not been compared yet",
            where="path",
            right=f"start a run of the kind compare-sets with first {set_id} and second {other_set_id}",
        )
    return compared


def _within(close: Closeness | None) -> list[dict[str, Any]]:
    return [{"tolerance": tolerance, "n": n} for tolerance, n in counts_within(close)]


ComparedSort = Annotated[str, allowed_sorts(COLUMNS)]
MoreSets = Annotated[
    list[Id], parameter(max_length=MAX_SETS - 2, description="Ids of further sets to compare.", examples=[[]])
]
_NO_MORE: list[int] = []


class KnownLatencyOut(Schema):
    """The latency of a pair in a set, in cycles."""

    least: float | None = Field(description="Null if the latency is not isolated.", examples=[1.0])
    most: float | None = Field(examples=[1.0])
    at_most: float | None = Field(
        description="Upper bound in cycles, if only sums of latencies are known.", examples=[None]
    )
    breaks: bool = Field(
        description="Whether the destination does not depend on the source.", examples=[False]
    )


class ComparedLatencyOut(Schema):
    """A pair of operands in all sets; `said`: a latency per set, null where a set lacks it."""

    source: str = Field(examples=["2"])
    destination: str = Field(examples=["1"])
    said: list[KnownLatencyOut | None]
    relation: str = Field(description="different, same or unknown.", examples=["different"])
    difference: float | None = Field(
        description="Largest difference of two sets in cycles; null if none can be compared.", examples=[1.0]
    )


class SharedSchemeOut(Schema):
    """A scheme in at least two sets, with the largest difference of its pairs."""

    scheme_id: Id
    scheme: SchemeText
    relation: str = Field(description="different, same or unknown.", examples=["different"])
    difference: float | None = Field(examples=[1.0])
    pairs: list[ComparedLatencyOut]


class LatencyComparisonOut(PageOf[SharedSchemeOut]):
    """A page of the schemes in at least two sets; the counts are over all of them."""

    sets: list[Ref]
    shared: int = Field(examples=[2099])
    different: int = Field(examples=[120])
    same: int = Field(examples=[1800])
    unknown: int = Field(description="Schemes without a comparable pair.", examples=[179])
    only: list[int] = Field(description="Schemes that only this set has, per set.", examples=[[0, 12]])


@latency_router.get(
    "/latencies/{latency_set_id}/compare/{other_latency_set_id}", response=LatencyComparisonOut
)
def compare_latencies(
    request: HttpRequest,
    latency_set_id: Id,
    other_latency_set_id: Id,
    paging: Query[Paging],
    q: Text = "",
    sort: ComparedSort = DEFAULT_ORDER,
    different: bool = False,
    also: MoreSets = _NO_MORE,
) -> Any:
    """The schemes in at least two of these sets that match `q`; with `different`, only those that differ.

    Latencies differ if they are more than 0.1 cycles and more than 2 % apart.
    """
    rows = LatencySet.objects.select_related("isa").defer("memory", "connectors", "readings")
    sets = [get_object_or_404(rows, pk=pk) for pk in (latency_set_id, other_latency_set_id, *also)]
    comparison = comparison_of_latencies(*sets)
    schemes = filtered_schemes(comparison, sets[0].isa_id, Order.of(sort), q.strip(), different=different)
    head = {"sets": [ref(row) for row in sets], **comparison.counts(), "only": comparison.only}
    return {**list_answer_in_memory(schemes, paging, schemes_json), **head}
