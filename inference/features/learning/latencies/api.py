"""API of latencies: sets, and their schemes with the measured chains."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from inference.features.learning.latencies.query import (
    SCHEME_COLUMNS,
    SET_COLUMNS,
    bypass_kinds,
    latencies_of,
    latencies_xml,
    latency_sets,
    memory_answer,
)
from inference.isa.search import SearchError
from inference.models import LatencySet
from inference.storage.latencies import documented_share
from inference.web.api.document import FILE
from inference.web.api.errors import ProblemError
from inference.web.api.named_rows import NamedOut, NamedRows
from inference.web.api.paging import PageOf, Paging, allowed_sorts, list_answer
from inference.web.api.shapes import Note, Ref, SchemeText, Text
from inference.web.file_answers import attachment
from inference.web.validation import Id

router = Router()
SchemeSort = Annotated[str, allowed_sorts(SCHEME_COLUMNS)]


class LatencySetOut(NamedOut):
    """The latencies of one run."""

    note: Note = Field(examples=[""])
    isa: Ref
    machine: Ref
    run: Id | None = Field(validation_alias="run_id")
    schemes: int = Field(validation_alias="scheme_count", examples=[53])
    start_values: str = Field(
        description="Initial values of chains, for which pairs without values of their own were measured.",
        examples=["Simulated: latencies do not depend on values."],
    )
    isolated: int = Field(
        validation_alias="pair_count",
        description="Number of pairs of operands with an isolated latency.",
        examples=[120],
    )
    connectors: dict[str, float] = Field(
        description="Latencies of the instructions that closed chains, in cycles.",
        examples=[{"movsxd GPR[64]:W, GPR[32]:R: 2 → 1": 1.0}],
    )


class DisagreeingPairOut(Schema):
    """A pair of operands whose measured latency differs from the documented one."""

    scheme_id: Id
    scheme: SchemeText
    source: str = Field(examples=["2"])
    destination: str = Field(examples=["1"])
    least: float | None = Field(
        description="Measured latency in cycles; null where it is not isolated.", examples=[2.0]
    )
    most: float | None = Field(examples=[2.0])
    why: str = Field(description="Why there is no value.", examples=[""])
    documented_least: float = Field(examples=[1.0])
    documented_most: float = Field(examples=[1.0])


class DocumentedShareOut(Schema):
    """How well a set agrees with documented latencies of the machine's core."""

    core: str = Field(examples=["Zen 4"])
    according_to: str = Field(
        description="Source of the documented latency.", examples=["Agner Fog, Instruction tables"]
    )
    pairs: int = Field(description="Number of the set's pairs with a documented latency.", examples=[61])
    within: int = Field(description="Number of these measured within 0.1 cycles of it.", examples=[60])
    off: list[DisagreeingPairOut]


class DocumentedLatencySetOut(LatencySetOut):
    """The latencies of one run, compared with documented ones."""

    documented: DocumentedShareOut | None = Field(
        description="null if no latencies of the machine's core are documented."
    )


class LatencyChainOut(Schema):
    """A measured chain of dependent instructions."""

    code: str = Field(description="Machine code of one iteration.", examples=["4801c3"])
    cycles: float | None = Field(
        description="Cycles per iteration; null if the measurement did not settle.", examples=[1.0]
    )
    spread: float | None = Field(examples=[0.004])
    note: str = Field(examples=[""])
    values: str = Field(
        default="",
        description="If latency depends on values, those of the operands: quick or slow; or an immediate.",
        examples=[""],
    )
    listing: list[str] = Field(
        default=[], description="The code as text, for instruction sets other than x86-64.", examples=[[]]
    )
    connectors: list[str] = Field(examples=[["movsxd GPR[64]:W, GPR[32]:R: 2 → 1"]])


