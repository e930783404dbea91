"""API of port mappings: the list, µops of schemes, predictions, and files for other tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping as MappingValue
from inference.core.mapping import hidden_in, limits_of
from inference.core.schedule import schedule
from inference.core.throughput import inverse_throughput
from inference.features.library.mappings.query import MAPPING_COLUMNS, hidden_kinds_of, port_mappings
from inference.models import InstructionScheme, PortMapping
from inference.storage.exporting import MAPPING_EXPORTS
from inference.storage.judging import allowed_report, grounds_of
from inference.storage.mappings import load_mapping, load_part
from inference.web.api.access import read_access
from inference.web.api.errors import ProblemError
from inference.web.api.named_rows import NamedRows
from inference.web.api.paging import PageOf, Paging, allowed_sorts, list_answer
from inference.web.api.result_shapes import (
    AnyMappingOut,
    PortPrediction,
    described_schemes,
    prediction_json,
    read,
)
from inference.web.api.shapes import (
    Conflicts,
    Cycles,
    ExperimentText,
    Input,
    SchemeText,
    Text,
    Uop,
    fields_of,
    parameter,
    uops_json,
)
from inference.web.file_answers import exports_for
from inference.web.validation import Id

router = Router()
MAX_EXPERIMENTS = 1000
MappingSort = Annotated[str, allowed_sorts(MAPPING_COLUMNS)]
SCHEME_ORDER = {"row": "id", "text": "text"}


class MappingOut(AnyMappingOut):
    """A port mapping with the scores of its most informative evaluation, in cycles."""

    run_id: Id | None = Field(examples=[12])
    origin: str = Field(description="run, import or example.", examples=["run"])
    source: str = Field(examples=["PMEvo"])
    ports: list[str] = Field(examples=[["0", "1", "2", "3", "4", "5"]])
    r_max: float | None = Field(description="Maximum instructions per cycle.", examples=[6.0])
    limits: dict[str, float] = Field(
        description="Limits outside the ports: instructions and issue slots per cycle.",
        examples=[{"instructions": 5.0, "slots": 6.0}],
    )
    mape: float | None = Field(description="Mean absolute percentage error.", examples=[6.3])
    pearson: float | None = Field(examples=[0.98])
    kendall: float | None = Field(examples=[0.92])


class MappingInFull(MappingOut):
    """A mapping with its algorithm's report, and the formats of its exports."""

    report: dict[str, Any] = Field(examples=[{"seed": 1, "versions": {"numpy": "2.2.0"}}])
    exports: dict[str, str] = Field(
        description="Format and its purpose.", examples=[{"json": "port mapping (JSON)"}]
    )


class UsageOut(Schema):
    """The µops of a scheme, and its inverse throughput alone."""

    scheme_id: Id
    scheme: SchemeText
    uops: list[Uop]
    slots: int = Field(description="Issue slots of the scheme.", examples=[1])
    hidden: str | None = Field(
        description="µops that no experiment can show.", examples=["1 µop on 4 or more ports"]
    )
    cycles: Cycles
    conflicts: Conflicts


class Experiments(Input):
    experiments: list[ExperimentText] = Field(min_length=1, max_length=MAX_EXPERIMENTS)


class PredictionOut(PortPrediction):
    """The mapping's prediction for an experiment; answers are in the order of the experiments."""

    experiment: str = Field(examples=["2*add GPR[64]:RW, GPR[64]:R"])


MAPPINGS = NamedRows(
    router,
    "/mappings",
    "mapping",
    port_mappings,
    MappingOut,
    lambda rows: [fields_of(row, MappingOut, limits=limits_of(row.r_max, row.issue_width)) for row in rows],
)
MAPPINGS.add_changes("Delete a mapping with its evaluations, unless an unfinished run needs it.")
MAPPINGS.add_exports(
    MAPPING_EXPORTS,
    "application/octet-stream",
    "The mapping as a file, each format with its provenance (docs/formats.md).",
)


@router.get("/mappings", response=PageOf[MappingOut])
def list_mappings(
    request: HttpRequest,
    paging: Query[Paging],
    q: Text = "",
    on: int | None = parameter(None, ge=0, le=2**63 - 1, examples=[3]),
    sort: MappingSort = "-created",
) -> Any:
    """Lists port mappings, optionally with the text `q` in name or note.

    `on`: scores on the set with this number.
    """
    rows = port_mappings(q.strip(), on)
    return list_answer(rows, MAPPING_COLUMNS, sort, paging, MAPPINGS.values)


@router.get("/mappings/{mapping_id}", response=MappingInFull)
def get_mapping(request: HttpRequest, mapping_id: Id) -> Any:
    """A port mapping. Its µops are a separate list."""
    row = MAPPINGS.row(mapping_id)
    exports = {key: export.title for key, export in exports_for(MAPPING_EXPORTS, row.isa.name).items()}
    return {**MAPPINGS.answer(row), "report": allowed_report(row), "exports": exports}


@router.get("/mappings/{mapping_id}/usage", response=PageOf[UsageOut])
def list_usage(
    request: HttpRequest,
    mapping_id: Id,
    paging: Query[Paging],
    q: Text = "",
    sort: Literal["row", "-row", "text", "-text"] = "row",
) -> Any:
    """The µops of the mapping's schemes that match the search `q`."""
    row = get_object_or_404(PortMapping.objects.select_related("isa"), pk=mapping_id)
    rows = described_schemes(row, row.usages, q)
    return list_answer(rows, SCHEME_ORDER, sort, paging, lambda page: _usages(row, page))


@router.post("/mappings/{mapping_id}/predictions", response=list[PredictionOut], auth=read_access)
def predict(request: HttpRequest, mapping_id: Id, data: Experiments) -> Any:
    """Predict up to 1,000 experiments: cycles, bottleneck and the load of every port."""
    row = get_object_or_404(PortMapping.objects.select_related("isa"), pk=mapping_id)
    values = [read(text, row.isa, f"body experiments.{index}") for index, text in enumerate(data.experiments)]
    mapping = load_mapping(row)
    for index, value in enumerate(values):
        _require_described(mapping, value, index)
    return [{**prediction_json(schedule(mapping, value)), "experiment": str(value)} for value in values]


def _require_described(mapping: MappingValue, value: Experiment, index: int) -> None:
    unknown = [scheme for scheme in value.schemes if scheme not in mapping.usage]
    if unknown:
        raise ProblemError(
            422,
            f"The mapping does not describe {unknown[0]!r}",
            where=f"body experiments.{index}",
            right="schemes that its usage lists",
        )


def _usages(row: PortMapping, schemes: Sequence[InstructionScheme]) -> list[dict[str, Any]]:
    value = load_part(row, {scheme.pk: scheme.text for scheme in schemes})
    hidden = {scheme.text: hidden_in(value, scheme.text, hidden_kinds_of(row)) for scheme in schemes}
    grounds = grounds_of(row, [scheme.text for scheme in schemes])
    return [
        {
            "scheme_id": scheme.pk,
            "scheme": scheme.text,
            "uops": uops_json(value.usage[scheme.text], row.ports),
            "slots": value.slots_of(scheme.text),
            "hidden": None if (uops := hidden[scheme.text]) is None else str(uops),
            "cycles": inverse_throughput(value, Experiment.of([scheme.text])),
            "conflicts": grounds.conflict_words(scheme.text),
        }
        for scheme in schemes
    ]
