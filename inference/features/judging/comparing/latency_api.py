"""Sets of latencies side by side by the API."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from inference.features.judging.comparing.latencies import (
    COLUMNS,
    MOST_SETS,
    USUAL_ORDER,
    chosen_latencies,
    compared_json,
    comparison_of_latencies,
)
from inference.models import LatencySet
from inference.web.api.paging import PageOf, Paging, listed_in_memory, sorts
from inference.web.api.shapes import Ref, SchemeText, Text, parameter, ref
from inference.web.paging import Order
from inference.web.validation import Id

router = Router(tags=["Latencies"])
ComparedSort = Annotated[str, sorts(COLUMNS)]
MoreSets = Annotated[
    list[Id], parameter(max_length=MOST_SETS - 2, description="More sets beside these two.", examples=[[]])
]
_NO_MORE: list[int] = []


class KnownLatencyOut(Schema):
    """What a set knows of a pair, in cycles."""

    least: float | None = Field(description="Null where it is not isolated.", examples=[1.0])
    most: float | None = Field(examples=[1.0])
    at_most: float | None = Field(description="A bound where only sums are known.", examples=[None])
    breaks: bool = Field(description="The destination does not wait for the source.", examples=[False])


class ComparedLatencyOut(Schema):
    """A pair of operands in all sets; `said` in their order, null where a set does not have it."""

    source: str = Field(examples=["2"])
    destination: str = Field(examples=["1"])
    said: list[KnownLatencyOut | None]
    relation: str = Field(description="different, same or unknown.", examples=["different"])
    difference: float | None = Field(
        description="Most cycles between two; null where none can be compared.", examples=[1.0]
    )


class SharedSchemeOut(Schema):
    """A scheme that at least two sets have, with the largest difference of its pairs."""

    scheme_id: Id
    scheme: SchemeText
    relation: str = Field(description="different, same or unknown.", examples=["different"])
    difference: float | None = Field(examples=[1.0])
    pairs: list[ComparedLatencyOut]


class LatencyComparisonOut(PageOf[SharedSchemeOut]):
    """Part of the schemes that at least two sets have; the counts are over all of them."""

    sets: list[Ref]
    shared: int = Field(examples=[2099])
    different: int = Field(examples=[120])
    same: int = Field(examples=[1800])
    unknown: int = Field(description="Schemes no pair of which can be compared.", examples=[179])
    only: list[int] = Field(description="Schemes that each set has alone.", examples=[[0, 12]])


@router.get("/latencies/{latency_set_id}/compare/{other_latency_set_id}", response=LatencyComparisonOut)
def compare_latencies(
    request: HttpRequest,
    latency_set_id: Id,
    other_latency_set_id: Id,
    paging: Query[Paging],
    q: Text = "",
    sort: ComparedSort = USUAL_ORDER,
    different: bool = False,
    also: MoreSets = _NO_MORE,
) -> Any:
    """The schemes of these sets that `q` finds, pair by pair; with `different` only those that differ.

    Latencies differ where they are more than 0.1 cycles and more than 2 % apart.
    """
    rows = LatencySet.objects.select_related("isa").defer("memory", "connectors", "readings")
    sets = [get_object_or_404(rows, pk=pk) for pk in (latency_set_id, other_latency_set_id, *also)]
    found = comparison_of_latencies(*sets)
    chosen = chosen_latencies(found, sets[0].isa_id, Order.of(sort), q.strip(), different=different)
    told = {"sets": [ref(row) for row in sets], **found.counts(), "only": found.only}
    return {**listed_in_memory(chosen, paging, compared_json), **told}
