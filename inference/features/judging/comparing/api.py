"""Comparisons of two mappings: µops up to a renaming of ports, loads, and random experiments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from inference.core.identity import ComparedScheme
from inference.core.mapping import Uops, ports_in
from inference.features.judging.comparing.measured_api import router as measured_router
from inference.features.judging.comparing.query import (
    Model,
    Relation,
    SamplingRequest,
    Structure,
    compared_schemes,
    described_loads,
    deviation_of,
    differences_first,
    finite_or_none,
    furthest_json,
)
from inference.features.judging.comparing.tables import comparison_csv
from inference.features.learning.explained.query import (
    ReferenceContradiction,
    contradictions,
)
from inference.features.library.mappings.query import comparison_of, summary
from inference.figures.heatmap import heat_map
from inference.models import ExperimentSet, PortMapping, ResourceMapping
from inference.web.api.document import FILE
from inference.web.api.paging import PageOf, Paging, list_answer_in_memory
from inference.web.api.result_shapes import HeatMapOut
from inference.web.api.shapes import Ref, SchemeText, Scores, Text, Unit, Uop, ref, uops_json
from inference.web.file_answers import attachment
from inference.web.validation import Id

router = Router()
router.add_router("", measured_router)


class DifferingOut(Schema):
    """An experiment on which two models differ, with both predictions."""

    experiment: str = Field(examples=["2*add GPR[64]:RW, GPR[64]:R"])
    first: float = Field(examples=[0.5])
    second: float = Field(examples=[0.67])


class WitnessOut(DifferingOut):
    """An experiment that distinguishes two mappings, in cycles; `measured`: null without a measurement."""

    measured: float | None = Field(examples=[0.51])


class ComparisonOut(Schema):
    """The comparison of two mappings of one instruction set."""

    first: Ref
    second: Ref
    summary: str = Field(examples=["497 of 500 common schemes have the same µops."])
    agreeing: int = Field(examples=[497])
    differing: int = Field(examples=[3])
    only_first: int = Field(examples=[0])
    only_second: int = Field(examples=[12])
    equal: bool = Field(examples=[False])
    share: float | None = Field(description="Share of the common schemes with the same µops.", examples=[0.6])
    same_number_of_uops: float | None = Field(
        description="Share of the common schemes with the same number of µops.", examples=[0.7]
    )
    up_to_hidden: float | None = Field(
        description="Share with the same µops up to those hidden in the data set; null without one.",
        examples=[0.8],
    )
    renaming: dict[str, str | None] = Field(
        description="{port of the second mapping: its name in the first}; null without a partner.",
        examples=[{"P0": "0", "P1": "1"}],
    )
    witnesses: list[WitnessOut]


class ContradictionOut(Schema):
    """A witness of the first mapping that contradicts the second: the number of µops bound to these ports."""

    blocker: SchemeText
    copies: int = Field(examples=[8])
    ports: list[str] = Field(examples=[["0", "1"]])
    shown: int = Field(description="Number of µops that the witness shows.", examples=[1])
    said: int = Field(description="Number of µops by the second mapping.", examples=[2])


class ComparedSchemeOut(Schema):
    """A scheme of two mappings; null where one lacks it."""

    scheme: SchemeText
    kind: str = Field(description="different, only-first, only-second or equal.", examples=["different"])
    first_cycles: float | None = Field(description="Cycles of the scheme alone.", examples=[0.5])
    second_cycles: float | None = Field(examples=[1.0])


class ComparedOut(ComparedSchemeOut):
    """A scheme in two port mappings, the second with the first one's port names."""

    first: list[Uop] | None
    second: list[Uop] | None
    difference: float | None = Field(
        description="Per cent of the first; null where undefined or infinite.", examples=[100.0]
    )
    differs_in_hidden: bool = Field(
        description="Whether only hidden µops differ, which no experiment can show.", examples=[False]
    )
    contradiction: ContradictionOut | None


class BesideLoadsOut(ComparedSchemeOut):
    """A scheme in a port mapping and a resource mapping: µops, and loads in words."""

    uops: list[Uop] | None
    loads: str | None = Field(examples=["r01: 0.5"])


class DeviationOut(Schema):
    """The deviation of two models on random experiments, without measurements.

    `scores`: the second against the first; `backwards`: the first against the second. `heat_map` has the
    first across.
    """

    first: Ref
    second: Ref
    unit: Unit
    common: int = Field(description="Number of schemes that both describe.", examples=[497])
    r_max: list[float | None] = Field(
        description="R_max of each in instructions per cycle.", examples=[[5.0, 5.0]]
    )
    skipped: int = Field(description="Experiments that take 0 cycles by a model, excluded.", examples=[0])
    scores: Scores
    backwards: Scores
    heat_map: HeatMapOut | None
    furthest: DifferingOut | None


@router.get("/mappings/{mapping_id}/comparisons/{other_id}", response=ComparisonOut)
def compare_mappings(request: HttpRequest, mapping_id: Id, other_id: Id, dataset: Id | None = None) -> Any:
    """Compare two mappings: common µops, the renaming of ports, and experiments that distinguish them.

    `dataset`: the experiment set whose measurements show which µops are hidden.
    """
    row, other = _mappings(mapping_id, other_id)
    comparison = comparison_of(row, other)
    judged_by = None if dataset is None else get_object_or_404(ExperimentSet, pk=dataset, isa=row.isa_id)
    structure = Structure(row, other, judged_by)
    return {
        **structure.figures(),
        "first": ref(row),
        "second": ref(other),
        "summary": summary(comparison),
        "differing": len(comparison.agreement.differing),
        "witnesses": [witness.as_json() for witness in structure.witnesses],
    }


