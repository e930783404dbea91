"""Operations on experiment sets and their measurements."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema, Status
from pydantic import Field

from inference.features.library.sets.comparison_api import router as comparison_router
from inference.features.library.sets.query import (
    MEASUREMENT_COLUMNS,
    SET_COLUMNS,
    experiment_sets,
    measurements_in,
    summary_of,
)
from inference.features.library.sets.shapes import MeasurementOut, measurements_json
from inference.formats.exporting import SET_EXPORTS
from inference.models import ExperimentSet
from inference.runs.request import OneOf
from inference.web.api.document import FILE
from inference.web.api.named_rows import (
    DependentOut,
    NameAndNote,
    deleted,
    dependents_json,
    export_answer,
    renamed,
)
from inference.web.api.paging import PageOf, Paging, listed, sorts
from inference.web.api.shapes import Name, Note, Ref, Text, Time, parameter, ref
from inference.web.validation import Id

router = Router()
router.add_router("", comparison_router)
SetSort = Annotated[str, sorts(SET_COLUMNS)]
MeasurementSort = Annotated[str, sorts(MEASUREMENT_COLUMNS)]
State = Literal["", "settled", "unsettled", "contended", "failed"]
SetFormat = Annotated[str, OneOf(SET_EXPORTS)]


class SetOut(Schema):
    """A named collection of measurements."""

    id: Id
    name: Name = Field(examples=["pairs on the lab machine"])
    note: Note
    created: Time
    isa: Ref
    machine: Ref | None
    run_id: Id | None = Field(description="The run that measured it.", examples=[12])
    origin: str = Field(description="upload, run or example.", examples=["run"])
    source: str = Field(examples=["pairs.csv, experiments (CSV)"])
    measurements: int = Field(examples=[4950])


class SummaryOut(Schema):
    """A set in numbers; `least` and `most` are cycles."""

    schemes: int = Field(examples=[99])
    lengths: list[int] = Field(examples=[[1, 2]])
    least: float | None = Field(examples=[0.25])
    most: float | None = Field(examples=[40.1])
    states: dict[str, int] = Field(examples=[{"settled": 4948, "unsettled": 2}])


class SetInFull(SetOut):
    """A set with its numbers and what it was measured with."""

    summary: SummaryOut
    identity: dict[str, Any] = Field(
        description="What changes the answers: harness, seed.", examples=[{"kind": "agent", "unroll": 100}]
    )


@router.get("/sets", response=PageOf[SetOut])
def list_sets(request: HttpRequest, paging: Query[Paging], q: Text = "", sort: SetSort = "-added") -> Any:
    """All experiment sets, those with a text in name or note where `q` gives one."""
    return listed(
        experiment_sets(q.strip()), SET_COLUMNS, sort, paging, lambda found: [_set(row) for row in found]
    )


@router.get("/sets/{set_id}", response=SetInFull)
def get_set(request: HttpRequest, set_id: Id) -> Any:
    """One set with its numbers."""
    row = get_object_or_404(experiment_sets(), pk=set_id)
    return {**_set(row), "summary": asdict(summary_of(row)), "identity": row.identity}


@router.patch("/sets/{set_id}", response=SetOut)
def rename_set(request: HttpRequest, set_id: Id, data: NameAndNote) -> Any:
    """Give a set another name or note."""
    row = get_object_or_404(experiment_sets(), pk=set_id)
    renamed(request, row, data)
    return _set(row)


@router.get("/sets/{set_id}/dependents", response=list[DependentOut])
def list_dependents_of_set(request: HttpRequest, set_id: Id) -> Any:
    """What depends on this set, and what becomes of it when the set is deleted."""
    return dependents_json(get_object_or_404(ExperimentSet, pk=set_id))


@router.delete("/sets/{set_id}", response={204: None})
def delete_set(request: HttpRequest, set_id: Id) -> Any:
    """Delete a set with its measurements and evaluations, unless an unfinished run needs it."""
    deleted(get_object_or_404(ExperimentSet, pk=set_id))
    return Status(204, None)


@router.get("/sets/{set_id}/measurements", response=PageOf[MeasurementOut])
def list_measurements(
    request: HttpRequest,
    set_id: Id,
    paging: Query[Paging],
    q: Text = "",
    length: int | None = parameter(None, ge=1, le=10_000, examples=[2]),
    state: State = "",
    sort: MeasurementSort = "row",
) -> Any:
    """Measurements of a set: those with a scheme that the search `q` finds, of a length, in a state."""
    row = get_object_or_404(ExperimentSet.objects.select_related("isa"), pk=set_id)
    return listed(
        measurements_in(row, q, length, state), MEASUREMENT_COLUMNS, sort, paging, measurements_json
    )


@router.get("/sets/{set_id}/exports/{file_format}", response=str, openapi_extra={FILE: "text/csv"})
def export_set(request: HttpRequest, set_id: Id, file_format: SetFormat) -> HttpResponse:
    """The whole set as a file: `csv` (docs/formats.md), which imports again."""
    row = get_object_or_404(ExperimentSet.objects.select_related("isa", "machine", "run"), pk=set_id)
    return export_answer(request, row, SET_EXPORTS[file_format])


def _set(row: Any) -> dict[str, Any]:
    """A row of `experiment_sets`."""
    return {
        "id": row.pk,
        "name": row.name,
        "note": row.note,
        "created": row.created,
        "isa": ref(row.isa),
        "machine": ref(row.machine),
        "run_id": row.run_id,
        "origin": row.origin,
        "source": row.source,
        "measurements": row.measurement_count,
    }
