"""Generalisations of discoveries over the API: decisions, their blocks, predictions of these by other
tools.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Schema
from pydantic import Field

from anica_app.features.discoveries.query import BY_BLOCK, DiscoveryParts, Node, Tree, discovery_or_404
from anica_app.features.discoveries.shapes import Interestingness, JudgedBlockOut, WordsOut, judged_json
from anica_app.features.discoveries.steps import (
    blocks_csv,
    blocks_of_step,
    counter_example,
    name_of_question,
    orders_of,
    page_of_blocks,
    question_about_step,
    tools_here,
    tree_answer,
)
from anica_app.features.discoveries.wording import decision_text, reason_text, wording_of
from inference.features.asking.predictors.offers import predictors_named
from inference.features.asking.predictors.query import MAX_PREDICTORS
from inference.features.asking.questions.query import KIND
from inference.features.running.runs.runs_of_kind import start_response
from inference.isa.code.block import BlockName
from inference.predictors.samples import Sample
from inference.web.api import access
from inference.web.api.access import AuditAction
from inference.web.api.answers import NamedBlock
from inference.web.api.document import FILE
from inference.web.api.errors import ProblemError
from inference.web.api.paging import PageOf, Paging, list_answer_in_memory, page_json, page_number
from inference.web.api.shapes import Input, Ref, RunOut, fields_of, parameter
from inference.web.file_answers import attachment
from inference.web.validation import Id

router = Router()
Which = parameter(
    None, ge=0, le=2**31 - 1, description="Number of a generalisation; by default the main one.", examples=[0]
)


class DecisionStepOut(Schema):
    """A decision: an expansion was tried, and taken or not. `n` blocks were sampled for it."""

    number: int = Field(examples=[3])
    kind: str = Field(description="start, expansion or end.", examples=["expansion"])
    words: str = Field(examples=["instruction 1 need not have an operand `GPR[64]:R`"])
    taken: bool = Field(examples=[False])
    reason: str = Field(examples=["1 of 50 blocks is not interesting"])
    implied: bool = Field(
        description="It represents the same blocks as the step taken before it.", examples=[False]
    )
    n: int = Field(examples=[50])
    interesting: int | None = Field(examples=[49])
    failed: int = Field(description="Failed attempts to sample a block.", examples=[0])
    mean: Interestingness
    expansion: dict[str, Any] | None = Field(
        examples=[{"instruction": 1, "feature": "operands", "drop": "GPR[64]:R"}]
    )


class StepCounterExampleOut(NamedBlock):
    """A block that refutes an expansion, with the answers of the campaign's tools."""

    block: str = Field(examples=["bsf r9d, r9d"])
    said: str = Field(examples=["3.00 = 3.00"])


class ChangedOut(Schema):
    """A tool that was run again, and the number of blocks with another answer."""

    predictor: str = Field(examples=["llvm-mca 22 · haswell"])
    blocks: int = Field(examples=[0])


class DecisionStepInFull(DecisionStepOut):
    """A decision with the abstract blocks before and after trying it.

    `columns`: names of the answers, the campaign's tools first. `rests_on`: the decision with the last blocks
    before, where this one has none. `working`: unfinished runs about its blocks. `against`: of a rejected
    decision, a block on which the tools agree. `changed`: tools whose answers differ after running them
    again.
    """

    before: WordsOut | None
    tried: WordsOut | None
    before_document: dict[str, Any] | None = Field(examples=[None])
    tried_document: dict[str, Any] | None = Field(examples=[None])
    columns: list[str] = Field(examples=[["llvm-mca 13", "llvm-mca 22"]])
    rests_on: int | None = Field(examples=[None])
    working: list[Ref]
    against: StepCounterExampleOut | None
    changed: list[ChangedOut]


class StepQuestion(Input):
    """The predictors to run on the blocks of a decision; they need not be of the campaign."""

    predictors: list[str] = Field(
        [],
        max_length=MAX_PREDICTORS,
        description="Names from `GET /predictors`; by default the campaign's predictors run again.",
        examples=[["llvm-mca 22 · haswell"]],
    )
    anew: bool = Field(False, description="Predict again even if an answer is cached.")


@router.get("/discoveries/{discovery_id}/tree", response=bytes, openapi_extra={FILE: "application/json"})
def export_tree(
    request: HttpRequest,
    discovery_id: Id,
    generalisation: int | None = Which,
    samples: bool = parameter(False, description="Include every evaluated block.", examples=[False]),
) -> HttpResponse:
    """The tree of a generalisation as one JSON document."""
    parts, tree = _tree(discovery_id, generalisation)
    access.log_action(request, AuditAction.EXPORTED, parts.discovery)
    return tree_answer(parts, tree, samples=samples)


@router.get("/discoveries/{discovery_id}/steps", response=PageOf[DecisionStepOut])
def list_steps(
    request: HttpRequest, discovery_id: Id, paging: Query[Paging], generalisation: int | None = Which
) -> Any:
    """The decisions of a generalisation in order; the taken ones lead from the block to the result."""
    tree = _tree(discovery_id, generalisation)[1]
    return list_answer_in_memory(tree.nodes, paging, lambda page: [_step(tree, node) for node in page])


