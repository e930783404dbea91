"""Asking predictors about basic blocks, and reading what they have said so far."""

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
from inference.features.asking.predictors.offers import named, offers, predictors_named
from inference.features.asking.predictors.query import MOST_PREDICTORS, different_processors, known_on
from inference.features.asking.questions.query import KIND, asked_predictors, memory_question, said_of
from inference.features.asking.questions.request import MOST_BLOCKS
from inference.features.running.runs.runs_of_kind import NameOfRun, submitted
from inference.isa.blocks import Block, block_of_hex, isa_beside, read_blocks
from inference.models import Predictor, Run
from inference.predictors.kinds import asked_as
from inference.predictors.protocol import Answer
from inference.web.api.answers import MOST_TEXT, AnswerOut, Code, NamedBlock, assembly
from inference.web.api.errors import ProblemError
from inference.web.api.shapes import Name, Ref, ref
from inference.web.validation import Id

router = Router()
_CODE = "add qword ptr [rcx+16], rbx\nadd qword ptr [rcx+128], rbx"
_NAMES = ["llvm-mca 19 · haswell", "OSACA 0.7.1 · HSW"]


class PredictorOut(Schema):
    """Somebody who can be asked. `predictor` is how questions name them; `usual`: the page asks them."""

    predictor: str = Field(examples=["llvm-mca 19 · haswell"])
    label: str = Field(examples=["llvm-mca 19 · haswell"])
    kind: str = Field(description="machine, tool or mapping.", examples=["tool"])
    note: str = Field(examples=["19.1.7"])
    usual: bool = Field(examples=[True])


class NewQuestion(Code):
    """Basic blocks, and who shall say how many cycles they take."""

    code: str = Field(
        min_length=1,
        max_length=MOST_TEXT,
        description="Intel or AT&T syntax or hexadecimal digits; paragraphs are blocks of their own.",
        examples=[_CODE],
    )
    predictors: list[str] = Field(
        default_factory=list,
        max_length=MOST_PREDICTORS,
        description="As `GET /predictors` names them; none: those that the page asks.",
        examples=[_NAMES],
    )
    processor: str = Field(
        "",
        description="For which all tools predict that know several; that of the site's computer without.",
        examples=[""],
    )
    anew: bool = Field(False, description="Predict again even if an answer is cached.")
    memory: bool = Field(
        False,
        description="Ask about three variants of the one block: same address, other offset, other base. "
        "llvm-mca is asked with -noalias=false as well.",
    )
    mode: QuestionMode = AS_NAMED
    name: NameOfRun = ""


class AskedAnswerOut(AnswerOut):
    """What a predictor said of a block of a question."""

    asked_as: str = Field(
        description="Of a loop: with or without the jump that closes it, or how a machine closes it.",
        examples=[""],
    )


class SaidOut(Schema):
    """What a predictor said: `answers` in the order of the blocks, empty where `error` says why not.

    Both are empty while it has not answered.
    """

    id: Id
    name: Name
    answered: bool = Field(examples=[True])
    error: str = Field(examples=[""])
    answers: list[AskedAnswerOut]


class AskedBlock(NamedBlock):
    """A block of a question."""

    assembly: list[str] = Field(examples=[["add qword ptr [rcx+0x10], rbx"]])


class QuestionOut(Schema):
    """A question with all that is known by now. `state` is that of its run."""

    run: Ref
    state: str = Field(examples=["done"])
    error: str = Field(examples=[""])
    page: str = Field(description="Where people read it.", examples=["/blocks/7/"])
    blocks: list[AskedBlock]
    predictors: list[SaidOut]
    processors: dict[str, list[str]] = Field(
        description="Where predictions are for different processors: by processor, who answers for it.",
        examples=[{}],
    )


@router.get("/predictors", response=list[PredictorOut])
def list_predictors(request: HttpRequest) -> Any:
    """Who can be asked about basic blocks here: machines, tools and mappings."""
    found = offers()
    groups = (("machine", found.machines), ("tool", found.tools), ("mapping", found.mappings))
    return [
        {"predictor": one.text, "label": one.label, "kind": kind, "note": one.note, "usual": one.usual}
        for kind, group in groups
        for one in group
    ]


@router.post("/questions", response={201: QuestionOut})
def ask_predictors(request: HttpRequest, data: NewQuestion) -> Any:
    """Start a run that asks predictors about up to 1,000 basic blocks, side by side.

    Its answers come one by one: read the question again, or follow the events of its run.
    """
    blocks = read_blocks(data.code, MOST_BLOCKS, data.isa)
    with transaction.atomic():  # no predictor is stored for a question that is refused
        rows = _asked(data)
        if data.memory:
            config = {**_memory(rows, blocks), "anew": data.anew, "mode": data.mode}
        else:
            ids = [row.pk for row in rows]
            asked = {"predictors": ids, "isa": data.isa, "blocks": [block.hex for block in blocks]}
            config = {**asked, "anew": data.anew, "mode": data.mode}
        run = submitted(request, KIND, config, "Question through the API", data.name)
    return Status(201, _question(run))


@router.get("/questions/{question_id}", response=QuestionOut)
def get_question(request: HttpRequest, question_id: Id) -> Any:
    """What has been said so far, each answer with its kind."""
    return _question(get_object_or_404(Run, pk=question_id, kind=KIND))


def _asked(data: NewQuestion) -> list[Predictor]:
    """Those that are named; without names, those that are usual and know the processor."""
    rows = predictors_named(data.predictors, data.processor)
    if data.predictors:
        return rows
    return known_on(named([one.text for one in offers().all if one.usual]), data.processor)[0]


def _memory(rows: list[Predictor], blocks: list[Block]) -> Json:
    if len(blocks) != 1:
        what = f"Memory dependencies are compared of one block, not of {len(blocks):,}"
        raise ProblemError(422, what, where="body code", right="one block")
    try:
        return memory_question(rows, blocks[0].name)
    except InvalidInputError as error:
        right = "a block that accesses memory through a register"
        raise ProblemError(422, str(error), where="body code", right=right) from error


def _question(run: Run) -> dict[str, Any]:
    blocks = [block_of_hex(text, isa_beside(run.config)) for text in run.config["blocks"]]
    said = said_of(run)
    predictors = []
    for pk, row in asked_predictors(run).items():
        told = said.get(pk)
        name = told.name if told else row.name if row else f"predictor {pk}"
        kind = row.kind if row else ""
        answers = (
            [
                _answer(told.answers.get(block.code)) | {"asked_as": asked_as(kind, block.name)}
                for block in blocks
            ]
            if told and not told.error
            else []
        )
        error = told.error if told else ""
        predictors.append(
            {"id": pk, "name": name, "answered": told is not None, "error": error, "answers": answers}
        )
    return {
        "run": ref(run),
        "state": run.state,
        "error": run.error,
        "page": reverse("asked-blocks", args=[run.pk]),
        "blocks": [{**block.name.as_json(), "assembly": assembly(block.name)} for block in blocks],
        "predictors": predictors,
        "processors": different_processors(row for row in asked_predictors(run).values() if row),
    }


def _answer(answer: Answer | None) -> Json:
    if answer is None:
        return {"cycles": None, "failure": None, "detail": "not predicted for this block"}
    return {"cycles": answer.cycles, "failure": answer.failure, "detail": answer.detail}
