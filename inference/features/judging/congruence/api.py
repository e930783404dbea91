"""Which congruent schemes were compared by few experiments, for programs, and what to measure then."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Router, Schema
from pydantic import Field

from inference.features.judging.congruence.query import ComparedClasses, congruence_of
from inference.features.learning.explained.remeasuring import machine_of
from inference.features.learning.inferring.classes_section import FEW_COMPARED
from inference.features.machines.measure.listed import listed_config
from inference.features.running.runs.runs_of_kind import started
from inference.models import PortMapping
from inference.web.api.errors import ProblemError
from inference.web.api.runs import RunOut
from inference.web.api.shapes import Input, SchemeText
from inference.web.validation import Id

router = Router()


class WeakMemberOut(Schema):
    """A scheme in the class of a representative after few comparisons."""

    scheme: SchemeText
    representative: SchemeText
    compared: int = Field(description="Experiments of both that were compared.", examples=[1])
    missing: list[str] = Field(description="Pairs to measure.", examples=[["add …; imul …"]])


class CongruenceOut(Schema):
    """Classes of schemes that behave alike; the first of each is its representative."""

    classes: list[list[str]]
    known: bool = Field(description="Whether the run has told what was compared.", examples=[True])
    few: int = Field(description="Comparisons below which a member is listed.", examples=[FEW_COMPARED])
    weak: list[WeakMemberOut]
    missing: list[str] = Field(description="All pairs to measure, each once.")


class MeasurePairs(Input):
    """Where the missing pairs are measured."""

    machine: Id


@router.get("/mappings/{mapping_id}/congruence", response=CongruenceOut)
def get_congruence(request: HttpRequest, mapping_id: Id) -> Any:
    """The classes of schemes that behave alike, and those members that rest on few comparisons."""
    return congruence_json(congruence_of(_mapping(mapping_id)))


@router.post("/mappings/{mapping_id}/congruence/measurements", response={201: RunOut})
def measure_congruence(request: HttpRequest, mapping_id: Id, data: MeasurePairs) -> Any:
    """Measure the missing pairs on a machine. An inference that learns from both sets knows better."""
    row = _mapping(mapping_id)
    pairs = congruence_of(row).pairs
    if not pairs:
        raise ProblemError(409, f"No pair is missing for the classes of {row.name}", where="path mapping_id")
    machine = machine_of(row, data.machine)
    name = f"{row.name[:100]}: pairs for its classes on {machine.name}"[:180]
    return started(request, "measure", listed_config(machine.pk, pairs, 1), name)


def congruence_json(found: ComparedClasses) -> dict[str, Any]:
    return {
        "classes": [list(members) for members in found.classes],
        "known": bool(found.likeness),
        "few": FEW_COMPARED,
        "weak": [
            {
                "scheme": each.scheme,
                "representative": each.representative,
                "compared": each.compared,
                "missing": [str(pair) for pair in each.pairs],
            }
            for each in found.weak
        ],
        "missing": [str(pair) for pair in found.pairs],
    }


def _mapping(mapping_id: int) -> PortMapping:
    return get_object_or_404(PortMapping.objects.select_related("isa", "machine", "run"), pk=mapping_id)
