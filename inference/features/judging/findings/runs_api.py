"""The results of model checks and of comparisons with LLVM in the API."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import AfterValidator, BeforeValidator, Field

from inference.core.model_check import AloneVerdict
from inference.features.judging.engine.tables import csv_of, per_cent
from inference.features.judging.findings.llvm_job import KIND, DifferenceConfig, LlvmDifference, markdown
from inference.features.judging.findings.model_check import (
    TABLES,
    checked_schemes,
    model_check_of,
    reference_of,
)
from inference.features.running.runs.runs_of_kind import NameOfRun, done_run, listed_runs, start_response
from inference.formats.provenance import head_of
from inference.models import PortMapping, Run
from inference.runs.request import AllowedTexts
from inference.web.api import access
from inference.web.api.access import AuditAction
from inference.web.api.document import FILE
from inference.web.api.paging import PageOf, Paging, list_answer_in_memory
from inference.web.api.result_shapes import HeatMapOut
from inference.web.api.shapes import (
    Ref,
    RowOut,
    RunOut,
    SchemeText,
    Scores,
    Text,
    fields_of,
    parameter,
    run_json,
)
from inference.web.file_answers import attachment
from inference.web.validation import Id

router = Router()
Verdict = Annotated[str, AllowedTexts(verdict.value for verdict in AloneVerdict)]
Table = Annotated[str, AllowedTexts(TABLES)]


class MixesOut(Schema):
    """Mixes of a length. `slower`: over 10 % slower than one after the other; `faster`: than a scheme
    alone."""

    length: int = Field(examples=[5])
    asked: int = Field(examples=[200])
    settled: int = Field(examples=[198])
    slower: int = Field(examples=[1])
    faster: int = Field(examples=[0])
    scores: Scores | None
    heat_map: HeatMapOut | None


class OrdersOut(Schema):
    """The effect of the instructions' order, in cycles per instruction; `notable`: above 0.05."""

    length: int = Field(examples=[8])
    asked: int = Field(examples=[50])
    samples: int = Field(examples=[50])
    mean: float | None = Field(examples=[0.01])
    largest: float | None = Field(examples=[0.07])
    notable: int = Field(examples=[1])
    share: float | None = Field(examples=[0.02])


class ModelCheckOut(Schema):
    """Schemes alone within 10 % of the reference, and mixes and orders by length."""

    run: Ref
    state: str = Field(
        description="State of the run; before the end, the numbers are those so far.", examples=["done"]
    )
    reference: Ref | None
    asked: int = Field(examples=[500])
    compared: int = Field(examples=[450])
    within: int = Field(examples=[430])
    short: int = Field(description="Compared schemes of at most 3 cycles.", examples=[440])
    verdicts: dict[str, int] = Field(examples=[{"within": 430, "discrepancy": 20}])
    mixes: list[MixesOut]
    orders: list[OrdersOut]


class AloneOut(Schema):
    """A scheme alone, in cycles. `error` is in per cent of the measurement."""

    scheme: SchemeText
    verdict: str = Field(examples=["discrepancy"])
    measured: float | None = Field(examples=[1.0])
    modelled: float | None = Field(examples=[0.5])
    error: Annotated[float | None, AfterValidator(per_cent)] = Field(examples=[-50.0])
    note: str = Field(examples=[""])


class NewDifference(DifferenceConfig):
    """The mapping, and the model of LLVM to compare with."""

    name: NameOfRun = ""


class DifferingSchemeOut(RowOut):
    """A scheme on which LLVM differs; cycles are those of one instance."""

    scheme_id: Id = Field(validation_alias="pk")
    scheme: SchemeText
    measured: float | None = Field(examples=[0.5])
    predicted: float = Field(description="Cycles predicted by the mapping.", examples=[0.5])
    llvm: float = Field(examples=[1.0])
    verdict: str = Field(examples=["too slow by a factor of 2"])
    usage: str = Field(description="The mapping's µops.", examples=["1×[0,1,5,6]"])
    uops: int = Field(examples=[1])
    llvm_uops: float = Field(examples=[1.0])
    pressure: Annotated[dict[str, float], BeforeValidator(dict)] = Field(
        description="{resource of LLVM: cycles}.", examples=[{"HWPort0": 0.25}]
    )
    command: str = Field(
        description="Shell command that repeats LLVM's prediction.", examples=["llvm-mca-22 -mcpu=haswell …"]
    )
    evidence: list[str] = Field(examples=[[]])
    doubts: list[str] = Field(description="Doubts about the mapping's µops.", examples=[[]])


