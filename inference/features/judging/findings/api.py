"""What is questionable of schemes, for programs: doubts, conflicts, excess, and weak classes."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from inference.features.judging.findings.conflicts import SetConflicts, conflicts_in, conflicts_json
from inference.features.judging.findings.congruence import congruence_json, congruence_of
from inference.features.judging.findings.doubts_api import router as doubts_router
from inference.features.judging.findings.excess import excess_in, excess_json
from inference.features.judging.findings.measuring import Remeasurement
from inference.features.judging.findings.request import ConflictsRequest
from inference.features.learning.inferring.classes_section import FEW_COMPARED
from inference.isa.search import SearchError
from inference.models import ExperimentSet, PortMapping
from inference.storage.rows import load_mapping
from inference.web.api.errors import ProblemError
from inference.web.api.runs import RunOut
from inference.web.api.shapes import Cycles, Input, Ref, SchemeText, parameter, ref
from inference.web.validation import Id

router = Router()
router.add_router("", doubts_router)
PAIRS = 1000
"""Pairs in an answer."""
LARGEST = 20
"""Experiments of a group in an answer."""


class AloneInSetOut(Schema):
    """A scheme with what one instance takes."""

    scheme_id: Id
    scheme: SchemeText
    cycles: Cycles
    experiment_id: Id


class ConflictRowOut(Schema):
    """A row of the matrix."""

    schemes: list[AloneInSetOut]


class ConflictsOut(Schema):
    """Shares between the rows, from 0 (side by side) to 1 (one waits for the other); null: not measured."""

    experiment_set: Ref
    pairs: int = Field(description="Pairs that were measured.", examples=[4950])
    competing: int = Field(description="Pairs with a share of at least a quarter.", examples=[612])
    left_out: int = Field(description="Schemes in pairs for which there is no row.", examples=[0])
    rows: list[ConflictRowOut] = Field(description="Clustered: those that compete stand side by side.")
    shares: list[list[float | None]] = Field(examples=[[[None, 1.0], [1.0, None]]])


class ConflictPairOut(Schema):
    """Two schemes alone, and one of each together."""

    first: AloneInSetOut
    second: AloneInSetOut
    cycles: Cycles
    experiment_id: Id = Field(description="The experiment with both.")
    share: float = Field(
        description="Part of the quicker one's cycles that is added to the slower one's.", examples=[1.0]
    )


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
    largest: list[ExceedingOut] = Field(description=f"At most {LARGEST}, the largest excess first.")


class ExcessOut(Schema):
    """What of a set takes longer than a mapping allows."""

    mapping: Ref
    experiment_set: Ref
    experiments: int = Field(description="Of the set, that the mapping knows.", examples=[2000])
    exceeding: int = Field(examples=[150])
    groups: list[ExcessGroupOut]


@router.get("/sets/{set_id}/conflicts", response=ConflictsOut)
def get_conflicts(request: HttpRequest, set_id: Id, asked: Query[ConflictsRequest]) -> Any:
    """Who competes with whom, from schemes alone and in pairs: no port mapping is needed."""
    row, found = _conflicts(set_id, asked)
    return conflicts_json(row, found, asked.by)


@router.get("/sets/{set_id}/conflicts/{scheme_id}", response=list[ConflictPairOut])
def list_competitors(
    request: HttpRequest,
    set_id: Id,
    scheme_id: Id,
    other: int | None = parameter(None, ge=0, le=2**63 - 1, examples=[None]),
) -> Any:
    """The pairs of a scheme, the largest share first; only that with the scheme of the number `other`."""
    row, found = _conflicts(set_id, ConflictsRequest())
    text = next((text for text, pk in found.ids.items() if pk == scheme_id), None)
    if text is None:
        raise ProblemError(
            404, f"scheme {scheme_id} was not measured alone in {row.name!r}", where="path scheme_id"
        )
    pairs = [pair for pair in found.pairs_of(text) if other in (None, found.ids.get(pair.second))]
    return list(map(found.pair_json, pairs[:PAIRS]))


@router.get("/mappings/{mapping_id}/excess/{set_id}", response=ExcessOut)
def get_excess(request: HttpRequest, mapping_id: Id, set_id: Id) -> Any:
    """Measurements of a set that take longer than the mapping allows, grouped by what limits them."""
    row = _mapping(mapping_id)
    dataset = get_object_or_404(ExperimentSet, pk=set_id, isa_id=row.isa_id)
    numbers = excess_json(excess_in(row, dataset), load_mapping(row).ports, LARGEST)
    return {"mapping": ref(row), "experiment_set": ref(dataset), **numbers}


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
    proposal = Remeasurement(row, pairs, 1, f"{row.name[:100]}: pairs for its classes")
    return proposal.from_program(request, data.machine)


def _mapping(mapping_id: int) -> PortMapping:
    return get_object_or_404(PortMapping.objects.select_related("isa", "machine", "run"), pk=mapping_id)


def _conflicts(set_id: int, asked: ConflictsRequest) -> tuple[ExperimentSet, SetConflicts]:
    row = get_object_or_404(ExperimentSet.objects.select_related("isa"), pk=set_id)
    try:
        return row, conflicts_in(row, asked)
    except SearchError as error:
        raise ProblemError(422, str(error), where="query q", right="a search for schemes") from error