class LatencyOfValuesOut(Schema):
    """The latency of a pair for particular values of the operands."""

    values: str = Field(
        description="Values of the operands, quick or slow, or the number of an immediate; empty for "
        "the default.",
        examples=["slow"],
    )
    told: str = Field(description="The values as text.", examples=["0x3485 / 0x75"])
    least: float | None = Field(examples=[17.0])
    most: float | None = Field(examples=[17.0])
    at_most: float | None = Field(examples=[None])
    why: str = Field(examples=[""])


class OperandPairOut(Schema):
    """From a source operand to a destination operand, in cycles."""

    source: str = Field(examples=["2"])
    destination: str = Field(examples=["1"])
    least: float | None = Field(description="Null where it is not isolated.", examples=[1.0])
    most: float | None = Field(examples=[1.0])
    at_most: float | None = Field(
        description="Upper bound in cycles where only sums of latencies are known.", examples=[None]
    )
    why: str = Field(description="Why there is no value.", examples=[""])
    throughput_limited: bool = Field(description="Whether throughput limited the chains.", examples=[False])
    breaks: bool = Field(description="The destination does not wait for the source.", examples=[False])
    values: list[LatencyOfValuesOut] = Field(
        default=[], description="Latencies per value or immediate; least and most are over all."
    )
    chains: list[LatencyChainOut]


class IdiomCodeOut(Schema):
    """A code with an idiom, or the code that it is compared with."""

    code: str = Field(examples=["4831db"])
    cycles: float | None = Field(description="Cycles per instance of the scheme.", examples=[0.25])
    spread: float = Field(examples=[0.004])
    instances: int = Field(description="Instances of the scheme in one iteration.", examples=[4])
    loop: bool


class IdiomOut(Schema):
    """An idiom: a special behaviour of a scheme for particular operands."""

    kind: str = Field(examples=["zero idiom"])
    destination: str = Field(examples=["1"])
    latency: float | None = Field(description="null for a dependency-breaking idiom.", examples=[None])
    needs_port: bool | None = Field(description="null where unknown.", examples=[False])
    measured: IdiomCodeOut
    compared: IdiomCodeOut


class SchemeLatenciesOut(Schema):
    """A scheme with the latencies of its pairs, and its idioms and false dependencies."""

    scheme_id: Id
    scheme: SchemeText
    pairs: list[OperandPairOut]
    idioms: list[IdiomOut]


class MemoryLatencyOut(Schema):
    """The latency from an address, or from a stored value, to the loaded value."""

    stored: int = Field(description="Width of the store in bits; 0 without a store.", examples=[64])
    loaded: int = Field(description="Width of the load in bits; 0 for stores alone.", examples=[64])
    register_class: str = Field(description="General or vector registers.", examples=["general"])
    address: str = Field(description="Addressing mode.", examples=["same base"])
    offset: int = Field(description="Bytes from the store to the load.", examples=[0])
    between: int = Field(description="Operations between store and load.", examples=[1])
    cycles: float | None = Field(description="null if the measurement did not settle.", examples=[4.0])
    at_most: bool = Field(description="Whether the cycles are only a bound.", examples=[False])
    how: str | None = Field(
        description="renamed, forwarded or failed; null for loads.", examples=["forwarded"]
    )
    condition: str = Field(
        default="",
        description="The varied condition besides widths and addresses.",
        examples=["other stores in between"],
    )
    number: int = Field(
        default=0,
        description="Number of other stores, of pairs in the loop, or of cache lines.",
        examples=[12],
    )
    code: str = Field(examples=["488906488b06"])
    note: str = Field(examples=[""])


class BypassKindOut(Schema):
    """Schemes with equal bypass delays to all others."""

    kind: int = Field(description="Number of the kind.", examples=[0])
    schemes: int = Field(examples=[412])
    examples: list[str] = Field(examples=[["vaddps XMM:W, XMM:R, XMM:R"]])
    beside: list[float] = Field(
        description="Cycles that two in turn, of this kind and of each kind, take beyond their latencies.",
        examples=[[0.0, 1.0]],
    )


