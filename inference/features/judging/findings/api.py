"""Findings about schemes in the API: doubts, conflicts, slower experiments, and weak classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from inference.core.misfits import Doubt, DoubtKind
from inference.features.judging.engine.excess_view import excess_in, excess_json
from inference.features.judging.findings.conflicts import SetConflicts, conflicts_in, conflicts_json
from inference.features.judging.findings.congruence import congruence_json, congruence_of
from inference.features.judging.findings.doubts import MappingDoubts, requested_doubts
from inference.features.judging.findings.evidence import DoubtDecision, Remeasurement
from inference.features.judging.findings.request import ConflictsRequest, DoubtsRequest
from inference.features.judging.findings.runs_api import router as runs_router
from inference.features.learning.inferring.classes_section import FEW_COMPARED
from inference.isa.search import SearchError
from inference.models import ExperimentSet, InstructionScheme, PortMapping
from inference.runs.request import AllowedTexts
from inference.storage.mappings import load_mapping
from inference.storage.rows import ids_of_schemes
from inference.web.api import access
from inference.web.api.access import AuditAction
from inference.web.api.document import FILE
from inference.web.api.errors import ProblemError
from inference.web.api.paging import PageOf, Paging, list_answer_in_memory
from inference.web.api.shapes import Cycles, Input, Ref, RunOut, SchemeText, Uop, parameter, ref, uops_json
from inference.web.file_answers import attachment
from inference.web.validation import Id, RequestError

router = Router()
router.add_router("", runs_router)
Kind = Annotated[str, AllowedTexts(kind.value for kind in DoubtKind)]
MAX_PAIRS = 1000
"""Pairs in a response."""
MAX_EXPERIMENTS = 20
"""Experiments of a group in a response."""


class DoubtOut(Schema):
    """A reason to doubt the µops of a scheme in a mapping, with these and the alternative ones."""

    kind: str = Field(description="ambiguous, excluded, mispredicted or conflict.", examples=["ambiguous"])
    scheme_id: Id | None
    scheme: SchemeText
    why: str = Field(examples=["another port mapping explains the measurements as well"])
    uops: list[Uop] | None
    others: list[list[Uop]]


class DecisionOut(Schema):
    """An experiment that decides: predicted with the mapping's µops, with the others, and measured."""

    experiment: str = Field(examples=["2*add GPR[64]:RW, GPR[64]:R"])
    here: Cycles
    otherwise: Cycles
    measured: Cycles | None


class DoubtInFull(DoubtOut):
    """A doubt with the experiments of its evidence, which a run can repeat, and one that decides."""

    again: list[str] = Field(examples=[["add GPR[64]:RW, GPR[64]:R"]])
    decides: DecisionOut | None


class MeasureDoubt(Input):
    """The experiments about a doubt to measure, and the machine."""

    machine: Id
    kind: Kind = Field(description="Kind of the doubt.", examples=["ambiguous"])
    what: Literal["again", "decide"] = Field(
        "again",
        description="again: repeat the evidence; decide: measure the deciding experiment.",
        examples=["decide"],
    )


class AloneInSetOut(Schema):
    """A scheme and the cycles of one instance."""

    scheme_id: Id
    scheme: SchemeText
    cycles: Cycles
    experiment_id: Id


class ConflictRowOut(Schema):
    """A row of the conflict matrix."""

    schemes: list[AloneInSetOut]


class ConflictsOut(Schema):
    """The shares between the rows, from 0 (no competition) to 1 (one waits for the other); null: not
    measured."""

    experiment_set: Ref
    pairs: int = Field(description="Number of measured pairs.", examples=[4950])
    competing: int = Field(description="Number of pairs with a share of at least 0.25.", examples=[612])
    left_out: int = Field(description="Number of schemes in measured pairs without a row.", examples=[0])
    rows: list[ConflictRowOut] = Field(description="Clustered: competing schemes are adjacent.")
    shares: list[list[float | None]] = Field(examples=[[[None, 1.0], [1.0, None]]])


class ConflictPairOut(Schema):
    """Two schemes, the cycles of each alone, and of both together."""

    first: AloneInSetOut
    second: AloneInSetOut
    cycles: Cycles
    experiment_id: Id = Field(description="Id of the experiment with both.")
    share: float = Field(
        description="Share of the faster one's cycles that adds to the slower one's.", examples=[1.0]
    )


class WeakMemberOut(Schema):
    """A scheme in a representative's class after few comparisons."""

    scheme: SchemeText
    representative: SchemeText
    compared: int = Field(description="Number of compared experiments.", examples=[1])
    missing: list[str] = Field(description="Missing pairs.", examples=[["add …; imul …"]])


