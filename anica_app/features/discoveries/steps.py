"""One decision of a generalisation: its blocks, who can be asked about them again, its page and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from anica_app.features.discoveries.query import (
    BY_BLOCK,
    BY_INTEREST,
    BY_LENGTH,
    DiscoveryParts,
    JudgedBlock,
    Node,
    Tree,
    all_samples,
    sample_page,
    samples_of_step,
)
from anica_app.features.discoveries.saying import compared, decision, reason
from anica_app.features.discoveries.tool_commands import options_here, tool_and_core
from anica_app.models import Discovery, Generalisation, GeneralisationStep
from inference.core.protocols import Json
from inference.features.asking.predictors.query import row_for
from inference.features.asking.questions.query import PredictorSaid, QuestionAnswers, asked_about
from inference.formats.csv_cells import written
from inference.formats.provenance import PRODUCT, head_of
from inference.formats.sample_document import sample_document
from inference.isa.blocks.listing import intel_or_digits
from inference.models import Predictor, Run
from inference.predictors.protocol import Answer, Failure, PredictorError
from inference.predictors.samples import Sample, unpack
from inference.storage.instruction_sets import code_isa
from inference.web.contributions import RunOrigin, number_about
from inference.web.paging import Page
from inference.web.validation import one_of, whole_number

MOST = 500
"""Of a tree with more rejected steps, so many have theirs."""
NOT_ASKED = "not predicted for this block"
BEFORE, AFTER = ", before", ", after"
"""What columns of a tool that was asked again are called besides its name."""
PAGE_SIZE = 25


@dataclass(frozen=True)
class StepCounterExample:
    """A block that speaks against an expansion, and what the campaign's tools say of it."""

    code: bytes
    answers: tuple[Answer, ...]

    @property
    def block(self) -> str:
        """Its instructions in one line; the digits where the bytes are no instructions."""
        return "; ".join(intel_or_digits(self.code))

    @property
    def said(self) -> str:
        """`3.00 = 3.00`, `3.00 ≈ 3.10`, or with what failed `crash | 3.00`."""
        texts = [str(one.failure) if one.cycles is None else f"{one.cycles:.2f}" for one in self.answers]
        if any(one.cycles is None for one in self.answers):
            return " | ".join(texts)
        return (" = " if len(set(texts)) == 1 else " ≈ ").join(texts)

    def __str__(self) -> str:
        return f"{self.block}: {self.said}"


def counter_example(found: DiscoveryParts, samples: Sequence[Sample]) -> StepCounterExample | None:
    """Of a rejected step, the shortest block that is not interesting, else one that is in another way.

    None where nobody can tell what was interesting.
    """
    kind = found.discovery.kind
    judged = [(one.sample, one.verdict) for one in found.examined(samples)]
    known = [(one, verdict) for one, verdict in judged if verdict is not None and not verdict.silent]
    against = [one for one, verdict in known if not verdict.interesting]
    against = against or [one for one, verdict in known if kind and verdict.kind != kind]
    best = min(against, key=lambda one: (len(one.code), one.code), default=None)
    return None if best is None else StepCounterExample(best.code, best.answers[: len(found.predictors)])


def counter_examples_of(found: DiscoveryParts, row: Generalisation) -> Mapping[int, StepCounterExample]:
    """Those of the rejected steps of a generalisation by their numbers (one query)."""
    steps = GeneralisationStep.objects.filter(generalisation=row, taken=False, n__gt=0).order_by("number")
    told = {}
    for number, packed in steps.values_list("number", "samples")[:MOST]:
        example = counter_example(found, unpack(bytes(packed)))
        if example is not None:
            told[number] = example
    return told


@dataclass(frozen=True)
class StepBlocks:
    """The blocks as they were sampled, and with an answer more for each predictor that was asked later."""

    samples: Sequence[Sample]
    asked: QuestionAnswers

    @property
    def extended(self) -> list[Sample]:
        """The samples with all answers: the campaign's tools first, then whoever was asked later."""
        lacking = Answer(failure=Failure.NO_NUMBER, detail=NOT_ASKED)
        return [
            Sample(
                one.code,
                (*one.answers, *(said.answers.get(one.code, lacking) for said in self.asked.said)),
                one.seconds,
            )
            for one in self.samples
        ]

    def columns(self, found: DiscoveryParts) -> list[str]:
        """Whose answers these are, in their order; `found`: whose decision it is.

        Of a tool of the campaign that was asked again there are two: `… before` and `… after`.
        """
        again = asked_again(found, self.asked.said)
        places = set(again.values())
        return [
            *(f"{one.name}{BEFORE if at in places else ''}" for at, one in enumerate(found.predictors)),
            *(f"{said.name}{AFTER if said.predictor in again else ''}" for said in self.asked.said),
        ]

    def changed(self, found: DiscoveryParts) -> list[tuple[str, int]]:
        """Of each campaign tool that was asked again, for how many blocks it says something else."""
        again = asked_again(found, self.asked.said)
        return [
            (said.name, sum(_differ(one, again[said.predictor], said.answers) for one in self.samples))
            for said in self.asked.said
            if said.predictor in again and not said.error
        ]


