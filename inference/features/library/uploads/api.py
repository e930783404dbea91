"""Files: kept as they come, looked at, and imported by a run of the kind `import`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import File, Query, Router, Schema, Status
from ninja.files import UploadedFile
from pydantic import Field

from inference.features.library.uploads.job import LEAVE_OUT, ReadConfig, preview_as, read_upload
from inference.features.library.uploads.query import MODELS, as_json, keep_all, waiting_uploads
from inference.features.library.uploads.recognition import Recognition, parsed_apart, recognised
from inference.models import ISA
from inference.storage.names import free_name
from inference.web.api import access
from inference.web.api.access import operating
from inference.web.api.errors import ProblemError
from inference.web.api.paging import PageOf, Paging, listed
from inference.web.api.shapes import FileProblemOut, Ref, RowOut, Text, Time, ref
from inference.web.validation import Id

router = Router()
MOST_FILES = 20
OLDEST_FIRST = {"row": "id"}


class UploadOut(RowOut):
    """A file that waits for its import."""

    id: Id
    file_name: str = Field(examples=["pairs.csv"])
    created: Time
    bytes: int = Field(validation_alias="size", examples=[120_345])
    sha256: str = Field(examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"])


class UnknownNameOut(Schema):
    """A name that no scheme has, the rows that it is in, and the schemes that come nearest."""

    name: str = Field(examples=["ad GPR[64]:RW, GPR[64]:R"])
    row: int = Field(description="The first of its rows.", examples=[3])
    rows: int = Field(examples=[2])
    nearest: list[str] = Field(examples=[["add GPR[64]:RW, GPR[64]:R"]])


class DoubtfulOut(Schema):
    """Numbers that are hard to believe: what is odd, in how many rows, and in which, the first 50."""

    what: str = Field(examples=["with more than 12 instructions per cycle"])
    count: int = Field(examples=[1])
    rows: list[int] = Field(examples=[[17]])


class PreviewOut(Schema):
    """What an import would make of a file."""

    format: str | None = Field(examples=["experiments (CSV)"])
    makes: str = Field(description="What it becomes.", examples=["experiment set"])
    acceptable: bool = Field(description="Whether it can be imported as it is.")
    name: str = Field(description="The name that is proposed.", examples=["pairs"])
    isa: Ref | None = Field(description="Its instruction set; null where it would found one.")
    rows: int = Field(description="Measurements or schemes.", examples=[4950])
    problem_count: int = Field(examples=[0])
    problems: list[FileProblemOut]
    broken: int = Field(description="Rows with problems.", examples=[0])
    can_leave_out: bool = Field(description="Whether it could be imported without them.", examples=[False])
    unknown: list[UnknownNameOut]
    taken: dict[str, str] = Field(
        description="What unknown names were taken for: the field `taken` of the import that does the same.",
        examples=[{"ad GPR[64]:RW, GPR[64]:R": "add GPR[64]:RW, GPR[64]:R"}],
    )
    unit: str | None = Field(
        description="What numbers without a unit were read as; null where it does not matter.",
        examples=["cycles"],
    )
    unit_doubt: str = Field(description="Why they are probably something else, else empty.", examples=[""])
    doubts: list[DoubtfulOut]
    left_out: int = Field(description="Entries of a partial file that bring nothing.", examples=[0])
    microarchitectures: list[str] = Field(examples=[[]])


@router.post("/uploads", response={201: list[UploadOut]})
def upload_files(request: HttpRequest, files: File[list[UploadedFile]]) -> Any:
    """Send files (multipart, field `files`).

    Nothing else is stored: look at the preview, then start an import.

    The same file is not kept twice while it waits.
    """
    if len(files) > MOST_FILES:
        raise ProblemError(
            422, f"{len(files)} files at once", where="form files", right=f"{MOST_FILES} at most"
        )
    account = access.account_of(request)
    kept = [each.pk for each in keep_all(files, account)]
    rows = {row.pk: row for row in waiting_uploads().filter(pk__in=kept)}
    return Status(201, [rows[pk] for pk in kept])


@router.get("/uploads", response=PageOf[UploadOut])
def list_uploads(request: HttpRequest, paging: Query[Paging]) -> Any:
    """Files that wait for a decision, oldest first."""
    rows = waiting_uploads()
    return listed(rows, OLDEST_FIRST, "row", paging, list)


@router.get("/uploads/{upload_id}", response=PreviewOut, auth=operating)
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
    """What a file would bring: problems with their places, and the name that is proposed.

    `isa` is the name of an instruction set, `new_isa` of one to found; without both it is the likely one.
    `unit` is that of numbers that name none, `auto` what they seem to be.

    `take_nearest`: unknown names are taken for the schemes that come nearest; `leave_out`: rows with problems
    are left out. The import takes the fields `taken`, as answered here, and `"broken": "leave out"`.
    """
    row = get_object_or_404(waiting_uploads().defer(None), pk=upload_id)
    recognition = recognised(bytes(row.content))
    if recognition.run:
        return _archive(recognition)
    if recognition.other:
        raise ProblemError(
            422,
            f"{row.file_name} is one of {recognition.other}",
            where="path upload_id",
            right="its own page shows it",
        )
    choices = ReadConfig(
        upload=row.pk,
        isa=isa,
        new_isa=new_isa,
        unit="" if unit == "auto" else unit,
        microarchitecture=microarchitecture or None,
        broken=LEAVE_OUT if leave_out else None,
    )
    reading = read_upload(row, choices.unit, microarchitecture, parsed_apart)
    seen = as_json(preview_as(reading, choices, take_nearest=take_nearest))
    founded = seen["isa"] is None
    return {
        **seen,
        "name": free_name(MODELS[seen["kind"]], seen["own_name"]),
        "isa": None if founded else ref(ISA.objects.get(pk=seen["isa"])),
        "doubts": [
            {
                "what": kind["label"],
                "count": kind["count"],
                "rows": [doubt["row"] for doubt in kind["listed"]],
            }
            for kind in seen["doubts"]
        ],
        "left_out": len(seen["left_out"]),
    }


@router.delete("/uploads/{upload_id}", response={204: None})
def discard_upload(request: HttpRequest, upload_id: Id) -> Any:
    """Forget a file that has not been imported."""
    get_object_or_404(waiting_uploads(), pk=upload_id).delete()
    return Status(204, None)


def _archive(found: Recognition) -> dict[str, Any]:
    """Of the zip of a run, whose import reads the rest."""
    return {
        "format": "run (zip)",
        "makes": "run",
        "acceptable": True,
        "name": found.run,
        "isa": None,
        "rows": found.rows,
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