class CongruenceOut(Schema):
    """Congruence classes; the first scheme of each is its representative."""

    classes: list[list[str]]
    known: bool = Field(description="Whether the run has stored its comparisons.", examples=[True])
    few: int = Field(description="Members with fewer comparisons are listed.", examples=[FEW_COMPARED])
    weak: list[WeakMemberOut]
    missing: list[str] = Field(description="All missing pairs, each once.")


class MeasurePairs(Input):
    """The machine that measures the missing pairs."""

    machine: Id


class ExceedingOut(Schema):
    """An experiment that is slower than predicted; `excess`: by this share of the prediction."""

    experiment: str = Field(examples=["vmulpd XMM:W, XMM:R, XMM:R; vpaddd XMM:W, XMM:R, XMM:R"])
    measured: float = Field(examples=[0.733])
    predicted: float = Field(examples=[0.667])
    excess: float = Field(examples=[0.1])
    readings: int = Field(examples=[1])
    repeated: bool = Field(
        description="Whether each of several readings exceeds the prediction.", examples=[False]
    )


class ExcessGroupOut(Schema):
    """Experiments limited by the same µops; no port sets if issue slots limit them."""

    port_sets: list[list[str]] = Field(examples=[[["8", "9"], ["6", "8", "9"]]])
    experiments: int = Field(examples=[12])
    exceeding: int = Field(examples=[11])
    median: float = Field(description="Median excess of the exceeding experiments.", examples=[0.1])
    largest: list[ExceedingOut] = Field(description=f"At most {MAX_EXPERIMENTS}, the largest excess first.")


class ExcessOut(Schema):
    """The experiments of a set that are slower than a mapping predicts."""

    mapping: Ref
    experiment_set: Ref
    experiments: int = Field(description="Experiments that the mapping describes.", examples=[2000])
    exceeding: int = Field(examples=[150])
    groups: list[ExcessGroupOut]


@router.get("/mappings/{mapping_id}/doubts", response=PageOf[DoubtOut])
def list_doubts(
    request: HttpRequest, mapping_id: Id, paging: Query[Paging], doubts_request: Query[DoubtsRequest]
) -> Any:
    """List schemes that are ambiguous, excluded, badly predicted, or in conflict with another mapping."""
    mapping_doubts = requested_doubts(_mapping(mapping_id), doubts_request)
    return list_answer_in_memory(
        mapping_doubts.listed, paging, lambda doubts: _doubts_json(mapping_doubts, doubts)
    )


@router.get("/mappings/{mapping_id}/doubts/export", response=str, openapi_extra={FILE: "text/csv"})
def export_doubts(request: HttpRequest, mapping_id: Id, doubts_request: Query[DoubtsRequest]) -> HttpResponse:
    """All doubts, or those of one kind, as CSV."""
    mapping_doubts = requested_doubts(_mapping(mapping_id), doubts_request)
    access.log_action(request, AuditAction.EXPORTED, mapping_doubts.row)
    return attachment(
        mapping_doubts.csv, "text/csv; charset=utf-8", f"{mapping_doubts.row.name} doubts", "csv"
    )


@router.get("/mappings/{mapping_id}/doubts/{scheme_id}", response=list[DoubtInFull])
def get_doubts(
    request: HttpRequest, mapping_id: Id, scheme_id: Id, doubts_request: Query[DoubtsRequest]
) -> Any:
    """The doubts about one scheme, with the experiments to repeat and those that decide.

    Measure them by `POST` to its `/measurements`, or by a run of kind `measure` with the plan `listed`.
    """
    mapping_doubts = requested_doubts(_mapping(mapping_id), doubts_request)
    scheme = get_object_or_404(InstructionScheme, pk=scheme_id, isa=mapping_doubts.row.isa_id)
    doubts = [doubt for doubt in mapping_doubts.listed if doubt.scheme == scheme.text]
    decisions = mapping_doubts.decisions(doubts)
    return [
        {
            **line,
            "again": list(map(str, mapping_doubts.again(doubt))),
            "decides": _decision_json(decisions.get(doubt)),
        }
        for doubt, line in zip(doubts, _doubts_json(mapping_doubts, doubts), strict=True)
    ]


@router.post("/mappings/{mapping_id}/doubts/{scheme_id}/measurements", response={201: RunOut})
def measure_doubt(
    request: HttpRequest,
    mapping_id: Id,
    scheme_id: Id,
    data: MeasureDoubt,
    doubts_request: Query[DoubtsRequest],
) -> Any:
    """Start a run that repeats a doubt's evidence, or measures the experiment that decides it."""
    mapping_doubts = requested_doubts(_mapping(mapping_id), doubts_request)
    scheme = get_object_or_404(InstructionScheme, pk=scheme_id, isa=mapping_doubts.row.isa_id)
    try:
        proposal = mapping_doubts.remeasurement(data.kind, scheme.text, decides=data.what == "decide")
    except RequestError as error:
        raise ProblemError(422, error.what, where="body kind", right=error.right) from error
    return proposal.from_program(request, data.machine)


