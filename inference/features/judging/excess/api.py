"""Measurements that take longer than a port mapping allows, by the µops that limit them."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Router, Schema
from pydantic import Field

from inference.features.judging.excess.query import excess_in
from inference.models import ExperimentSet, PortMapping
from inference.storage.rows import load_mapping
from inference.web.api.shapes import Ref, ref
from inference.web.validation import Id

router = Router()
SHOWN = 20  # experiments of a group


class ExceedingOut(Schema):
    """An experiment, its cycles, and the share of the prediction by which it takes longer."""

    experiment: str = Field(examples=["vmulpd XMM:W, XMM:R, XMM:R; vpaddd XMM:W, XMM:R, XMM:R"])
    measured: float = Field(examples=[0.733])
    predicted: float = Field(examples=[0.667])
    excess: float = Field(examples=[0.1])
    readings: int = Field(examples=[1])
    repeated: bool = Field(description="Every one of several readings is longer.", examples=[False])


class ExcessGroupOut(Schema):
    """Experiments that the same µops limit; no port sets where issue slots do."""

    port_sets: list[list[str]] = Field(examples=[[["8", "9"], ["6", "8", "9"]]])
    experiments: int = Field(examples=[12])
    exceeding: int = Field(examples=[11])
    median: float = Field(description="Of the excess of those that exceed.", examples=[0.1])
    largest: list[ExceedingOut] = Field(description=f"At most {SHOWN}, the largest excess first.")


class ExcessOut(Schema):
    """What of a set takes longer than a mapping allows."""

    mapping: Ref
    experiment_set: Ref
    experiments: int = Field(description="Of the set, that the mapping knows.", examples=[2000])
    exceeding: int = Field(examples=[150])
    groups: list[ExcessGroupOut]


@router.get("/mappings/{mapping_id}/excess/{set_id}", response=ExcessOut)
def get_excess(request: HttpRequest, mapping_id: Id, set_id: Id) -> Any:
    """Measurements of a set that take longer than the mapping allows, grouped by what limits them."""
    row = get_object_or_404(PortMapping, pk=mapping_id)
    dataset = get_object_or_404(ExperimentSet, pk=set_id, isa_id=row.isa_id)
    found, ports = excess_in(row, dataset), load_mapping(row).ports
    return {
        "mapping": ref(row),
        "experiment_set": ref(dataset),
        "experiments": found.experiments,
        "exceeding": found.exceeding,
        "groups": [group.as_json(ports, SHOWN) for group in found.groups],
    }
