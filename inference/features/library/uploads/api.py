"""API of uploaded files: store, preview, and import by a run of kind `import`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import File, Query, Router, Schema, Status
from ninja.files import UploadedFile
from pydantic import Field

from inference.features.library.uploads.job import LEAVE_OUT, ReadConfig, preview_as, read_upload
from inference.features.library.uploads.query import MODELS, preview_json, store_uploads, waiting_uploads
from inference.features.library.uploads.recognition import Recognition, parse_isolated, recognise
from inference.models import ISA
from inference.storage.names import free_name
from inference.web.api import access
from inference.web.api.access import operator_access
from inference.web.api.errors import ProblemError
from inference.web.api.paging import PageOf, Paging, list_answer
from inference.web.api.shapes import FileProblemOut, Ref, RowOut, Text, Time, ref
from inference.web.validation import Id

router = Router()
MAX_FILES = 20
OLDEST_FIRST = {"row": "id"}


class UploadOut(RowOut):
    """A stored file without an import."""

    id: Id
    file_name: str = Field(examples=["pairs.csv"])
    created: Time
    bytes: int = Field(validation_alias="size", examples=[120_345])
    sha256: str = Field(examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"])


class UnknownNameOut(Schema):
    """An unknown scheme name with its rows and the nearest schemes."""

    name: str = Field(examples=["ad GPR[64]:RW, GPR[64]:R"])
    row: int = Field(description="The first row of the file.", examples=[3])
    rows: int = Field(examples=[2])
    nearest: list[str] = Field(examples=[["add GPR[64]:RW, GPR[64]:R"]])


class DoubtfulOut(Schema):
    """Implausible numbers: what is odd, in how many rows, and the first 50 rows."""

    what: str = Field(examples=["with more than 12 instructions per cycle"])
    count: int = Field(examples=[1])
    rows: list[int] = Field(examples=[[17]])


class PreviewOut(Schema):
    """The preview of an import."""

    format: str | None = Field(examples=["experiments (CSV)"])
    makes: str = Field(description="The kind of row that it becomes.", examples=["experiment set"])
    acceptable: bool = Field(description="Whether it can be imported unchanged.")
    name: str = Field(description="The proposed name.", examples=["pairs"])
    isa: Ref | None = Field(description="Instruction set; null if the import would create one.")
    rows: int = Field(description="Number of measurements or schemes.", examples=[4950])
    problem_count: int = Field(examples=[0])
    problems: list[FileProblemOut]
    broken: int = Field(description="Number of rows with problems.", examples=[0])
    can_leave_out: bool = Field(description="Whether it can be imported without them.", examples=[False])
    unknown: list[UnknownNameOut]
    taken: dict[str, str] = Field(
        description="Substitutes of unknown names: the field `taken` of an equivalent import.",
        examples=[{"ad GPR[64]:RW, GPR[64]:R": "add GPR[64]:RW, GPR[64]:R"}],
    )
    unit: str | None = Field(
        description="The assumed unit of numbers without one; null if irrelevant.", examples=["cycles"]
    )
    unit_doubt: str = Field(description="Why the unit is doubtful, else empty.", examples=[""])
    doubts: list[DoubtfulOut]
    left_out: int = Field(description="Number of skipped entries of a partial file.", examples=[0])
    microarchitectures: list[str] = Field(examples=[[]])


@router.post("/uploads", response={201: list[UploadOut]})
def upload_files(request: HttpRequest, files: File[list[UploadedFile]]) -> Any:
    """Upload files (multipart, field `files`).

    They are only stored: check the preview, then start an import. A file that is already waiting is not
    stored twice.
    """
    if len(files) > MAX_FILES:
        raise ProblemError(
            422, f"{len(files)} files at once", where="form files", right=f"{MAX_FILES} at most"
        )
    account = access.account_of(request)
    pks = [upload.pk for upload in store_uploads(files, account)]
    rows = {row.pk: row for row in waiting_uploads().filter(pk__in=pks)}
    return Status(201, [rows[pk] for pk in pks])


@router.get("/uploads", response=PageOf[UploadOut])
def list_uploads(request: HttpRequest, paging: Query[Paging]) -> Any:
    """List files without an import, oldest first."""
    rows = waiting_uploads()
    return list_answer(rows, OLDEST_FIRST, "row", paging, list)


@router.get("/uploads/{upload_id}", response=PreviewOut, auth=operator_access)
def preview_upload(
    request: HttpRequest,
    upload_id: Id,
    isa: Text = "",
    new_isa: Text = "",
    unit: Literal["auto", "cycles", "cpi", "ipc", "hundredths"] = "cycles",
    microarchitecture: Annotated[str, Query(max_length=40)] = "",
    take_nearest: bool = False,
    leave_out: bool = False,
) -> Any:
    """Preview an import: problems with their places, and the proposed name.

    `isa` is the name of an instruction set, `new_isa` of one to create; by default, the most likely one.
    `unit` applies to numbers without a unit; `auto` guesses it.

    `take_nearest`: replaces unknown names by the nearest schemes; `leave_out`: skips rows with problems. An
    import with the same effect has the fields `taken`, as answered here, and `"broken": "leave out"`.
    """
    row = get_object_or_404(waiting_uploads().defer(None), pk=upload_id)
    recognition = recognise(row.content)
    if recognition.run:
        return _archive(recognition)
    if recognition.other:
        raise ProblemError(
            422,
            f"{row.file_name} has the format {recognition.other}",
            where="path upload_id",
            right="a file of measurements or mappings; see its own page",
        )
    choices = ReadConfig(
        upload=row.pk,
        isa=isa,
        new_isa=new_isa,
        unit="" if unit == "auto" else unit,
        microarchitecture=microarchitecture or None,
        broken=LEAVE_OUT if leave_out else None,
    )
    reading = read_upload(row, choices.unit, microarchitecture, parse_isolated)
    summary = preview_json(preview_as(reading, choices, take_nearest=take_nearest))
    is_new_isa = summary["isa"] is None
    return {
        **summary,
        "name": free_name(MODELS[summary["kind"]], summary["own_name"]),
        "isa": None if is_new_isa else ref(ISA.objects.get(pk=summary["isa"])),
        "doubts": [
            {
                "what": kind["label"],
                "count": kind["count"],
                "rows": [doubt["row"] for doubt in kind["listed"]],
            }
            for kind in summary["doubts"]
        ],
        "left_out": len(summary["left_out"]),
    }


@router.delete("/uploads/{upload_id}", response={204: None})
def discard_upload(request: HttpRequest, upload_id: Id) -> Any:
    """Delete a file that has not been imported."""
    get_object_or_404(waiting_uploads(), pk=upload_id).delete()
    return Status(204, None)


def _archive(recognition: Recognition) -> dict[str, Any]:
    """The preview of a run's zip; the import reads its other parts."""
    return {
        "format": "run (zip)",
        "makes": "run",
        "acceptable": True,
        "name": recognition.run,
        "isa": None,
        "rows": recognition.rows,
        "problem_count": 0,
        "problems": [],
        "broken": 0,
        "can_leave_out": False,
        "unknown": [],
        "taken": {},
        "unit": None,
        "unit_doubt": "",
        "doubts": [],
        "left_out": 0,
        "microarchitectures": [],
    }
