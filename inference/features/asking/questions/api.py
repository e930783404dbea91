"""Block queries: list the predictors, start a query, and read the answers that have arrived."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.urls import reverse
from ninja import Router, Schema, Status
from pydantic import Field

from inference.core.errors import InvalidInputError
from inference.core.protocols import Json
from inference.features.asking.predictors.modes import AS_NAMED, QuestionMode
from inference.features.asking.predictors.offers import offered_rows, offers, predictors_named
from inference.features.asking.predictors.query import MAX_PREDICTORS, available_on, different_processors
from inference.features.asking.questions.query import KIND, memory_question, question_predictors, reports_of
from inference.features.asking.questions.request import MAX_BLOCKS
from inference.features.running.runs.runs_of_kind import NameOfRun, submit_run
from inference.isa.blocks import block_of_hex, isa_of_fields
from inference.isa.code.block import Block
from inference.models import Predictor, Run
from inference.predictors.kinds import loop_wording
from inference.predictors.protocol import Answer
from inference.web.api.answers import MAX_CODE_LENGTH, AnswerOut, Code, NamedBlock, assembly
from inference.web.api.errors import ProblemError
from inference.web.api.shapes import Name, Ref, ref
from inference.web.code_reading import read_blocks
from inference.web.validation import Id

router = Router()
_CODE = "add qword ptr [rcx+16], rbx\nadd qword ptr [rcx+128], rbx"
_NAMES = ["llvm-mca 19 · haswell", "OSACA 0.7.1 · HSW"]


class PredictorOut(Schema):
    """An available predictor. `predictor` is its name in questions; `usual`: the page preselects it."""

    predictor: str = Field(examples=["llvm-mca 19 · haswell"])
    label: str = Field(examples=["llvm-mca 19 · haswell"])
    kind: str = Field(description="machine, tool or mapping.", examples=["tool"])
    note: str = Field(examples=["19.1.7"])
    usual: bool = Field(examples=[True])


class NewQuestion(Code):
    """Basic blocks, and the predictors that answer how many cycles they take."""

    code: str = Field(
        min_length=1,
        max_length=MAX_CODE_LENGTH,
        description="Intel or AT&T syntax or hexadecimal digits; paragraphs are blocks of their own.",
        examples=[_CODE],
    )
    predictors: list[str] = Field(
        default_factory=list,
        max_length=MAX_PREDICTORS,
        description="Names from `GET /predictors`; empty: the preselected ones of the page.",
        examples=[_NAMES],
    )
    processor: str = Field(
        "",
        description="Processor for tools that support several; empty: that of the site's computer.",
        examples=[""],
    )
    anew: bool = Field(False, description="Predict again even if an answer is cached.")
    memory: bool = Field(
        False,
        description="Predict three variants of one block: same address, other offset, other base; "
        "llvm-mca also with -noalias=false.",
    )
    mode: QuestionMode = AS_NAMED
    name: NameOfRun = ""


class QuestionAnswerOut(AnswerOut):
    """A predictor's answer to a block of a question."""

    asked_as: str = Field(
        description="For a loop: whether its branch is included, or how a machine measures it.",
        examples=[""],
    )


class PredictorReportOut(Schema):
    """A predictor's `answers` in the order of the blocks, or `error` says why there are none.

    Both are empty before it has answered.
    """

    id: Id
    name: Name
    answered: bool = Field(examples=[True])
    error: str = Field(examples=[""])
    answers: list[QuestionAnswerOut]


class QuestionBlockOut(NamedBlock):
    """A block of a question."""

    assembly: list[str] = Field(examples=[["add qword ptr [rcx+0x10], rbx"]])


class QuestionOut(Schema):
    """A question with the answers so far. `state` is that of its run."""

    run: Ref
    state: str = Field(examples=["done"])
    error: str = Field(examples=[""])
    page: str = Field(description="Address of the question's page.", examples=["/blocks/7/"])
    blocks: list[QuestionBlockOut]
    predictors: list[PredictorReportOut]
    processors: dict[str, list[str]] = Field(
        description="{processor: predictors} if predictions are for different processors.",
        examples=[{}],
    )


