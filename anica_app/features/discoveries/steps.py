"""One decision of a generalisation: its blocks, later answers for them, its part of the page, its files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from anica_app.features.discoveries.query import (
    BY_BLOCK,
    BY_INTEREST,
    BY_LENGTH,
    DiscoveryParts,
    JudgedSample,
    Node,
    Tree,
    all_samples,
    sample_page,
    samples_of_step,
)
from anica_app.features.discoveries.tool_commands import options_here, tool_and_core
from anica_app.features.discoveries.wording import compare_wordings, decision_text, reason_text
from anica_app.models import Discovery, Generalisation, GeneralisationStep
from inference.core.protocols import Json
from inference.features.asking.predictors.query import row_for
from inference.features.asking.questions.query import PredictorReport, QuestionAnswers, answers_about
from inference.formats.provenance import PRODUCT, head_of
from inference.formats.quoting import csv_text
from inference.formats.sample_document import sample_document
from inference.isa.blocks import intel_or_digits
from inference.isa.targets import DEFAULT
from inference.models import Predictor, Run
from inference.predictors.protocol import Answer, Failure, PredictorError
from inference.predictors.samples import Sample, unpack
from inference.storage.instruction_sets import code_isa
from inference.storage.names import result_name
from inference.web.contributions import RunOrigin, number_about
from inference.web.file_answers import attachment
from inference.web.paging import Page
from inference.web.validation import choice_parameter, number_parameter

MAX_COUNTER_EXAMPLES = 500
"""Rejected steps of a tree that show a counter-example; further ones do not."""
NOT_PREDICTED = "not predicted for this block"
BEFORE, AFTER = ", before", ", after"
"""Suffixes of the columns of a tool that was run again."""
PAGE_SIZE = 25


@dataclass(frozen=True)
class StepCounterExample:
    """A block that refutes an expansion, and the answers of the campaign's tools."""

    code: bytes
    answers: tuple[Answer, ...]
    isa: str = DEFAULT

    @property
    def block(self) -> str:
        """The block's instructions in one line; hexadecimal digits where they cannot be decoded."""
        return "; ".join(intel_or_digits(self.code, self.isa))

    @property
    def answers_text(self) -> str:
        """`3.00 = 3.00`, `3.00 ≈ 3.10`, or with a failure `crash | 3.00`."""
        texts = [str(row.failure) if row.cycles is None else f"{row.cycles:.2f}" for row in self.answers]
        if any(answer.cycles is None for answer in self.answers):
            return " | ".join(texts)
        return (" = " if len(set(texts)) == 1 else " ≈ ").join(texts)

    def __str__(self) -> str:
        return f"{self.block}: {self.answers_text}"


def counter_example(parts: DiscoveryParts, samples: Sequence[Sample]) -> StepCounterExample | None:
    """The shortest uninteresting block of a rejected step, else one that is interesting in another way.

    None where the criterion is unknown.
    """
    kind = parts.discovery.kind
    judged = [(block.sample, block.verdict) for block in parts.examined(samples)]
    decided = [(sample, verdict) for sample, verdict in judged if verdict is not None and not verdict.silent]
    against = [sample for sample, verdict in decided if not verdict.interesting]
    against = against or [sample for sample, verdict in decided if kind and verdict.kind != kind]
    best = min(against, key=lambda sample: (len(sample.code), sample.code), default=None)
    return (
        None
        if best is None
        else StepCounterExample(best.code, best.answers[: len(parts.predictors)], parts.isa)
    )


def counter_examples_of(parts: DiscoveryParts, row: Generalisation) -> Mapping[int, StepCounterExample]:
    """{number of a rejected step: its counter-example} (one query)."""
    steps = GeneralisationStep.objects.filter(generalisation=row, taken=False, n__gt=0).order_by("number")
    examples = {}
    for number, packed in steps.values_list("number", "samples")[:MAX_COUNTER_EXAMPLES]:
        example = counter_example(parts, unpack(bytes(packed)))
        if example is not None:
            examples[number] = example
    return examples


@dataclass(frozen=True)
class StepBlocks:
    """The blocks of a decision, with their original answers and those of predictors that were run later."""

    samples: Sequence[Sample]
    later: QuestionAnswers

    @property
    def extended(self) -> list[Sample]:
        """The samples with all answers: the campaign's tools first, then later predictors."""
        reports, absent = self.later.reports, Answer(failure=Failure.NO_NUMBER, detail=NOT_PREDICTED)
        return [
            Sample(
                sample.code,
                (*sample.answers, *(report.answers.get(sample.code, absent) for report in reports)),
                sample.seconds,
            )
            for sample in self.samples
        ]

    def columns(self, parts: DiscoveryParts) -> list[str]:
        """The names of the answers, in their order. A tool that was run again has two: `… before` and `…
        after`.
        """
        repeated = repeated_predictors(parts, self.later.reports)
        places = set(repeated.values())
        return [
            *(f"{tool.name}{BEFORE if at in places else ''}" for at, tool in enumerate(parts.predictors)),
            *(f"{row.name}{AFTER if row.predictor in repeated else ''}" for row in self.later.reports),
        ]

    def changed(self, parts: DiscoveryParts) -> list[tuple[str, int]]:
        """For each campaign tool that was run again, the number of blocks with another answer."""
        repeated = repeated_predictors(parts, self.later.reports)
        return [
            (row.name, sum(_differ(part, repeated[row.predictor], row.answers) for part in self.samples))
            for row in self.later.reports
            if row.predictor in repeated and not row.error
        ]


