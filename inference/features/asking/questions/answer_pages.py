"""The page of a block query: the answers to its blocks as they arrive, and the panels of a single block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse

from inference.core.errors import InvalidInputError
from inference.core.protocols import Json
from inference.features.asking.blocks.port_load import describing_mappings, load_context, load_of
from inference.features.asking.blocks.query import rows_of, scheme_rows
from inference.features.asking.loop.answer import block_explanation, closest_bound
from inference.features.asking.loop.query import cpus
from inference.features.asking.predictors.modes import mode_of_question
from inference.features.asking.predictors.query import different_processors
from inference.features.asking.questions.query import (
    KIND,
    MemoryTable,
    PredictorAnswer,
    PredictorReport,
    QuestionBlock,
    answers_to,
    memory_question,
    memory_run,
    memory_table,
    question_blocks,
    question_predictors,
    reports_of,
)
from inference.features.running.runs.kind_presentation import KindPresentation, RunOutcome
from inference.formats.quoting import csv_text
from inference.isa.blocks import block_of_bytes, blocks_name, intel_or_digits, isa_of_fields
from inference.isa.code.block import Block, BlockName
from inference.isa.targets import DEFAULT
from inference.models import ISA, Predictor, Run
from inference.predictors.answer_arrays import outlying_answers, relative_spread
from inference.predictors.memory_variants import variants
from inference.runs.errors import ConfigError
from inference.runs.lifecycle import submit, unused_name
from inference.storage.names import result_name
from inference.web.contributions import Context, PanelPlace, handle_panel_form, origins_of, rendered_panels
from inference.web.file_answers import table_answer
from inference.web.paging import Order
from inference.web.validation import number_parameter

PAGE_SIZE = 25
NO_BLOCK = BlockName(DEFAULT, b"")


@dataclass(frozen=True)
class BlockQuestion:
    """A run of kind `ask` with the reports it has so far."""

    run: Run
    predictors: Mapping[int, Predictor | None]
    reports: Mapping[int, PredictorReport]

    @property
    def blocks(self) -> list[BlockName]:
        return question_blocks(self.run)

    def answers(self, name: BlockName = NO_BLOCK) -> list[PredictorAnswer]:
        return answers_to(self.predictors, self.reports, name)


def _question(pk: int) -> BlockQuestion:
    run = get_object_or_404(Run, pk=pk, kind=KIND)
    return BlockQuestion(run, question_predictors(run), reports_of(run))


def question_page(request: HttpRequest, pk: int) -> HttpResponse:
    """The answers to the block in the address (`block`, from 1), or to all; a POST presses a panel's
    button."""
    question = _question(pk)
    number = number_parameter(request, "block")
    blocks = question.blocks
    if number is None and len(blocks) == 1:
        number = 1
    if number is None:
        return render(request, "inference/questions/answers.html", _table(request, question))
    if not 1 <= number <= len(blocks):
        raise Http404(f"the question has {len(blocks)} blocks")
    name = blocks[number - 1]
    subject = QuestionBlock(question.run, number, name, question.answers(name))
    invalid: Context | None = None
    if request.method == "POST":
        if request.POST.get("press") == "memory":
            return _ask_about_memory(request, question, number)
        answer = handle_panel_form(request, PanelPlace.BLOCK, subject)
        if answer is None:
            raise Http404("there is no such button")
        if isinstance(answer, HttpResponse):
            return answer
        invalid = answer
    context = _detail(request, question, subject, invalid)
    return render(
        request, "inference/questions/answers.html", context, status=200 if invalid is None else 400
    )


def _ask_about_memory(request: HttpRequest, question: BlockQuestion, number: int) -> HttpResponse:
    block = question.blocks[number - 1]
    rows = [row for row in question.predictors.values() if row is not None]
    name = unused_name(result_name(blocks_name([block.code.hex()], block.isa), "memory dependencies"))
    try:
        config = memory_question(rows, block, asked=question.run.pk, block=number)
        submit(KIND, config, name, user=request.user)
    except (InvalidInputError, ConfigError) as error:
        messages.error(request, f"Memory dependencies cannot be compared: {error}.")
    return redirect(f"{request.get_full_path()}#memory")


def _table(request: HttpRequest, question: BlockQuestion) -> dict[str, Any]:
    """A page of the table with a row per block and a column per predictor."""
    count = len(question.blocks)
    keys = {"block": "block", "apart": "apart"} | {f"by{pk}": f"by{pk}" for pk in question.predictors}
    order = Order.read(request.GET.get("sort", ""), keys, "block")
    places = _sorted_places(question, order)
    last = (count - 1) // PAGE_SIZE
    page = min(max(number_parameter(request, "page", 0) or 0, 0), last)
    page_places = places[page * PAGE_SIZE : (page + 1) * PAGE_SIZE]
    return {
        **_question_context(question, [question.run]),
        "rows": [_block_answers(question, place) for place in page_places],
        "heads": [(f"by{line.pk}", line.name) for line in question.answers()],
        "sort": str(order),
        "previous_page": page - 1 if page else None,
        "next_page": page + 1 if page < last else None,
    }


def _sorted_places(question: BlockQuestion, order: Order) -> list[int]:
    """The places of the blocks in the order of the table; those without a number come last in both
    directions."""
    blocks = question.blocks
    places = list(range(len(blocks)))
    if order.column == "block":
        return places[::-1] if order.descending else places
    numbers = {}
    for place, name in enumerate(blocks):
        lines = question.answers(name)
        if order.column == "apart":
            numbers[place] = relative_spread([line.cycles for line in lines])
        else:
            numbers[place] = next(line.cycles for line in lines if f"by{line.pk}" == order.column)
    with_number = [place for place in places if numbers[place] is not None]
    with_number.sort(key=lambda place: numbers[place] or 0.0, reverse=order.descending)
    return with_number + [place for place in places if numbers[place] is None]


@dataclass(frozen=True)
class BlockAnswers:
    """A row of the table: the block’s number from 1, its instructions, and each answer with whether it is
    odd.

    `spread_percent`: largest minus smallest answer, in per cent of their mean; None for fewer than two
    numbers.
    """

    number: int
    instructions: Sequence[str]
    lines: Sequence[tuple[PredictorAnswer, bool]]
    spread_percent: float | None


def _block_answers(question: BlockQuestion, place: int) -> BlockAnswers:
    name = question.blocks[place]
    lines = question.answers(name)
    cycles = [line.cycles for line in lines]
    odd = outlying_answers(cycles)
    share = relative_spread(cycles)
    return BlockAnswers(
        place + 1,
        intel_or_digits(name.code, name.isa),
        [(line, at in odd) for at, line in enumerate(lines)],
        None if share is None else 100 * share,
    )


def _detail(
    request: HttpRequest, question: BlockQuestion, subject: QuestionBlock, invalid: Context | None
) -> dict[str, Any]:
    """The context of a single block's page; `invalid`: that of a panel whose form is invalid."""
    name = subject.name
    block = block_of_bytes(name.code, name.isa)
    isa = ISA.objects.filter(name=name.isa).first()
    schemes = {} if isa is None else scheme_rows([block], isa)
    mode = mode_of_question(question.run, question.predictors.values())
    why = block_explanation(block, mode, cpus(block.isa))
    bounds = () if why is None else why.analysis.bounds
    lines = [replace(line, closest_bound=closest_bound(bounds, line.cycles)) for line in subject.lines]
    memory = memory_run(name)
    panels = rendered_panels(request, PanelPlace.BLOCK, subject, invalid)
    panel_runs = [run for panel in panels for run in panel.context.get("followed", ())]
    return {
        **_question_context(question, [question.run, *filter(None, [memory]), *panel_runs]),
        "number": subject.number,
        "shown_block": block,
        "instructions": rows_of(block, schemes),
        "why": why,
        "lines": [line for line in lines if not line.failed],
        "silent": [line for line in lines if line.failed],
        "measured": any(panel.measures and panel.cycles is not None for panel in lines),
        **ports_context(request, block, isa, schemes),
        "panels": panels,
        "memory": _memory(memory),
        "no_variants": _obstacle_to_variants(name),
    }


