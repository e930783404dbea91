"""API of core models: list, files, and explanations of blocks' times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Router, Schema, Status
from pydantic import Field

from inference.core.core_model import kind_competition
from inference.core.core_model.differences import front_end_quantities, memory_quantities
from inference.core.errors import CoreError
from inference.features.learning.core_model.comparison import (
    compare_cores,
    core_choices,
    core_label,
    other_core,
)
from inference.features.learning.core_model.home import contradictions, limits_of
from inference.features.learning.core_model.missing import missing_of
from inference.features.learning.core_model.query import (
    COLUMNS,
    compared_core,
    contents_of,
    core_models,
)
from inference.features.learning.core_model.storing import name_ports, store_document, store_parts
from inference.formats.core_model_json import CoreModelDocument, PortNames
from inference.formats.problems import ExchangeError
from inference.models import LatencySet, MeasuredFrontEnd, PortMapping, StoredCoreModel
from inference.storage.core_models import port_labels
from inference.storage.exporting import CORE_MODEL_EXPORTS
from inference.web.api import access
from inference.web.api.access import AuditAction
from inference.web.api.errors import ProblemError
from inference.web.api.named_rows import NamedOut, NamedRows
from inference.web.api.shapes import Input, Name, Note, Ref, fields_of, parameter
from inference.web.validation import Id

router = Router()


class CoreModelOut(NamedOut):
    """A core model with its parts. `described`: number of schemes with µops."""

    note: Note = Field(examples=[""])
    isa: Ref
    machine: Ref | None
    run: Id | None = Field(validation_alias="run_id")
    mapping: Ref | None
    latencies: Ref | None
    front_end: Ref | None
    described: int = Field(examples=[412])
    with_latencies: int = Field(examples=[405])
    lacking: list[str] = Field(description="Missing parts.")
    sources: dict[str, str] = Field(
        description="The source of each part.",
        examples=[{"latencies": "lab: latencies", "front end": "lab: front end"}],
    )
    port_names: dict[str, str] = Field(
        description="The vendor's names of ports.", examples=[{"0": "ALU0", "1": "ALU1"}]
    )
    selection: dict[str, Any] | None = Field(
        description="Why this mapping was chosen among several; null if there was only one.",
        examples=[{"selected": "Ports and slots", "mixes": 400, "why": "…", "scores": [], "parts": {}}],
    )


class CoreModelIn(Input):
    """Parts of a core model by their ids, or a `document` in the form of an export; not both."""

    name: Name
    note: Annotated[str, Field(max_length=20_000)] = ""
    mapping: Id | None = None
    latencies: Id | None = None
    front_end: Id | None = None
    document: CoreModelDocument | None = None


class PortNamesIn(Input):
    """{port of the mapping: the vendor's name}; omitted ports have none."""

    names: PortNames = Field(examples=[{"0": "ALU0", "1": "ALU1"}])


def _values(rows: Sequence[StoredCoreModel]) -> list[dict[str, Any]]:
    return [
        fields_of(
            row,
            CoreModelOut,
            **{name: getattr(contents, name) for name in ("described", "with_latencies", "sources")},
            lacking=list(contents.lacking),
        )
        for row, contents in zip(rows, contents_of(rows), strict=True)
    ]


CORE_MODELS = NamedRows(router, "/core-models", "core_model", core_models, CoreModelOut, _values)
CORE_MODELS.add_list(
    COLUMNS,
    "-created",
    """All core models, or those with the text `q` in name or note.

    A run of kind `know` creates one.
    """,
)
CORE_MODELS.add_get("One core model.")
CORE_MODELS.add_changes("Delete a core model; its parts stay.")
CORE_MODELS.add_exports(
    CORE_MODEL_EXPORTS,
    "application/json",
    "The core model as a file (docs/formats.md): `json` imports again, the others are for other tools.",
)


class CoreNumberOut(Schema):
    """A number of two cores; null where it was not measured."""

    subject: str = Field(description="A stage, memory, or a kind of instructions.", examples=["ALU"])
    aspect: str = Field(examples=["ports"])
    unit: str = Field(examples=[""])
    first: float | None = Field(examples=[6])
    second: float | None = Field(examples=[4])
    differs: bool = Field(description="Both are known and differ by more than 3 %.", examples=[True])


class CoreComparisonOut(Schema):
    """Two core models side by side."""

    first: str = Field(examples=["Zen 5 · core model"])
    second: str = Field(examples=["Recorded Zen 4"])
    summary: str = Field(examples=["Zen 5 against Zen 4: ALU ports 6 against 4"])
    numbers: list[CoreNumberOut]


@router.get("/core-models/{core_model_id}/differences", response=CoreComparisonOut)
def compare_core_models(
    request: HttpRequest,
    core_model_id: Id,
    other: str = parameter(..., max_length=200, examples=["Recorded Zen 4"]),
) -> Any:
    """Compare a core model with another one, or with the recorded one, by its name, number by number."""
    row = CORE_MODELS.row(core_model_id)
    second = other_core(row, other)
    if second is None:
        names = ", ".join(name for name, _ in core_choices(row)) or "none: there is no other core model"
        raise ProblemError(
            404, f"no core model {other!r} of {row.isa.name}", where="query other", right=names
        )
    return compare_cores(row, second).as_json()


class KindOut(Schema):
    """A kind of instructions. `typical`: a scheme with the µops that most of its schemes have."""

    name: str = Field(examples=["ALU"])
    ports: list[str] = Field(examples=[["0", "1"]])
    schemes: int = Field(examples=[13])
    cycles: float = Field(description="Of the quickest scheme alone.", examples=[0.25])
    latencies: list[float] | None = Field(description="Least and largest, in cycles.", examples=[[1.0, 1.0]])
    typical: str = Field(examples=["add GPR[64]:RW, GPR[64]:R"])


class KindPairOut(Schema):
    """Kinds that delay each other: as many of each as take one cycle alone take `together` cycles."""

    first: list[str] = Field(examples=[["shift"]])
    second: list[str] = Field(examples=[["multiply"]])
    shared: list[str] = Field(description="Ports of both.", examples=[["1"]])
    together: float = Field(examples=[1.5])


class CoreQuantityOut(Schema):
    subject: str = Field(examples=["memory"])
    aspect: str = Field(examples=["load latency"])
    unit: str = Field(examples=["cycles"])
    value: float = Field(examples=[4.0])


class CoreSummaryOut(Schema):
    """The home of a CPU: what its core model says, lacks, and is contradicted in."""

    label: str = Field(description="What it is.", examples=["Zen 4 (AMD EPYC), this computer"])
    port_labels: dict[str, str] = Field(
        description="{port: the name that pages show}.", examples=[{"0": "ALU0", "1": "ALU1"}]
    )
    kinds: list[KindOut]
    competition: list[KindPairOut] = Field(description="The strongest first.")
    numbers: list[CoreQuantityOut] = Field(description="Of front end and memory, as far as measured.")
    limits: list[str] = Field(examples=[["front end not measured"]])
    missing: list[str] = Field(examples=[["Front end: its limits on loops and straight code are not known."]])
    contradicted: int = Field(description="Schemes with other µops in another result.", examples=[0])


@router.get("/core-models/{core_model_id}/summary", response=CoreSummaryOut)
def summarise_core_model(request: HttpRequest, core_model_id: Id) -> Any:
    """What the page of a core model shows: kinds of instructions, who competes with whom, numbers, limits."""
    row = CORE_MODELS.row(core_model_id)
    core = compared_core(row)
    (contents,) = contents_of([row])
    missing, against = missing_of(row, contents), contradictions(row)
    quantities = {
        "front end": front_end_quantities(core.overview.front_end),
        "memory": memory_quantities(core.memory),
    }
    return {
        "label": core_label(row),
        "port_labels": port_labels(row),
        "kinds": [fields_of(kind, KindOut) for kind in core.overview.kinds],
        "competition": [
            {
                "first": pair.first.names,
                "second": pair.second.names,
                "shared": pair.shared,
                "together": round(pair.together, 4),
            }
            for pair in kind_competition(core.overview).strongest
        ],
        "numbers": [
            {"subject": subject, "aspect": number.aspect, "unit": number.unit, "value": number.value}
            for subject, numbers in quantities.items()
            for number in numbers
            if number.value is not None
        ],
        "limits": [text for text, _ in limits_of(contents, missing, against)],
        "missing": [part.text for part in missing.parts],
        "contradicted": against.total,
    }


@router.post("/core-models", response={201: CoreModelOut})
def make_core_model(request: HttpRequest, data: CoreModelIn) -> Any:
    """Create a core model from existing parts, or from a document."""
    try:
        if data.document is None:
            row = store_parts(
                data.name,
                _part(PortMapping, data.mapping, "mapping"),
                _part(LatencySet, data.latencies, "latencies"),
                _part(MeasuredFrontEnd, data.front_end, "front_end"),
                data.note,
            )
        elif (data.mapping, data.latencies, data.front_end) == (None, None, None):
            data.document.model()
            row = store_document(data.document, data.name, data.note)
        else:
            raise ProblemError(
                422, "both parts and a document", where="body document", right="either of them"
            )
    except (ExchangeError, CoreError) as error:
        raise ProblemError(
            422, str(error), where="body", right="parts of one instruction set, or a valid document"
        ) from error
    return Status(201, CORE_MODELS.value(CORE_MODELS.row(row.pk)))


@router.put("/core-models/{core_model_id}/port-names", response=CoreModelOut)
def name_ports_of_core_model(request: HttpRequest, core_model_id: Id, data: PortNamesIn) -> Any:
    """Replace the vendor's names of the ports."""
    row = CORE_MODELS.row(core_model_id)
    try:
        name_ports(row, data.names)
    except ExchangeError as error:
        raise ProblemError(
            422, str(error), where="body names", right="distinct names of the model's ports"
        ) from error
    access.log_action(request, AuditAction.CHANGED, row)
    return CORE_MODELS.value(row)


def _part(model: Any, pk: int | None, field: str) -> Any:
    if pk is None:
        return None
    row = model.objects.filter(pk=pk).first()
    if row is None:
        raise ProblemError(422, f"there is no {field} {pk}", where=f"body {field}", right="an existing id")
    return row