def _differ(sample: Sample, place: int, answers: Mapping[bytes, Answer]) -> bool:
    before, after = sample.answers[place], answers.get(sample.code)
    if after is None or before.cycles is None or after.cycles is None:
        return after is not None and before.failure != after.failure
    return round(before.cycles, 2) != round(after.cycles, 2)


def about(row: Generalisation, number: int) -> dict[str, int]:
    """The key by which runs refer to the blocks of a decision."""
    return {"generalisation": row.pk, "step": number}


def blocks_of_step(row: Generalisation, number: int) -> StepBlocks:
    """The blocks of a decision (three queries); none where it has none or they were pruned."""
    return StepBlocks(samples_of_step(row, number) or [], answers_about(about(row, number)))


def orders_of(columns: int) -> tuple[str, ...]:
    """Sort keys of blocks: as sampled, length, interest, or a tool's place; with a minus descending."""
    sorts = (BY_BLOCK, BY_LENGTH, BY_INTEREST, *(str(place) for place in range(1, columns + 1)))
    return (*sorts, *(f"-{order}" for order in sorts))


def page_of_blocks(
    parts: DiscoveryParts, blocks: StepBlocks, sort: str, number: int, size: int
) -> Page[Sample]:
    """A page of blocks with all answers, sorted by one of `orders_of`."""
    extended = blocks.extended
    values = {
        id(row.sample): row.verdict.value for row in parts.examined(extended) if row.verdict is not None
    }
    return sample_page(
        extended,
        sort.removeprefix("-"),
        descending=sort.startswith("-"),
        value=lambda sample: values.get(id(sample), 0.0),
        number=number,
        size=size,
    )


def blocks_csv(parts: DiscoveryParts, row: Generalisation, number: int) -> str:
    """The blocks of a decision as a basic-block set: code, and a column per tool."""
    blocks = blocks_of_step(row, number)
    lines = [
        [sample.code.hex(), *(-1.0 if answer.cycles is None else answer.cycles for answer in sample.answers)]
        for sample in blocks.extended
    ]
    head_fields = {
        "campaign": parts.campaign.name,
        "discovery": str(parts.discovery),
        "decision": f"step {number}",
    }
    head = head_of(**head_fields, **{"instruction set": parts.isa})
    return csv_text(["bb", *blocks.columns(parts)], lines, head)


def question_about_step(
    row: Generalisation, number: int, predictors: Sequence[Predictor], *, anew: bool
) -> Json:
    """The description of a run of kind `ask` about the blocks of a decision."""
    return {
        "predictors": [predictor.pk for predictor in predictors],
        "isa": code_isa(row.campaign.isa),
        "blocks": [sample.code.hex() for sample in samples_of_step(row, number) or []],
        "anew": anew,
        "about": about(row, number),
    }


def name_of_question(discovery: Discovery, number: int) -> str:
    return result_name(discovery.campaign.name, str(discovery), f"step {number}")


def questions_about_steps(runs: Sequence[Run]) -> dict[int, RunOrigin]:
    """The steps of discoveries whose blocks these runs predict (one query)."""
    generalisations = {run.pk: number_about(run, "generalisation") for run in runs}
    ids = {pk for pk in generalisations.values() if pk is not None}
    rows_ = Generalisation.objects.filter(pk__in=ids, discovery__isnull=False).select_related("discovery")
    rows = {row.pk: row for row in rows_} if ids else {}
    return {
        run.pk: _step_of(rows[generalisations[run.pk] or 0], number_about(run, "step") or 0)
        for run in runs
        if generalisations[run.pk] in rows
    }


def _step_of(row: Generalisation, step: int) -> RunOrigin:
    url = f"{reverse('discovery', args=[row.discovery_id])}?g={row.number}&step={step}#step"
    return RunOrigin(f"{row.discovery}, step {step}", url)


def tools_here(parts: DiscoveryParts) -> list[Predictor]:
    """The campaign's tools that can run here; for imported ones, the same tool and processor."""
    rows = [row if row.is_runnable else _of_file(row) for row in parts.predictors]
    return list(dict.fromkeys(row for row in rows if row is not None))


def _of_file(row: Predictor) -> Predictor | None:
    kind_and_options = options_here(row)
    if kind_and_options is None:
        return None
    try:
        return row_for(*kind_and_options)
    except PredictorError:
        return None