@router.get("/mappings/{mapping_id}/comparisons/{other_id}/schemes", response=PageOf[ComparedOut])
def list_compared_schemes(
    request: HttpRequest,
    mapping_id: Id,
    other_id: Id,
    paging: Query[Paging],
    q: Text = "",
    show: Relation = "",
) -> Any:
    """The schemes of both mappings, the largest differences first."""
    row, other = _mappings(mapping_id, other_id)
    comparison = comparison_of(row, other)

    def page_json(page: Sequence[ComparedScheme]) -> list[dict[str, Any]]:
        by_scheme = contradictions(row, comparison, {scheme.scheme for scheme in page})
        return [
            {
                **_scheme_json(scheme),
                "first": _uops_json_or_none(scheme.uops[0], comparison.ports),
                "second": _uops_json_or_none(scheme.uops[1], comparison.ports),
                "difference": finite_or_none(scheme.difference),
                "differs_in_hidden": scheme.differs_in_hidden,
                "contradiction": _contradiction_json(row, by_scheme.get(scheme.scheme)),
            }
            for scheme in page
        ]

    schemes = differences_first(comparison.schemes, row.isa_id, q, show)
    return list_answer_in_memory(schemes, paging, page_json)


@router.get(
    "/mappings/{mapping_id}/comparisons/{other_id}/export", response=str, openapi_extra={FILE: "text/csv"}
)
def export_comparison(request: HttpRequest, mapping_id: Id, other_id: Id) -> HttpResponse:
    """The whole comparison as CSV, differences first."""
    row, other = _mappings(mapping_id, other_id)
    return attachment(
        comparison_csv(row, other), "text/csv; charset=utf-8", f"{row.name} and {other.name}", "csv"
    )


@router.get("/mappings/{mapping_id}/comparisons/{other_id}/deviation", response=DeviationOut)
def get_deviation(request: HttpRequest, mapping_id: Id, other_id: Id, sampled: Query[SamplingRequest]) -> Any:
    """The deviation of two port mappings on random experiments."""
    return _deviation_json(mapping_id, get_object_or_404(PortMapping, pk=other_id), sampled)


@router.get(
    "/mappings/{mapping_id}/resource-comparisons/{resource_mapping_id}/deviation", response=DeviationOut
)
def get_deviation_of_resources(
    request: HttpRequest, mapping_id: Id, resource_mapping_id: Id, sampled: Query[SamplingRequest]
) -> Any:
    """The deviation of a port mapping and a resource mapping on random experiments."""
    return _deviation_json(mapping_id, get_object_or_404(ResourceMapping, pk=resource_mapping_id), sampled)


@router.get(
    "/mappings/{mapping_id}/resource-comparisons/{resource_mapping_id}/schemes",
    response=PageOf[BesideLoadsOut],
)
def list_schemes_beside_loads(
    request: HttpRequest,
    mapping_id: Id,
    resource_mapping_id: Id,
    paging: Query[Paging],
    q: Text = "",
    show: Relation = "",
) -> Any:
    """The schemes of a port mapping and a resource mapping, the largest differences first."""
    row = get_object_or_404(PortMapping.objects.select_related("isa"), pk=mapping_id)
    other = get_object_or_404(ResourceMapping.objects.select_related("isa"), pk=resource_mapping_id)

    def page_json(page: Sequence[ComparedScheme]) -> list[dict[str, Any]]:
        loads = described_loads(other, [scheme.scheme for scheme in page])
        return [
            {
                **_scheme_json(scheme),
                "uops": _uops_json_or_none(scheme.uops[0], row.ports),
                "loads": loads.get(scheme.scheme),
            }
            for scheme in page
        ]

    schemes = differences_first(compared_schemes(row, other), row.isa_id, q, show)
    return list_answer_in_memory(schemes, paging, page_json)


def _mappings(mapping_id: int, other_id: int) -> tuple[PortMapping, PortMapping]:
    rows = PortMapping.objects.select_related("isa", "machine", "run")
    return get_object_or_404(rows, pk=mapping_id), get_object_or_404(rows, pk=other_id)


def _scheme_json(compared: ComparedScheme) -> dict[str, Any]:
    return {
        "scheme": compared.scheme,
        "kind": compared.kind.value,
        "first_cycles": compared.cycles[0],
        "second_cycles": compared.cycles[1],
    }


def _uops_json_or_none(uops: Uops | None, ports: Sequence[str]) -> list[dict[str, Any]] | None:
    return None if uops is None else uops_json(uops, ports)


def _contradiction_json(row: PortMapping, witness: ReferenceContradiction | None) -> dict[str, Any] | None:
    if witness is None:
        return None
    copied = {name: getattr(witness, name) for name in ("blocker", "copies", "shown", "said")}
    return {**copied, "ports": [row.ports[bit] for bit in ports_in(witness.mask)]}


def _deviation_json(mapping_id: int, other: Model, sampled: SamplingRequest) -> dict[str, Any]:
    row = get_object_or_404(PortMapping, pk=mapping_id)
    apart = deviation_of(row, other, sampled.as_sampling())
    points = apart.points
    return {
        "first": ref(row),
        "second": ref(other),
        "unit": sampled.unit.value,
        "common": apart.common,
        "r_max": list(apart.r_max),
        "skipped": apart.skipped,
        "scores": apart.scores.as_json(),
        "backwards": apart.backwards.as_json(),
        "heat_map": heat_map(points.reference, points.predicted).as_json() if len(points) else None,
        "furthest": furthest_json(apart.furthest),
    }