def _question_context(question: BlockQuestion, followed: list[Run]) -> dict[str, Any]:
    """The context that a single block and the table share; `followed`: the runs that the page watches."""
    run = question.run
    waiting = [pk for pk in question.predictors if pk not in question.reports]
    return {
        "run": run,
        "origin": origins_of([run]).get(run.pk),
        "asked": len(question.predictors),
        "answered": len(question.reports),
        "count": len(run.config["blocks"]),
        "predictors": [line.name for line in question.answers()],
        "processors": different_processors(row for row in question.predictors.values() if row is not None),
        "rows_asked": [row for row in question.predictors.values() if row is not None],
        "ended": run.state in Run.FINAL,
        "waiting": bool(waiting),
        "live": {"runs": [_followed_run(run) for run in followed if run.state not in Run.FINAL]},
    }


def _followed_run(run: Run) -> Json:
    return {"socket": f"/ws/runs/{run.pk}/", "since": run.next_seq - 1, "final": list(Run.FINAL)}


def _memory(run: Run | None) -> MemoryTable | None:
    if run is None:
        return None
    return memory_table(run, question_predictors(run), reports_of(run))


def _obstacle_to_variants(name: BlockName) -> str:
    """Why the block's addresses cannot be varied; "" where they can."""
    try:
        variants(name.code, name.isa)
    except InvalidInputError as error:
        return str(error)
    return ""


