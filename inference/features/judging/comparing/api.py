"""Two port mappings side by side, up to a renaming of ports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from inference.core.identity import ComparedScheme, MappingComparison, SchemeRelation
from inference.core.mapping import Uops, ports_in
from inference.features.judging.comparing.deviation_api import Shown
from inference.features.judging.comparing.deviation_api import router as deviation_router
from inference.features.judging.comparing.query import (
    DifferingExperiment,
    comparison_head,
    differences_first,
    up_to_hidden,
    witnesses,
    write_comparison_csv,
)
from inference.features.learning.explained.reference_contradictions import (
    ReferenceContradiction,
    contradictions,
)
from inference.features.library.mappings.compared import comparison_of, summary
from inference.models import ExperimentSet, PortMapping
from inference.models.scheme_search import texts_found
from inference.web.api.document import FILE
from inference.web.api.paging import PageOf, Paging, listed_in_memory
from inference.web.api.shapes import Ref, SchemeText, Text, Uop, ref, uops_json
from inference.web.file_answers import attachment
from inference.web.validation import Id

router = Router()
router.add_router("", deviation_router)


class WitnessOut(Schema):
    """An experiment on which the mappings differ; cycles, `measured` null where nobody has measured it."""

    experiment: str = Field(examples=["2*add GPR[64]:RW, GPR[64]:R"])
    first: float = Field(examples=[0.5])
    second: float = Field(examples=[0.67])
    measured: float | None = Field(examples=[0.51])


class ComparisonOut(Schema):
    """How two mappings of one instruction set stand to each other."""

    first: Ref
    second: Ref
    summary: str = Field(examples=["497 of 500 common schemes have the same µops."])
    agreeing: int = Field(examples=[497])
    differing: int = Field(examples=[3])
    only_first: int = Field(examples=[0])
    only_second: int = Field(examples=[12])
    equal: bool = Field(examples=[False])
    share: float | None = Field(
        description="Of the common schemes, those with the same µops.", examples=[0.6]
    )
    same_number_of_uops: float | None = Field(
        description="Of the common schemes, those with as many µops.", examples=[0.7]
    )
    up_to_hidden: float | None = Field(
        description="Those with the same µops up to what the data set does not show; null without one.",
        examples=[0.8],
    )
    renaming: dict[str, str | None] = Field(
        description="Of each port of the second mapping, its name in the first; null without a partner.",
        examples=[{"P0": "0", "P1": "1"}],
    )
    witnesses: list[WitnessOut]


class ContradictionOut(Schema):
    """A witness of the first mapping against the second: so many µops cannot evade these ports."""

    blocker: SchemeText
    copies: int = Field(examples=[8])
    ports: list[str] = Field(examples=[["0", "1"]])
    shown: int = Field(description="µops, by the witness.", examples=[1])
    said: int = Field(description="µops, by the second mapping.", examples=[2])


class ComparedOut(Schema):
    """A scheme in both mappings, the second with the first one's port names; null where one lacks it."""

    scheme: SchemeText
    kind: str = Field(description="different, only-first, only-second or equal.", examples=["different"])
    first: list[Uop] | None
    second: list[Uop] | None
    first_cycles: float | None = Field(examples=[0.5])
    second_cycles: float | None = Field(examples=[1.0])
    difference: float | None = Field(
        description="Per cent of the first; null where undefined or without end.", examples=[100.0]
    )
    differs_in_hidden: bool = Field(
        description="Whether only µops differ that no experiment can show.", examples=[False]
    )
    contradiction: ContradictionOut | None


