"""Port mappings beside LLVM's scheduling models: what a run has found out, and its report."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import BeforeValidator, Field

from inference.features.judging.llvm_difference.job import KIND, DifferenceConfig
from inference.features.judging.llvm_difference.report import LlvmDifference, markdown
from inference.features.running.runs.runs_of_kind import NameOfRun, done_run, listed_runs, started
from inference.models import PortMapping, Run
from inference.web.api import access
from inference.web.api.access import Deed
from inference.web.api.document import FILE
from inference.web.api.paging import PageOf, Paging, listed_in_memory
from inference.web.api.runs import RunOut, run_json
from inference.web.api.shapes import RowOut, SchemeText, fields_of, parameter
from inference.web.file_answers import attachment
from inference.web.validation import Id

router = Router()


class NewDifference(DifferenceConfig):
    """Which model a mapping is held against."""

    name: NameOfRun = ""


class DifferingSchemeOut(RowOut):
    """A scheme of which LLVM says something else; cycles are those of one instance."""

    scheme_id: Id = Field(validation_alias="pk")
    scheme: SchemeText
    measured: float | None = Field(examples=[0.5])
    predicted: float = Field(description="By the mapping.", examples=[0.5])
    llvm: float = Field(examples=[1.0])
    verdict: str = Field(examples=["too slow by a factor of 2"])
    usage: str = Field(description="The mapping's µops.", examples=["1×[0,1,5,6]"])
    uops: int = Field(examples=[1])
    llvm_uops: float = Field(examples=[1.0])
    pressure: Annotated[dict[str, float], BeforeValidator(dict)] = Field(
        description="Of LLVM's resources, in cycles.", examples=[{"HWPort0": 0.25}]
    )
    command: str = Field(description="Asks llvm-mca again.", examples=["llvm-mca-22 -mcpu=haswell …"])
    evidence: list[str] = Field(examples=[[]])
    doubts: list[str] = Field(description="What speaks against the mapping.", examples=[[]])


class LlvmDifferenceOut(Schema):
    """What was compared. Of `asked` schemes, `within` differ by no more than the tolerance."""

    run: RunOut
    mapping_id: Id
    tool: str = Field(examples=["llvm-mca 22.1.0"])
    release: str = Field(examples=["22"])
    cpu: str = Field(examples=["haswell"])
    tolerance: float = Field(examples=[0.2])
    asked: int = Field(examples=[577])
    within: int = Field(examples=[540])
    differing: int = Field(examples=[30])
    unknown: list[list[str]] = Field(
        description="Schemes that LLVM has no answer for, and why.",
        examples=[[["lar GPR[16]:W, GPR[16]:R", "unsupported"]]],
    )


@router.get("/llvm-differences", response=PageOf[RunOut])
def list_llvm_differences(
    request: HttpRequest,
    paging: Query[Paging],
    mapping: int | None = parameter(None, ge=0, le=2**63 - 1, description="Of this one.", examples=[7]),
) -> Any:
    """The runs that held a mapping against LLVM's model, newest first."""
    rows = Run.objects.filter(kind=KIND)
    if mapping is not None:
        rows = rows.filter(config__mapping=mapping)
    return listed_runs(rows, paging, _run)


@router.post("/llvm-differences", response={201: RunOut})
def start_llvm_difference(request: HttpRequest, data: NewDifference) -> Any:
    """Start to hold a mapping of x86-64 against a scheduling model of LLVM."""
    row = get_object_or_404(PortMapping.objects.defer("report"), pk=data.mapping)
    usual = f"{row.name[:120]} beside llvm-mca, {data.cpu}"
    return started(request, KIND, data.model_dump(exclude={"name"}), usual, data.name)


@router.get("/llvm-differences/{difference_id}", response=LlvmDifferenceOut)
def get_llvm_difference(request: HttpRequest, difference_id: Id) -> Any:
    """What such a run has found out, in numbers; 409 until it is done."""
    run, found = _done(difference_id)
    more = {"mapping_id": run.config["mapping"], "differing": len(found.differing)}
    return fields_of(found, LlvmDifferenceOut, run=_run(run), **more)


@router.get("/llvm-differences/{difference_id}/schemes", response=PageOf[DifferingSchemeOut])
def list_differing_schemes(request: HttpRequest, difference_id: Id, paging: Query[Paging]) -> Any:
    """The schemes of which LLVM says something else, those furthest off first."""
    _, found = _done(difference_id)
    return listed_in_memory(found.differing, paging, list)


@router.get(
    "/llvm-differences/{difference_id}/exports/md", response=str, openapi_extra={FILE: "text/markdown"}
)
def export_llvm_difference(request: HttpRequest, difference_id: Id) -> HttpResponse:
    """The report as Markdown, to be pasted into an issue."""
    run, found = _done(difference_id)
    access.note(request, Deed.EXPORTED, run)
    return attachment(markdown(found), "text/markdown; charset=utf-8", run.name, "md")


def _done(difference_id: int) -> tuple[Run, LlvmDifference]:
    run = done_run(difference_id, KIND, "difference_id")
    return run, LlvmDifference.of(run.result["report"])


def _run(run: Run) -> dict[str, Any]:
    """Without the whole report, which has operations of its own."""
    result = {name: value for name, value in run.result.items() if name != "report"}
    return {**run_json(run), "result": result}