def answers_csv(request: HttpRequest, pk: int) -> HttpResponse:
    """The answers as a CSV file of a block set: machine code, and a column per predictor; −1: no number."""
    question = _question(pk)
    rows = []
    for block in question.blocks:
        cycles = [line.cycles for line in question.answers(block)]
        rows.append([block.hex, *(-1.0 if number is None else number for number in cycles)])
    names = [line.name for line in question.answers()]
    head = {"question": question.run.name, "instruction set": isa_of_fields(question.run.config)}
    return table_answer(csv_text(["bb", *names], rows), question.run.name, **head)


def outcomes_of(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """{run id: the page with its answers}: the page that started the run, else its own (two queries)."""
    origins = origins_of(runs)
    return {
        run.pk: RunOutcome(origins[run.pk].text, origins[run.pk].url)
        if run.pk in origins
        else RunOutcome("Answers", reverse("asked-blocks", args=[run.pk]))
        for run in runs
    }


urlpatterns = [
    path("blocks/<int:pk>/", question_page, name="asked-blocks"),
    path("blocks/<int:pk>/answers.csv", answers_csv, name="asked-blocks-csv"),
]


def ports_context(
    request: HttpRequest, block: Block, isa: ISA | None, schemes: dict[str, int]
) -> dict[str, Any]:
    """The context of `inference/questions/ports.html`; `schemes`: {text: row id} of the block (three
    queries)."""
    choices = [] if isa is None else describing_mappings(schemes.values(), isa)
    mapping_id = number_parameter(request, "mapping")
    machine = next(
        (choice for choice in choices if choice.mapping.pk == mapping_id), choices[0] if choices else None
    )
    load = None if machine is None else load_of(block, machine.mapping)
    context: dict[str, Any] = {
        "choices": choices,
        "distinct": len(block.terms),
        "load": load,
        "no_such_mapping": mapping_id is not None and (machine is None or machine.mapping.pk != mapping_id),
    }
    if load is not None:
        context |= load_context(block, load)
    return context


PRESENTATIONS = {"ask": KindPresentation(outcomes=outcomes_of)}