@router.get("/mappings/{mapping_id}/comparisons/{other_id}", response=ComparisonOut)
def compare_mappings(request: HttpRequest, mapping_id: Id, other_id: Id, dataset: Id | None = None) -> Any:
    """Compare two mappings: what agrees, under which renaming, and an experiment that tells them apart.

    `dataset`: the experiment set whose measurements tell which µops can be seen at all.
    """
    row, other, found = _compared(mapping_id, other_id)
    agreement = found.agreement
    return {
        "first": ref(row),
        "second": ref(other),
        "summary": summary(found),
        "agreeing": len(agreement.agreeing),
        "differing": len(agreement.differing),
        "only_first": len(agreement.only_first),
        "only_second": len(agreement.only_second),
        "equal": found.are_equal,
        "share": agreement.share,
        "same_number_of_uops": found.same_number,
        "up_to_hidden": None
        if dataset is None
        else up_to_hidden(row, other, get_object_or_404(ExperimentSet, pk=dataset, isa=row.isa_id)),
        "renaming": _renaming(row, other, found),
        "witnesses": [_witness(each) for each in witnesses(row, other, found)],
    }


@router.get("/mappings/{mapping_id}/comparisons/{other_id}/schemes", response=PageOf[ComparedOut])
def list_compared_schemes(
    request: HttpRequest,
    mapping_id: Id,
    other_id: Id,
    paging: Query[Paging],
    q: Text = "",
    show: Shown = "",
) -> Any:
    """The schemes of both mappings, the largest differences first."""
    row, _, found = _compared(mapping_id, other_id)
    schemes = [
        each for each in differences_first(found.schemes) if not show or each.kind == SchemeRelation(show)
    ]
    if q.strip():
        wanted = texts_found(row.isa_id, q)
        schemes = [each for each in schemes if each.scheme in wanted]

    def told(page: Sequence[ComparedScheme]) -> list[dict[str, Any]]:
        spoken = contradictions(row, found, {each.scheme for each in page})
        return [
            {**_scheme(each, found.ports), "contradiction": _contradiction(row, spoken.get(each.scheme))}
            for each in page
        ]

    return listed_in_memory(schemes, paging, told)


@router.get(
    "/mappings/{mapping_id}/comparisons/{other_id}/export", response=str, openapi_extra={FILE: "text/csv"}
)
def export_comparison(request: HttpRequest, mapping_id: Id, other_id: Id) -> HttpResponse:
    """The whole comparison as CSV, differences first."""
    row, other, found = _compared(mapping_id, other_id)
    text = write_comparison_csv(found, differences_first(found.schemes), comparison_head(row, other))
    return attachment(text, "text/csv; charset=utf-8", f"{row.name} and {other.name}", "csv")


def _compared(mapping_id: int, other_id: int) -> tuple[PortMapping, PortMapping, MappingComparison]:
    """Both rows; raises `ExchangeError` for different instruction sets."""
    rows = PortMapping.objects.select_related("isa", "machine", "run")
    row, other = get_object_or_404(rows, pk=mapping_id), get_object_or_404(rows, pk=other_id)
    return row, other, comparison_of(row, other)


def _renaming(row: PortMapping, other: PortMapping, found: MappingComparison) -> dict[str, str | None]:
    partners = found.agreement.renaming.ports
    return {
        there: None if index is None else row.ports[index]
        for there, index in zip(other.ports, partners, strict=True)
    }


def _scheme(each: ComparedScheme, ports: Sequence[str]) -> dict[str, Any]:
    def shown(uops: Uops | None) -> list[dict[str, Any]] | None:
        return None if uops is None else uops_json(uops, ports)

    difference = each.difference
    return {
        "scheme": each.scheme,
        "kind": each.kind.value,
        "first": shown(each.uops[0]),
        "second": shown(each.uops[1]),
        "first_cycles": each.cycles[0],
        "second_cycles": each.cycles[1],
        "difference": difference if difference is not None and math.isfinite(difference) else None,
        "differs_in_hidden": each.differs_in_hidden,
    }


def _contradiction(row: PortMapping, found: ReferenceContradiction | None) -> dict[str, Any] | None:
    if found is None:
        return None
    copied = {name: getattr(found, name) for name in ("blocker", "copies", "shown", "said")}
    return {**copied, "ports": [row.ports[bit] for bit in ports_in(found.mask)]}


def _witness(each: DifferingExperiment) -> dict[str, Any]:
    said = each.distinction
    return {
        "experiment": str(said.experiment),
        "first": said.first,
        "second": said.second,
        "measured": each.measured,
    }
