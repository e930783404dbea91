"""Experiment sets and their measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema, Status
from pydantic import Field

from inference.api.changing import DependentOut, deleted, dependents_json, renamed
from inference.api.document import FILE
from inference.api.files import file_answer
from inference.api.paging import Id, PageOf, Paging, listed, sorts
from inference.api.shapes import Cycles, Name, NameAndNote, Note, Ref, Text, Time, ref
from inference.exchange.exporting import SET_EXPORTS
from inference.exchange.stored import measurements_of
from inference.models import ExperimentSet, Measurement
from inference.queries.experiment_sets import (
    MEASUREMENT_COLUMNS,
    SET_COLUMNS,
    experiment_sets,
    measurements_in,
    summary_of,
)

router = Router()
SetSort = sorts(SET_COLUMNS)
MeasurementSort = sorts(MEASUREMENT_COLUMNS)
State = Literal["", "settled", "unsettled", "contended", "failed"]
SetFormat = Literal[tuple(SET_EXPORTS)]  # type: ignore[valid-type]


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


class MeasurementOut(Schema):
    """One row of a set."""

    id: Id
    experiment_id: Id
    experiment: str = Field(examples=["2*add GPR[64]:RW, GPR[64]:R"])
    terms: dict[str, int] = Field(examples=[{"add GPR[64]:RW, GPR[64]:R": 2}])
    length: int = Field(description="Number of instructions.", examples=[2])
    state: str = Field(description="settled, unsettled, contended or failed.", examples=["settled"])
    cycles: Cycles | None
    spread: float | None = Field(description="Relative spread of the passes.", examples=[0.003])
    passes: int = Field(examples=[11])
    note: str = Field(examples=[""])
    annotations: dict[str, float] = Field(description="Other tools' cycles.", examples=[{"llvm-mca": 0.5}])
    counters: dict[str, float] = Field(description="Counted per execution.", examples=[{"uops": 2.0}])


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
    length: int | None = Query(None, ge=1, le=10_000, examples=[2]),
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
    return file_answer(request, row, SET_EXPORTS[file_format])


def measurements_json(found: Sequence[Measurement]) -> list[dict[str, Any]]:
    """Rows as answers, in their order (two queries)."""
    rows = Measurement.objects.filter(pk__in=[row.pk for row in found])
    values = {each.id: each for each in measurements_of(rows)}
    return [_measurement(values[row.pk]) for row in found if row.pk in values]


def _measurement(stored: Any) -> dict[str, Any]:
    value = stored.value
    return {
        "id": stored.id,
        "experiment_id": stored.experiment_id,
        "experiment": str(value.experiment),
        "terms": dict(value.experiment.terms),
        "length": value.experiment.length,
        "state": value.state.value,
        "cycles": value.cycles,
        "spread": value.spread,
        "passes": value.passes,
        "note": value.note,
        "annotations": value.annotations,
        "counters": value.counters,
    }


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