@router.get("/predictors", response=list[PredictorOut])
def list_predictors(request: HttpRequest) -> Any:
    """List the predictors available for basic blocks: machines, tools and mappings."""
    offered = offers()
    groups = (("machine", offered.machines), ("tool", offered.tools), ("mapping", offered.mappings))
    return [
        {
            "predictor": offer.text,
            "label": offer.label,
            "kind": kind,
            "note": offer.note,
            "usual": offer.usual,
        }
        for kind, group in groups
        for offer in group
    ]


@router.post("/questions", response={201: QuestionOut})
def ask_predictors(request: HttpRequest, data: NewQuestion) -> Any:
    """Start a run that asks predictors about up to 1,000 basic blocks, side by side.

    Answers arrive one by one: read the question again, or follow the events of its run.
    """
    blocks = read_blocks(data.code, MAX_BLOCKS, data.isa)
    with transaction.atomic():  # no predictor is stored for a question that is refused
        rows = _predictors(data, blocks[0].isa)
        if data.memory:
            config = {**_memory_config(rows, blocks), "anew": data.anew, "mode": data.mode}
        else:
            ids = [row.pk for row in rows]
            subject = {"predictors": ids, "isa": blocks[0].isa, "blocks": [block.hex for block in blocks]}
            config = {**subject, "anew": data.anew, "mode": data.mode}
        run = submit_run(request, KIND, config, data.name)
    return Status(201, _question_json(run))


@router.get("/questions/{question_id}", response=QuestionOut)
def get_question(request: HttpRequest, question_id: Id) -> Any:
    """Read a question with the answers so far."""
    return _question_json(get_object_or_404(Run, pk=question_id, kind=KIND))


def _predictors(data: NewQuestion, isa: str) -> list[Predictor]:
    """The named predictors; without names, the preselected ones for the processor and instruction set."""
    rows = predictors_named(data.predictors, data.processor)
    if data.predictors:
        return rows
    usual = [offer.text for offer in offers().answering_for(isa).all if offer.usual]
    return available_on(offered_rows(usual), data.processor, isa)[0]


def _memory_config(rows: list[Predictor], blocks: list[Block]) -> Json:
    if len(blocks) != 1:
        reason = f"Memory dependencies are compared for one block, not for {len(blocks):,}"
        raise ProblemError(422, reason, where="body code", right="one block")
    try:
        return memory_question(rows, blocks[0].name)
    except InvalidInputError as error:
        right = "a block that accesses memory through a register"
        raise ProblemError(422, str(error), where="body code", right=right) from error


def _question_json(run: Run) -> dict[str, Any]:
    blocks = [block_of_hex(text, isa_of_fields(run.config)) for text in run.config["blocks"]]
    reports = reports_of(run)
    predictors = []
    for pk, row in question_predictors(run).items():
        report = reports.get(pk)
        name = report.name if report else row.name if row else f"predictor {pk}"
        kind = row.kind if row else ""
        answers = (
            [
                _answer_json(report.answers.get(block.code)) | {"asked_as": loop_wording(kind, block.name)}
                for block in blocks
            ]
            if report and not report.error
            else []
        )
        error = report.error if report else ""
        predictors.append(
            {"id": pk, "name": name, "answered": report is not None, "error": error, "answers": answers}
        )
    return {
        "run": ref(run),
        "state": run.state,
        "error": run.error,
        "page": reverse("asked-blocks", args=[run.pk]),
        "blocks": [{**block.name.as_json(), "assembly": assembly(block.name)} for block in blocks],
        "predictors": predictors,
        "processors": different_processors(row for row in question_predictors(run).values() if row),
    }


def _answer_json(answer: Answer | None) -> Json:
    if answer is None:
        return {"cycles": None, "failure": None, "detail": "not predicted for this block"}
    return {"cycles": answer.cycles, "failure": answer.failure, "detail": answer.detail}