LATENCY_SETS = NamedRows(router, "/latencies", "latency_set", latency_sets, LatencySetOut, noun="set")
LATENCY_SETS.add_list(
    SET_COLUMNS,
    "-created",
    """All sets of latencies, or those with the text `q` in name or note.

    A run of kind `latencies` creates one.
    """,
)
LATENCY_SETS.add_changes("Delete a set with its latencies.")


@router.get("/latencies/{latency_set_id}", response=DocumentedLatencySetOut)
def get_latency_set(request: HttpRequest, latency_set_id: Id) -> Any:
    """A set, compared with documented latencies of the machine's core."""
    row = LATENCY_SETS.row(latency_set_id)
    share = documented_share(row)
    return {**LATENCY_SETS.answer(row), "documented": None if share is None else share.as_json()}


@router.get("/latencies/{latency_set_id}/schemes", response=PageOf[SchemeLatenciesOut])
def list_latencies(
    request: HttpRequest,
    latency_set_id: Id,
    paging: Query[Paging],
    q: Text = "",
    sort: SchemeSort = "scheme",
) -> Any:
    """The schemes of a set that match the search `q`, each with its pairs and their chains."""
    row = get_object_or_404(LatencySet.objects.select_related("isa"), pk=latency_set_id)
    try:
        rows = latencies_of(row, q)
    except SearchError as error:
        raise ProblemError(422, str(error), where="query q", right="a search of the scheme table") from error
    return list_answer(rows, SCHEME_COLUMNS, sort, paging, lambda page: [_scheme(scheme) for scheme in page])


class MemoryConditionsOut(Schema):
    """Conditions of memory renaming, and throughput of stores, in the form of core models."""

    renaming: dict[str, Any] | None = Field(
        default=None, description="Null where it was not measured.", examples=[{"stores_between": 12}]
    )
    other_page: float | None = Field(
        default=None,
        description="Cycles of an iteration whose load reads a value just stored through an address "
        "in another page.",
        examples=[1.5],
    )
    stores: list[dict[str, Any]] = Field(
        default=[],
        description="A curve per width.",
        examples=[[{"bits": 64, "in_turn": [[1, 0.5], [13, 1.04]]}]],
    )
    words: list[str] = Field(examples=[["More than 12 other stores in between end that."]])


@router.get("/latencies/{latency_set_id}/memory/conditions", response=MemoryConditionsOut)
def get_memory_conditions(request: HttpRequest, latency_set_id: Id) -> Any:
    """Conditions under which loads of stored values have no latency, and cycles of stores over many lines."""
    return memory_answer(get_object_or_404(LatencySet, pk=latency_set_id))


@router.get("/latencies/{latency_set_id}/memory", response=list[MemoryLatencyOut])
def list_memory_latencies(request: HttpRequest, latency_set_id: Id) -> Any:
    """Latencies of loads by width and address, and of loads of stored values."""
    return get_object_or_404(LatencySet, pk=latency_set_id).memory


@router.get("/latencies/{latency_set_id}/bypasses", response=list[BypassKindOut])
def list_bypass_kinds(request: HttpRequest, latency_set_id: Id) -> Any:
    """Kinds of instructions with bypass delays between them; empty if there are none."""
    return [kind.as_json() for kind in bypass_kinds(get_object_or_404(LatencySet, pk=latency_set_id))]


def _scheme(row: Any) -> dict[str, Any]:
    return {
        "scheme_id": row.scheme_id,
        "scheme": row.scheme.text,
        "pairs": row.pairs_with_chains(),
        "idioms": row.idioms,
    }


@router.get("/latencies/{latency_set_id}/xml", response=str, openapi_extra={FILE: "application/xml"})
def export_latencies(request: HttpRequest, latency_set_id: Id) -> HttpResponse:
    """The whole set as XML like uops.info's."""
    rows = LatencySet.objects.select_related("machine__isa").defer("readings")
    row = get_object_or_404(rows, pk=latency_set_id)
    return attachment(latencies_xml(row), "application/xml; charset=utf-8", row.name, "xml")