def _differ(sample: Sample, place: int, answers: Mapping[bytes, Answer]) -> bool:
    before, after = sample.answers[place], answers.get(sample.code)
    if after is None or before.cycles is None or after.cycles is None:
        return after is not None and before.failure != after.failure
    return round(before.cycles, 2) != round(after.cycles, 2)


def about(row: Generalisation, number: int) -> dict[str, int]:
    """What runs that ask about the blocks of a decision say of them."""
    return {"generalisation": row.pk, "step": number}


def blocks_of_step(row: Generalisation, number: int) -> StepBlocks:
    """The blocks of a decision (three queries); none where it rests on none or they were pruned."""
    return StepBlocks(samples_of_step(row, number) or [], asked_about(about(row, number)))


def orders_of(columns: int) -> tuple[str, ...]:
    """What the blocks can be sorted by: as sampled, length, interest, a tool's place; a minus: descending."""
    sorts = (BY_BLOCK, BY_LENGTH, BY_INTEREST, *(str(place) for place in range(1, columns + 1)))
    return (*sorts, *(f"-{one}" for one in sorts))


def page_of_blocks(
    found: DiscoveryParts, seen: StepBlocks, sort: str, number: int, size: int
) -> Page[Sample]:
    """A page of the blocks with all answers, in one of `orders_of`."""
    extended = seen.extended
    values = {
        id(one.sample): one.verdict.value for one in found.examined(extended) if one.verdict is not None
    }
    return sample_page(
        extended,
        sort.removeprefix("-"),
        descending=sort.startswith("-"),
        value=lambda one: values.get(id(one), 0.0),
        number=number,
        size=size,
    )


def blocks_csv(found: DiscoveryParts, row: Generalisation, number: int) -> str:
    """All blocks of a decision in the form of a basic-block set: digits, and a column per tool."""
    seen = blocks_of_step(row, number)
    lines = [
        [one.code.hex(), *(-1.0 if answer.cycles is None else answer.cycles for answer in one.answers)]
        for one in seen.extended
    ]
    about = {"campaign": found.campaign.name, "discovery": str(found.discovery), "decision": f"step {number}"}
    head = head_of(**about, **{"instruction set": found.isa})
    return written(["bb", *seen.columns(found)], lines, head)


def question_about_step(
    row: Generalisation, number: int, predictors: Sequence[Predictor], *, anew: bool
) -> Json:
    """The description of a run of kind `ask` about the blocks of a decision."""
    return {
        "predictors": [one.pk for one in predictors],
        "isa": code_isa(row.campaign.isa),
        "blocks": [one.code.hex() for one in samples_of_step(row, number) or []],
        "anew": anew,
        "about": about(row, number),
    }


def name_of_question(discovery: Discovery, number: int) -> str:
    """What that run is called."""
    return f"{discovery.campaign.name[:100]}, {discovery}, step {number}, predicted again"


def questions_about_steps(runs: Sequence[Run]) -> dict[int, RunOrigin]:
    """The steps of discoveries about whose blocks these runs ask (one query)."""
    asked = {run.pk: number_about(run, "generalisation") for run in runs}
    wanted = {pk for pk in asked.values() if pk is not None}
    found = Generalisation.objects.filter(pk__in=wanted, discovery__isnull=False).select_related("discovery")
    rows = {row.pk: row for row in found} if wanted else {}
    return {
        run.pk: _step_of(rows[asked[run.pk] or 0], number_about(run, "step") or 0)
        for run in runs
        if asked[run.pk] in rows
    }


def _step_of(row: Generalisation, step: int) -> RunOrigin:
    url = f"{reverse('discovery', args=[row.discovery_id])}?g={row.number}&step={step}#step"
    return RunOrigin(f"{row.discovery}, step {step}", url)


def may_ask_again(found: DiscoveryParts) -> bool:
    """Whether one of the campaign's tools may be here, as far as that is known without looking."""
    return any(row.askable or options_here(row) for row in found.predictors)