def repeated_predictors(parts: DiscoveryParts, reports: Sequence[PredictorReport]) -> Mapping[int, int]:
    """{id of a predictor that was run later: the place of the campaign's tool that it repeats}."""
    seat_by_row = {row.pk: place for place, row in enumerate(parts.predictors)}
    places = {
        report.predictor: seat_by_row[report.predictor]
        for report in reports
        if report.predictor in seat_by_row
    }
    rows = list(enumerate(parts.predictors))
    imported = {tool_and_core(row): place for place, row in rows if not row.is_runnable}
    imported.pop(None, None)
    unmatched = [report.predictor for report in reports if report.predictor not in seat_by_row]
    if imported and unmatched:
        for pk, row in Predictor.objects.in_bulk(unmatched).items():
            place = imported.get(tool_and_core(row))
            if place is not None:
                places[pk] = place
    return places


def chosen_node(request: HttpRequest, tree: Tree) -> Node | None:
    """The decision in the address, else the one with examples of the result; None without one."""
    number = number_parameter(request, "step")
    node = tree.example_node if number is None else tree.node(number)
    return None if node is None else tree.head(node)


def step_context(request: HttpRequest, parts: DiscoveryParts, tree: Tree, node: Node) -> dict[str, Any]:
    """The context of a decision's part of the page (three or four queries)."""
    row = tree.generalisation
    blocks = StepBlocks(parts.samples(row, node.number), answers_about(about(row, node.number)))
    columns = blocks.columns(parts)
    places = [str(place) for place in range(1, len(columns) + 1)]
    sort = choice_parameter(request, "sort", orders_of(len(columns)), BY_BLOCK)
    page = page_of_blocks(parts, blocks, sort, number_parameter(request, "page", 0) or 0, PAGE_SIZE)
    before, now = tree.documents_around(node.number)
    return {
        "node": node,
        "implied": [decision_text(node_) for node_ in tree.implied[node.number]],
        "against": None if node.taken else counter_example(parts, blocks.samples),
        "changed": blocks.changed(parts),
        "again": any(row.is_runnable or options_here(row) for row in parts.predictors),
        "pruned": bool(node.n) and not blocks.samples,
        "tried": decision_text(node),
        "why": reason_text(node),
        "compared": compare_wordings(before, now),
        "rests": tree.sampled_before(node.number),
        "columns": list(zip(places, columns, strict=True)),
        "tools": len(parts.predictors),
        "sort": sort,
        "page": page,
        "rows": [_row(block, columns, parts.isa) for block in parts.examined(page.rows)],
        "later": blocks.later,
        "judged": parts.judge is not None,
    }


def _row(example: JudgedSample, columns: Sequence[str], isa: str) -> dict[str, Any]:
    sample = example.sample
    return {
        "example": example,
        "hex": sample.code.hex(),
        "lines": intel_or_digits(sample.code, isa),
        "answers": list(zip(columns, sample.answers, strict=True)),
    }


def tree_answer(parts: DiscoveryParts, tree: Tree, *, samples: bool) -> HttpResponse:
    text = json.dumps(tree_document(parts, tree, samples=samples), ensure_ascii=False)
    name = f"{parts.campaign.name} {parts.discovery} tree {tree.generalisation.number}"
    return attachment(text, "application/json", name, "json")


def tree_document(parts: DiscoveryParts, tree: Tree, *, samples: bool) -> Json:
    """A generalisation as JSON: every decision with its text, and with `samples` every judged block.

    `expansion` and `start` are documents of abstract blocks (docs/abstract-blocks.md).
    """
    row = tree.generalisation
    blocks = all_samples(row) if samples else repeat(None)
    return {
        "made by": PRODUCT,
        "campaign": parts.campaign.name,
        "discovery": parts.discovery.number,
        "generalisation": row.number,
        "became": row.became,
        "predictors": [predictor.name for predictor in parts.predictors],
        "start": row.start,
        "result": _result(row),
        "steps": [
            {
                "number": node.number,
                "kind": node.kind,
                "expansion": node.expansion,
                **({"foreign": node.foreign} if node.expansion is None and node.foreign is not None else {}),
                "words": decision_text(node),
                "taken": node.taken,
                "implied": node.number not in tree.implied,
                "reason": reason_text(node),
                "n": node.n,
                "interesting": node.interesting,
                "failed": node.failed,
                "mean": None if node.mean is None else finite(node.mean),
                **({} if judged is None else {"samples": sample_document(judged, parts.isa)}),
            }
            for node, judged in zip(tree.nodes, blocks, strict=False)
        ],
    }


def _result(row: Generalisation) -> Json | None:
    if "result" in row.get_deferred_fields():
        row.refresh_from_db(fields=["result"])
    return row.result


def finite(value: float) -> float | str:
    """The number; "infinite" where JSON has no number."""
    return value if abs(value) < float("inf") else "infinite"
