"""Operations on a port mapping beside another model: on random experiments, and beside loads by scheme."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from inference.core.deviating import Sampling
from inference.core.identity import ComparedScheme
from inference.core.metrics import Unit as Units
from inference.features.judging.comparing.deviation_query import (
    Model,
    beside_loads,
    described_loads,
    deviation_of,
)
from inference.features.judging.comparing.query import differences_first
from inference.figures.heatmap import heat_map
from inference.models import PortMapping, ResourceMapping
from inference.models.scheme_search import texts_found
from inference.web.api.mapping_shapes import HeatMapOut
from inference.web.api.paging import PageOf, Paging, listed_in_memory
from inference.web.api.shapes import Ref, SchemeText, Scores, Text, Unit, Uop, ref, uops_json
from inference.web.validation import Id

router = Router()
Shown = Literal["", "different", "only-first", "only-second", "equal"]
MOST = 20_000


class Sampled(Schema):
    """Which random experiments both are asked about."""

    experiments: int = Field(Sampling.experiments, ge=1, le=MOST)
    length: int = Field(Sampling.length, ge=1, le=100, description="Instructions of each.")
    seed: int = Field(Sampling.seed, ge=0, le=2**63 - 1)
    unit: Units = Sampling.unit
    r_max: float | None = Field(
        None,
        description="Instructions per cycle to hold both to, instead of their own.",
        examples=[5.0],
    )


class FurthestOut(Schema):
    """The experiment on which the models are furthest apart."""

    experiment: str = Field(examples=["2*add GPR[64]:RW, GPR[64]:R"])
    first: float = Field(examples=[4.0])
    second: float = Field(examples=[2.0])


class DeviationOut(Schema):
    """Two models on the same experiments; no measurement says which is right.

    `scores` has the second against the first, `backwards` the first against the second. `heat_map` has the
    first across.
    """

    first: Ref
    second: Ref
    unit: Unit
    common: int = Field(description="Schemes that both know.", examples=[497])
    r_max: list[float | None] = Field(description="What each was held to.", examples=[[5.0, 5.0]])
    skipped: int = Field(description="Experiments that a model takes to need no time.", examples=[0])
    scores: Scores
    backwards: Scores
    heat_map: HeatMapOut | None
    furthest: FurthestOut | None


class BesideLoadsOut(Schema):
    """A scheme in both: the µops of the one, the loads of the other in words; null where one lacks it."""

    scheme: SchemeText
    kind: str = Field(description="different, only-first, only-second or equal.", examples=["different"])
    uops: list[Uop] | None
    loads: str | None = Field(examples=["r01: 0.5"])
    first_cycles: float | None = Field(description="Alone.", examples=[0.5])
    second_cycles: float | None = Field(examples=[1.0])


@router.get("/mappings/{mapping_id}/comparisons/{other_id}/deviation", response=DeviationOut)
def get_deviation(request: HttpRequest, mapping_id: Id, other_id: Id, sampled: Query[Sampled]) -> Any:
    """How far two port mappings are apart on random experiments."""
    return _deviation(mapping_id, get_object_or_404(PortMapping, pk=other_id), sampled)


@router.get(
    "/mappings/{mapping_id}/resource-comparisons/{resource_mapping_id}/deviation", response=DeviationOut
)
def get_deviation_of_resources(
    request: HttpRequest, mapping_id: Id, resource_mapping_id: Id, sampled: Query[Sampled]
) -> Any:
    """How far a port mapping and a resource mapping are apart on random experiments."""
    return _deviation(mapping_id, get_object_or_404(ResourceMapping, pk=resource_mapping_id), sampled)


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
    show: Shown = "",
) -> Any:
    """The schemes of a port mapping and a resource mapping side by side, the largest differences first."""
    row = get_object_or_404(PortMapping.objects.select_related("isa"), pk=mapping_id)
    other = get_object_or_404(ResourceMapping.objects.select_related("isa"), pk=resource_mapping_id)
    found = [each for each in differences_first(beside_loads(row, other)) if show in ("", each.kind.value)]
    if q.strip():
        wanted = texts_found(row.isa_id, q)
        found = [each for each in found if each.scheme in wanted]

    def told(page: Sequence[ComparedScheme]) -> list[dict[str, Any]]:
        loads = described_loads(other, [each.scheme for each in page])
        return [_beside(each, row, loads.get(each.scheme)) for each in page]

    return listed_in_memory(found, paging, told)


def _beside(each: ComparedScheme, row: PortMapping, loads: str | None) -> dict[str, Any]:
    uops = each.uops[0]
    return {
        "scheme": each.scheme,
        "kind": each.kind.value,
        "uops": None if uops is None else uops_json(uops, row.ports),
        "loads": loads,
        "first_cycles": each.cycles[0],
        "second_cycles": each.cycles[1],
    }


def _deviation(mapping_id: int, other: Model, sampled: Sampled) -> dict[str, Any]:
    row = get_object_or_404(PortMapping, pk=mapping_id)
    found = deviation_of(row, other, Sampling(**sampled.dict()))
    drawn = heat_map(found.first, found.second).as_json() if found.scores.n else None
    furthest = None if found.furthest is None else vars(found.furthest)
    return {
        "first": ref(row),
        "second": ref(other),
        "unit": sampled.unit.value,
        "common": found.common,
        "r_max": list(found.r_max),
        "skipped": found.skipped,
        "scores": found.scores.as_json(),
        "backwards": found.backwards.as_json(),
        "heat_map": drawn,
        "furthest": furthest and {**furthest, "experiment": str(furthest["experiment"])},
    }