@router.get("/discoveries/{discovery_id}/steps/{step}", response=DecisionStepInFull)
def get_step(request: HttpRequest, discovery_id: Id, step: Id, generalisation: int | None = Which) -> Any:
    """One decision, with the abstract blocks before and after trying it."""
    parts, tree, node = _node(discovery_id, generalisation, step)
    blocks = blocks_of_step(tree.generalisation, node.number)
    before, tried = tree.documents_around(node.number)
    resting = tree.sampled_before(node.number)
    return {
        **_step(tree, node),
        "before": wording_of(before),
        "tried": wording_of(tried),
        "before_document": before,
        "tried_document": tried,
        "columns": blocks.columns(parts),
        "rests_on": None if resting is None else resting.number,
        "working": blocks.later.unfinished,
        "against": _against(parts, node, blocks.samples),
        "changed": [{"predictor": name, "blocks": count} for name, count in blocks.changed(parts)],
    }


@router.get("/discoveries/{discovery_id}/steps/{step}/blocks", response=PageOf[JudgedBlockOut])
def list_step_blocks(
    request: HttpRequest,
    discovery_id: Id,
    step: Id,
    paging: Query[Paging],
    generalisation: int | None = Which,
    sort: str = parameter(
        BY_BLOCK,
        max_length=10,
        description="block (as sampled), length, interest, or the place of a column from 1; a minus before "
        "it for descending. Failures come last.",
    ),
) -> Any:
    """The blocks of a decision with all answers, those of later runs included."""
    parts, tree, node = _node(discovery_id, generalisation, step)
    blocks = blocks_of_step(tree.generalisation, node.number)
    columns = blocks.columns(parts)
    orders = orders_of(len(columns))
    if sort not in orders:
        raise ProblemError(422, f"{sort!r} is no order", where="query sort", right=", ".join(orders))
    page = page_of_blocks(parts, blocks, sort, page_number(paging), paging.limit)
    return page_json(page, [judged_json(block, parts.isa, columns) for block in parts.examined(page.rows)])


@router.get(
    "/discoveries/{discovery_id}/steps/{step}/exports/csv", response=str, openapi_extra={FILE: "text/csv"}
)
def export_step_blocks(
    request: HttpRequest, discovery_id: Id, step: Id, generalisation: int | None = Which
) -> HttpResponse:
    """The blocks of a decision as CSV, which can be imported as a basic-block set."""
    parts, tree, node = _node(discovery_id, generalisation, step)
    access.log_action(request, AuditAction.EXPORTED, parts.discovery)
    text = blocks_csv(parts, tree.generalisation, node.number)
    name = f"{parts.campaign.name} {parts.discovery} step {node.number}"
    return attachment(text, "text/csv; charset=utf-8", name, "csv")


@router.post("/discoveries/{discovery_id}/steps/{step}/questions", response={201: RunOut})
def ask_about_step(
    request: HttpRequest, discovery_id: Id, step: Id, data: StepQuestion, generalisation: int | None = Which
) -> Any:
    """Run predictors on the blocks of a decision; their answers appear beside those of the campaign.

    `GET` the blocks again, or follow the run's events.
    """
    parts, tree, node = _node(discovery_id, generalisation, step)
    if not node.n:
        raise ProblemError(
            409, "This decision rests on no blocks", where="path step", right="one whose `n` is above 0"
        )
    with transaction.atomic():  # no predictor is stored for a question that is refused
        rows = predictors_named(data.predictors) if data.predictors else tools_here(parts)
        if not rows:
            raise ProblemError(
                409,
                "None of the campaign's predictors can be asked here",
                where="body predictors",
                right="names of others",
            )
        anew = data.anew or not data.predictors
        config = question_about_step(tree.generalisation, node.number, rows, anew=anew)
        name = name_of_question(parts.discovery, node.number)
        return start_response(request, KIND, config, default_name=name)


def _tree(discovery_id: int, generalisation: int | None) -> tuple[DiscoveryParts, Tree]:
    parts = discovery_or_404(discovery_id)
    tree = parts.tree(generalisation)
    if tree is None:
        raise ProblemError(
            404,
            "This discovery came without such a generalisation",
            where="query generalisation",
            right="the number of one that the discovery lists, with steps",
        )
    return parts, tree


def _node(discovery_id: int, generalisation: int | None, step: int) -> tuple[DiscoveryParts, Tree, Node]:
    parts, tree = _tree(discovery_id, generalisation)
    node = tree.node(step)
    if node is None:
        raise ProblemError(404, f"There is no step {step}", where="path step", right="one that is listed")
    return parts, tree, node


def _against(parts: DiscoveryParts, node: Node, samples: Sequence[Sample]) -> dict[str, str] | None:
    example = None if node.taken else counter_example(parts, samples)
    if example is None:
        return None
    return {
        **BlockName(parts.isa, example.code).as_json(),
        "block": example.block,
        "said": example.answers_text,
    }


def _step(tree: Tree, node: Node) -> dict[str, Any]:
    implied = node.number not in tree.implied
    words, reason = decision_text(node), reason_text(node)
    return fields_of(node, DecisionStepOut, words=words, reason=reason, implied=implied)