def tools_here(found: DiscoveryParts) -> list[Predictor]:
    """The campaign's tools that can be asked here; for those of a file, the same tool and processor."""
    rows = [row if row.askable else _of_file(row) for row in found.predictors]
    return list(dict.fromkeys(row for row in rows if row is not None))


def _of_file(row: Predictor) -> Predictor | None:
    known = options_here(row)
    if known is None:
        return None
    try:
        return row_for(*known)
    except PredictorError:
        return None


def asked_again(found: DiscoveryParts, said: Sequence[PredictorSaid]) -> Mapping[int, int]:
    """{id of a predictor that was asked later: the place of the campaign's tool that it is}."""
    own = {row.pk: place for place, row in enumerate(found.predictors)}
    places = {one.predictor: own[one.predictor] for one in said if one.predictor in own}
    foreign = {tool_and_core(row): place for place, row in enumerate(found.predictors) if not row.askable}
    foreign.pop(None, None)
    others = [one.predictor for one in said if one.predictor not in own]
    if foreign and others:
        for pk, row in Predictor.objects.in_bulk(others).items():
            place = foreign.get(tool_and_core(row))
            if place is not None:
                places[pk] = place
    return places


def chosen_node(request: HttpRequest, tree: Tree) -> Node | None:
    """The decision in the address, else that which shows examples of the result; None where there is none."""
    number = whole_number(request, "step")
    found = tree.telling if number is None else tree.node(number)
    return None if found is None else tree.head(found)


def step_context(request: HttpRequest, found: DiscoveryParts, tree: Tree, node: Node) -> dict[str, Any]:
    """What the part of the page about a decision needs (three or four queries)."""
    row = tree.generalisation
    seen = blocks_of_step(row, node.number)
    columns = seen.columns(found)
    places = [str(place) for place in range(1, len(columns) + 1)]
    sort = one_of(request, "sort", orders_of(len(columns)), BY_BLOCK)
    page = page_of_blocks(found, seen, sort, whole_number(request, "page", 0) or 0, PAGE_SIZE)
    before, now = tree.around(node.number)
    return {
        "node": node,
        "implied": [decision(one) for one in tree.implied[node.number]],
        "against": None if node.taken else counter_example(found, seen.samples),
        "changed": seen.changed(found),
        "again": may_ask_again(found),
        "pruned": bool(node.n) and not seen.samples,
        "tried": decision(node),
        "why": reason(node),
        "said": compared(before, now),
        "rests": tree.resting(node.number),
        "columns": list(zip(places, columns, strict=True)),
        "tools": len(found.predictors),
        "sort": sort,
        "page": page,
        "rows": [_row(one, columns) for one in found.examined(page.rows)],
        "asked": seen.asked,
        "judged": found.judge is not None,
    }


def _row(example: JudgedBlock, columns: Sequence[str]) -> dict[str, Any]:
    sample = example.sample
    return {
        "example": example,
        "hex": sample.code.hex(),
        "lines": intel_or_digits(sample.code),
        "answers": list(zip(columns, sample.answers, strict=True)),
    }


def tree_document(found: DiscoveryParts, tree: Tree, *, samples: bool) -> Json:
    """A generalisation as JSON: every decision with its words, and with `samples` every judged block.

    `expansion` and `start` are documents of abstract blocks (docs/abstract-blocks.md).
    """
    row = tree.generalisation
    blocks = all_samples(row) if samples else repeat(None)
    return {
        "made by": PRODUCT,
        "campaign": found.campaign.name,
        "discovery": found.discovery.number,
        "generalisation": row.number,
        "became": row.became,
        "predictors": [one.name for one in found.predictors],
        "start": row.start,
        "result": _result(row),
        "steps": [
            {
                "number": node.number,
                "kind": node.kind,
                "expansion": node.expansion,
                **({"foreign": node.foreign} if node.expansion is None and node.foreign is not None else {}),
                "words": decision(node),
                "taken": node.taken,
                "implied": node.number not in tree.implied,
                "reason": reason(node),
                "n": node.n,
                "interesting": node.interesting,
                "failed": node.failed,
                "mean": None if node.mean is None else finite(node.mean),
                **({} if judged is None else {"samples": sample_document(judged, found.isa)}),
            }
            for node, judged in zip(tree.nodes, blocks, strict=False)
        ],
    }


def _result(row: Generalisation) -> Json | None:
    if "result" in row.get_deferred_fields():
        row.refresh_from_db(fields=["result"])
    return row.result


def finite(value: float) -> float | str:
    """The number; "infinite" for what JSON has no number for."""
    return value if abs(value) < float("inf") else "infinite"
