"""API of experiment sets and their measurements."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from inference.core.judging.group_laws import GroupLaw
from inference.features.library.sets.query import (
    MEASUREMENT_COLUMNS,
    SET_COLUMNS,
    experiment_sets,
    measurements_in,
    register_groups_in,
    summary_of,
)
from inference.models import ExperimentSet
from inference.storage.exporting import SET_EXPORTS
from inference.web.api.named_rows import NamedOut, NamedRows
from inference.web.api.paging import PageOf, Paging, allowed_sorts, list_answer
from inference.web.api.result_shapes import MeasurementOut, measurements_json
from inference.web.api.shapes import Name, Ref, Text, parameter
from inference.web.validation import Id

router = Router()
MeasurementSort = Annotated[str, allowed_sorts(MEASUREMENT_COLUMNS)]
State = Literal["", "settled", "unsettled", "contended", "failed"]


class SetOut(NamedOut):
    """A named collection of measurements."""

    name: Name = Field(examples=["pairs on the lab machine"])
    isa: Ref
    machine: Ref | None
    run_id: Id | None = Field(description="The run that measured it.", examples=[12])
    origin: str = Field(description="upload, run or example.", examples=["run"])
    source: str = Field(examples=["pairs.csv, experiments (CSV)"])
    measurements: int = Field(validation_alias="measurement_count", examples=[4950])


class SummaryOut(Schema):
    """Numbers of a set; `least` and `most` are cycles."""

    schemes: int = Field(examples=[99])
    lengths: list[int] = Field(examples=[[1, 2]])
    least: float | None = Field(examples=[0.25])
    most: float | None = Field(examples=[40.1])
    states: dict[str, int] = Field(examples=[{"settled": 4948, "unsettled": 2}])


class SetInFull(SetOut):
    """A set with its numbers, and settings of its measurements."""

    summary: SummaryOut
    identity: dict[str, Any] = Field(
        description="Settings that change measurements: harness, seed.",
        examples=[{"kind": "agent", "unroll": 100}],
    )


SETS = NamedRows(router, "/sets", "set", experiment_sets, SetOut)
SETS.add_list(SET_COLUMNS, "-added", "All experiment sets, or those with the text `q` in name or note.")
SETS.add_changes("Delete a set with its measurements and evaluations, unless an unfinished run needs it.")
SETS.add_exports(
    SET_EXPORTS, "text/csv", "The whole set as a file: `csv` (docs/formats.md), which imports again."
)


@router.get("/sets/{set_id}", response=SetInFull)
def get_set(request: HttpRequest, set_id: Id) -> Any:
    """One set with its numbers."""
    row = SETS.row(set_id)
    return {**SETS.answer(row), "summary": summary_of(row), "identity": row.identity}


class GroupTimesOut(Schema):
    """An instruction's cycles by the number of registers in a group."""

    scheme: str = Field(examples=["vadd.vv VR[e32,m1]:W, VR[e32,m1]:R, VR[e32,m1]:R"])
    cycles: dict[int, float] = Field(examples=[{"1": 1.0, "2": 2.0, "4": 4.0, "8": 8.0}])
    law: GroupLaw


@router.get("/sets/{set_id}/register-groups", response=list[GroupTimesOut])
def list_register_groups(request: HttpRequest, set_id: Id) -> Any:
    """How the times of vector instructions grow with the number of registers in a group."""
    return register_groups_in(SETS.row(set_id))


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
    """List measurements of a set, filtered by schemes that match the search `q`, by length, and by state."""
    row = get_object_or_404(ExperimentSet.objects.select_related("isa"), pk=set_id)
    return list_answer(
        measurements_in(row, q, length, state), MEASUREMENT_COLUMNS, sort, paging, measurements_json
    )
