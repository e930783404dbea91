"""What is questionable of schemes, for programs: doubts, conflicts, excess, and weak classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from inference.core.doubting import Doubt, DoubtKind
from inference.features.judging.engine.excess_view import excess_in, excess_json
from inference.features.judging.findings.conflicts import SetConflicts, conflicts_in, conflicts_json
from inference.features.judging.findings.congruence import congruence_json, congruence_of
from inference.features.judging.findings.doubts import DoubtsOf, ask
from inference.features.judging.findings.evidence import DoubtDecision, Remeasurement
from inference.features.judging.findings.request import ConflictsRequest, DoubtsRequest
from inference.features.judging.findings.runs_api import router as runs_router
from inference.features.learning.inferring.classes_section import FEW_COMPARED
from inference.isa.search import SearchError
from inference.models import ExperimentSet, InstructionScheme, PortMapping
from inference.runs.request import OneOf
from inference.storage.rows import ids_of_schemes, load_mapping
from inference.web.api import access
from inference.web.api.access import Deed
from inference.web.api.document import FILE
from inference.web.api.errors import ProblemError
from inference.web.api.paging import PageOf, Paging, listed_in_memory
from inference.web.api.shapes import Cycles, Input, Ref, RunOut, SchemeText, Uop, parameter, ref, uops_json
from inference.web.file_answers import attachment
from inference.web.validation import Id, RequestError

router = Router()
router.add_router("", runs_router)
Kind = Annotated[str, OneOf(kind.value for kind in DoubtKind)]
PAIRS = 1000
"""Pairs in an answer."""
LARGEST = 20
"""Experiments of a group in an answer."""


class DoubtOut(Schema):
    """A reason to doubt what a mapping says of a scheme; its µops, and those that it may have instead."""

    kind: str = Field(description="ambiguous, excluded, mispredicted or conflict.", examples=["ambiguous"])
    scheme_id: Id | None
    scheme: SchemeText
    why: str = Field(examples=["another port mapping explains the measurements as well"])
    uops: list[Uop] | None
    others: list[list[Uop]]


class DecisionOut(Schema):
    """An experiment that would decide: predicted with the µops here, with the others, and measured."""

    experiment: str = Field(examples=["2*add GPR[64]:RW, GPR[64]:R"])
    here: Cycles
    otherwise: Cycles
    measured: Cycles | None


class DoubtInFull(DoubtOut):
    """A doubt with the experiments that it rests on, which a run can measure again, and one that decides."""

    again: list[str] = Field(examples=[["add GPR[64]:RW, GPR[64]:R"]])
    decides: DecisionOut | None


class MeasureDoubt(Input):
    """Which experiments about a doubt are measured, and where."""

    machine: Id
    kind: Kind = Field(description="Of the doubt.", examples=["ambiguous"])
    what: Literal["again", "decide"] = Field(
        "again", description="What it rests on, or the experiment that would decide.", examples=["decide"]
    )


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


@router.get("/mappings/{mapping_id}/doubts", response=PageOf[DoubtOut])
def list_doubts(
    request: HttpRequest, mapping_id: Id, paging: Query[Paging], asked: Query[DoubtsRequest]
) -> Any:
    """What is ambiguous, excluded, badly predicted, or in conflict with another mapping."""
    found = ask(_mapping(mapping_id), asked)
    return listed_in_memory(found.listed, paging, lambda doubts: _doubts_json(found, doubts))


@router.get("/mappings/{mapping_id}/doubts/export", response=str, openapi_extra={FILE: "text/csv"})
def export_doubts(request: HttpRequest, mapping_id: Id, asked: Query[DoubtsRequest]) -> HttpResponse:
    """All doubts as CSV, or those of one kind."""
    found = ask(_mapping(mapping_id), asked)
    access.note(request, Deed.EXPORTED, found.row)
    return attachment(found.csv, "text/csv; charset=utf-8", f"{found.row.name} doubts", "csv")


@router.get("/mappings/{mapping_id}/doubts/{scheme_id}", response=list[DoubtInFull])
def get_doubts(request: HttpRequest, mapping_id: Id, scheme_id: Id, asked: Query[DoubtsRequest]) -> Any:
    """The doubts about one scheme, with the experiments to measure again and those that would decide.

    Measure them by `POST` to its `/measurements`, or by a run of kind `measure` with the plan `listed`.
    """
    found = ask(_mapping(mapping_id), asked)
    scheme = get_object_or_404(InstructionScheme, pk=scheme_id, isa=found.row.isa_id)
    doubts = [doubt for doubt in found.listed if doubt.scheme == scheme.text]
    decided = found.decisions(doubts)
    return [
        {**line, "again": list(map(str, found.again(doubt))), "decides": _decision(decided.get(doubt))}
        for doubt, line in zip(doubts, _doubts_json(found, doubts), strict=True)
    ]


@router.post("/mappings/{mapping_id}/doubts/{scheme_id}/measurements", response={201: RunOut})
def measure_doubt(
    request: HttpRequest, mapping_id: Id, scheme_id: Id, data: MeasureDoubt, asked: Query[DoubtsRequest]
) -> Any:
    """Measure what a doubt about a scheme rests on again, or the experiment that would decide it."""
    found = ask(_mapping(mapping_id), asked)
    scheme = get_object_or_404(InstructionScheme, pk=scheme_id, isa=found.row.isa_id)
    try:
        proposal = found.remeasurement(data.kind, scheme.text, decides=data.what == "decide")
    except RequestError as error:
        raise ProblemError(422, error.what, where="body kind", right=error.right) from error
    return proposal.from_program(request, data.machine)


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


def _doubts_json(found: DoubtsOf, doubts: Sequence[Doubt]) -> list[dict[str, Any]]:
    ids = ids_of_schemes(found.row.isa_id, (doubt.scheme for doubt in doubts))
    ports = found.doubts.ports
    return [
        {
            "kind": doubt.kind.value,
            "scheme_id": ids.get(doubt.scheme),
            "scheme": doubt.scheme,
            "why": doubt.words,
            "uops": None if doubt.here is None else uops_json(doubt.here, ports),
            "others": [uops_json(uops, ports) for uops in doubt.others],
        }
        for doubt in doubts
    ]


def _decision(decision: DoubtDecision | None) -> dict[str, Any] | None:
    if decision is None:
        return None
    told = decision.distinction
    return {
        "experiment": str(told.experiment),
        "here": told.first,
        "otherwise": told.second,
        "measured": decision.measured,
    }