@router.get("/sets/{set_id}/conflicts", response=ConflictsOut)
def get_conflicts(request: HttpRequest, set_id: Id, conflicts_request: Query[ConflictsRequest]) -> Any:
    """The competition of schemes for ports, from schemes alone and in pairs; needs no port mapping."""
    row, conflicts = _conflicts(set_id, conflicts_request)
    return conflicts_json(row, conflicts, conflicts_request.by)


@router.get("/sets/{set_id}/conflicts/{scheme_id}", response=list[ConflictPairOut])
def list_competitors(
    request: HttpRequest,
    set_id: Id,
    scheme_id: Id,
    other: int | None = parameter(None, ge=0, le=2**63 - 1, examples=[None]),
) -> Any:
    """The pairs of a scheme, the largest share first; with `other`, only the pair with that scheme."""
    row, conflicts = _conflicts(set_id, ConflictsRequest())
    text = next((text for text, pk in conflicts.ids.items() if pk == scheme_id), None)
    if text is None:
        raise ProblemError(
            404, f"scheme {scheme_id} was not measured alone in {row.name!r}", where="path scheme_id"
        )
    pairs = [pair for pair in conflicts.pairs_of(text) if other in (None, conflicts.ids.get(pair.second))]
    return list(map(conflicts.pair_json, pairs[:MAX_PAIRS]))


@router.get("/mappings/{mapping_id}/excess/{set_id}", response=ExcessOut)
def get_excess(request: HttpRequest, mapping_id: Id, set_id: Id) -> Any:
    """The experiments of a set that are slower than the mapping predicts, grouped by what limits them."""
    row = _mapping(mapping_id)
    dataset = get_object_or_404(ExperimentSet, pk=set_id, isa_id=row.isa_id)
    numbers = excess_json(excess_in(row, dataset), load_mapping(row).ports, MAX_EXPERIMENTS)
    return {"mapping": ref(row), "experiment_set": ref(dataset), **numbers}


@router.get("/mappings/{mapping_id}/congruence", response=CongruenceOut)
def get_congruence(request: HttpRequest, mapping_id: Id) -> Any:
    """The congruence classes, and the members with few comparisons."""
    return congruence_json(congruence_of(_mapping(mapping_id)))


@router.post("/mappings/{mapping_id}/congruence/measurements", response={201: RunOut})
def measure_congruence(request: HttpRequest, mapping_id: Id, data: MeasurePairs) -> Any:
    """Start a run that measures the missing pairs; an inference from both sets has better classes."""
    row = _mapping(mapping_id)
    pairs = congruence_of(row).pairs
    if not pairs:
        raise ProblemError(409, f"No pair is missing for the classes of {row.name}", where="path mapping_id")
    proposal = Remeasurement(row, pairs, 1, f"{row.name[:100]}: pairs for its classes")
    return proposal.from_program(request, data.machine)


def _mapping(mapping_id: int) -> PortMapping:
    return get_object_or_404(PortMapping.objects.select_related("isa", "machine", "run"), pk=mapping_id)


def _conflicts(set_id: int, conflicts_request: ConflictsRequest) -> tuple[ExperimentSet, SetConflicts]:
    row = get_object_or_404(ExperimentSet.objects.select_related("isa"), pk=set_id)
    try:
        return row, conflicts_in(row, conflicts_request)
    except SearchError as error:
        raise ProblemError(422, str(error), where="query q", right="a search for schemes") from error


def _doubts_json(mapping_doubts: MappingDoubts, doubts: Sequence[Doubt]) -> list[dict[str, Any]]:
    ids = ids_of_schemes(mapping_doubts.row.isa_id, (doubt.scheme for doubt in doubts))
    ports = mapping_doubts.doubts.ports
    return [
        {
            "kind": doubt.kind.value,
            "scheme_id": ids.get(doubt.scheme),
            "scheme": doubt.scheme,
            "why": doubt.words,
            "uops": None if doubt.uops is None else uops_json(doubt.uops, ports),
            "others": [uops_json(uops, ports) for uops in doubt.alternatives],
        }
        for doubt in doubts
    ]


def _decision_json(decision: DoubtDecision | None) -> dict[str, Any] | None:
    if decision is None:
        return None
    distinction = decision.distinction
    return {
        "experiment": str(distinction.experiment),
        "here": distinction.first,
        "otherwise": distinction.second,
        "measured": decision.measured,
    }