class LlvmDifferenceOut(Schema):
    """The comparison in numbers. Of `asked` schemes, `within` differ by no more than the tolerance."""

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
        description="(scheme, reason) of schemes without a prediction by LLVM.",
        examples=[[["lar GPR[16]:W, GPR[16]:R", "unsupported"]]],
    )


@router.get("/runs/{check_id}/model-check", response=ModelCheckOut)
def get_model_check(request: HttpRequest, check_id: Id) -> Any:
    """The results of a run of kind `check-model`, in numbers."""
    run = _row(check_id)
    check = model_check_of(run)
    header = {
        "run": run,
        "state": run.state,
        "reference": reference_of(run),
        "asked": check.summary.requested,
    }
    return fields_of(check.summary, ModelCheckOut, **header, mixes=check.mixes, orders=check.orders)


@router.get("/runs/{check_id}/model-check/schemes", response=PageOf[AloneOut])
def list_checked_schemes(
    request: HttpRequest,
    check_id: Id,
    paging: Query[Paging],
    verdict: Verdict | None = None,
    q: Text = "",
) -> Any:
    """The schemes alone with a verdict, or all, that match the search `q`; the largest errors first."""
    run = _row(check_id)
    chosen_verdict = None if verdict is None else AloneVerdict(verdict)
    schemes = checked_schemes(run, model_check_of(run), chosen_verdict, q)
    return list_answer_in_memory(schemes, paging, list)


@router.get("/runs/{check_id}/model-check/exports/{table}", response=str, openapi_extra={FILE: "text/csv"})
def export_model_check(request: HttpRequest, check_id: Id, table: Table) -> HttpResponse:
    """A table of a model check as CSV: `schemes`, `mixes` or `orders`."""
    run = _row(check_id)
    text = csv_of(TABLES[table](model_check_of(run)), head_of(check=run.name))
    access.log_action(request, AuditAction.EXPORTED, run)
    return attachment(text, "text/csv; charset=utf-8", f"{run.name} {table}", "csv")


def _row(check_id: int) -> Run:
    return get_object_or_404(Run, pk=check_id, kind="check-model")


@router.get("/llvm-differences", response=PageOf[RunOut])
def list_llvm_differences(
    request: HttpRequest,
    paging: Query[Paging],
    mapping: int | None = parameter(
        None, ge=0, le=2**63 - 1, description="Only runs about this mapping.", examples=[7]
    ),
) -> Any:
    """List the runs that compared a mapping with LLVM's model, newest first."""
    rows = Run.objects.filter(kind=KIND)
    if mapping is not None:
        rows = rows.filter(config__mapping=mapping)
    return listed_runs(rows, paging, _run)


@router.post("/llvm-differences", response={201: RunOut})
def start_llvm_difference(request: HttpRequest, data: NewDifference) -> Any:
    """Start a comparison of a mapping of x86-64 with a scheduling model of LLVM."""
    get_object_or_404(PortMapping.objects.only("pk"), pk=data.mapping)
    return start_response(request, KIND, data.model_dump(exclude={"name"}), data.name)


@router.get("/llvm-differences/{difference_id}", response=LlvmDifferenceOut)
def get_llvm_difference(request: HttpRequest, difference_id: Id) -> Any:
    """The result of a comparison with LLVM in numbers; 409 until the run is done."""
    run, report = _done(difference_id)
    fields = {"mapping_id": run.config["mapping"], "differing": len(report.differing)}
    return fields_of(report, LlvmDifferenceOut, run=_run(run), **fields)


@router.get("/llvm-differences/{difference_id}/schemes", response=PageOf[DifferingSchemeOut])
def list_differing_schemes(request: HttpRequest, difference_id: Id, paging: Query[Paging]) -> Any:
    """The schemes on which LLVM differs, the largest factor first."""
    _, report = _done(difference_id)
    return list_answer_in_memory(report.differing, paging, list)


@router.get(
    "/llvm-differences/{difference_id}/exports/md", response=str, openapi_extra={FILE: "text/markdown"}
)
def export_llvm_difference(request: HttpRequest, difference_id: Id) -> HttpResponse:
    """The report as Markdown, to be pasted into an issue."""
    run, report = _done(difference_id)
    access.log_action(request, AuditAction.EXPORTED, run)
    return attachment(markdown(report), "text/markdown; charset=utf-8", run.name, "md")


def _done(difference_id: int) -> tuple[Run, LlvmDifference]:
    run = done_run(difference_id, KIND, "difference_id")
    return run, LlvmDifference.of(run.result["report"])


def _run(run: Run) -> dict[str, Any]:
    """The run without the report, which has operations of its own."""
    result = {name: value for name, value in run.result.items() if name != "report"}
    return {**run_json(run), "result": result}
