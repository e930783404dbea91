"""The page of a question: what everybody says of its blocks, live and afterwards, and what leads on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse

from inference.core.errors import InvalidInputError
from inference.core.protocols import Json
from inference.features.asking.blocks.port_load import describing, load_context, load_of
from inference.features.asking.blocks.query import rows_of, scheme_rows
from inference.features.asking.predictors.modes import mode_asked
from inference.features.asking.predictors.query import different_processors
from inference.features.asking.questions.query import (
    KIND,
    MemoryTable,
    PredictorAnswer,
    PredictorSaid,
    ShownBlock,
    asked_predictors,
    lines_of,
    memory_question,
    memory_run,
    memory_table,
    names_in,
    said_of,
)
from inference.features.asking.questions.why_section import why_of, with_closest
from inference.features.running.runs.kind_presentation import RunOutcome
from inference.formats.csv_cells import written
from inference.isa.blocks import Block, BlockName, block_of_bytes, isa_beside
from inference.isa.blocks.listing import intel_or_digits
from inference.isa.targets import DEFAULT
from inference.models import ISA, Predictor, Run
from inference.predictors.answer_arrays import apart, odd_answers
from inference.predictors.memory_variants import variants
from inference.runs.errors import ConfigError
from inference.runs.lifecycle import submit, unused_name
from inference.web.contributions import Context, PanelPlace, origins_of, press, shown_panels
from inference.web.file_answers import table_answer
from inference.web.paging import Order
from inference.web.validation import whole_number

PAGE_SIZE = 25
NO_BLOCK = BlockName(DEFAULT, b"")


@dataclass(frozen=True)
class BlockQuestion:
    """A run that asks, with what it has heard so far."""

    run: Run
    predictors: Mapping[int, Predictor | None]
    said: Mapping[int, PredictorSaid]

    @property
    def names(self) -> list[BlockName]:
        """The blocks, in the order asked."""
        return names_in(self.run)

    def lines(self, name: BlockName = NO_BLOCK) -> list[PredictorAnswer]:
        """What each says of a block."""
        return lines_of(self.predictors, self.said, name)


def _question(pk: int) -> BlockQuestion:
    run = get_object_or_404(Run, pk=pk, kind=KIND)
    return BlockQuestion(run, asked_predictors(run), said_of(run))


def asked_blocks(request: HttpRequest, pk: int) -> HttpResponse:
    """What was said of the block in the address (`block`, from 1), or of all; a POST starts what leads on."""
    question = _question(pk)
    number = whole_number(request, "block")
    names = question.names
    if number is None and len(names) == 1:
        number = 1
    if number is None:
        return render(request, "inference/questions/answers.html", _table(request, question))
    if not 1 <= number <= len(names):
        raise Http404(f"the question has {len(names)} blocks")
    name = names[number - 1]
    subject = ShownBlock(question.run, number, name, question.lines(name))
    wrong: Context | None = None
    if request.method == "POST":
        if request.POST.get("press") == "memory":
            return _ask_about_memory(request, question, number)
        answer = press(request, PanelPlace.SHOWN_BLOCK, subject)
        if answer is None:
            raise Http404("there is no such button")
        if isinstance(answer, HttpResponse):
            return answer
        wrong = answer
    context = _detail(request, question, subject, wrong)
    return render(request, "inference/questions/answers.html", context, status=200 if wrong is None else 400)


def _ask_about_memory(request: HttpRequest, question: BlockQuestion, number: int) -> HttpResponse:
    block = question.names[number - 1]
    rows = [row for row in question.predictors.values() if row is not None]
    name = unused_name(f"Memory dependencies of {'; '.join(intel_or_digits(block.code, block.isa))}"[:190])
    try:
        config = memory_question(rows, block, asked=question.run.pk, block=number)
        submit(KIND, config, name, user=request.user)
    except (InvalidInputError, ConfigError) as error:
        messages.error(request, f"Memory dependencies cannot be compared: {error}.")
    return redirect(f"{request.get_full_path()}#memory")


def _table(request: HttpRequest, question: BlockQuestion) -> dict[str, Any]:
    """All blocks beside all predictors, a page at a time."""
    count = len(question.names)
    keys = {"block": "block", "apart": "apart"} | {f"by{pk}": f"by{pk}" for pk in question.predictors}
    order = Order.read(request.GET.get("sort", ""), keys, "block")
    places = _ordered(question, order)
    last = (count - 1) // PAGE_SIZE
    page = min(max(whole_number(request, "page", 0) or 0, 0), last)
    shown = places[page * PAGE_SIZE : (page + 1) * PAGE_SIZE]
    return {
        **_about(question, [question.run]),
        "rows": [_answered_block(question, place) for place in shown],
        "heads": [(f"by{line.pk}", line.name) for line in question.lines()],
        "sort": str(order),
        "previous_page": page - 1 if page else None,
        "next_page": page + 1 if page < last else None,
    }


def _ordered(question: BlockQuestion, order: Order) -> list[int]:
    """The places of the blocks; those without such a number come last, whichever way."""
    names = question.names
    places = list(range(len(names)))
    if order.column == "block":
        return places[::-1] if order.descending else places
    numbers = {}
    for place, name in enumerate(names):
        lines = question.lines(name)
        if order.column == "apart":
            numbers[place] = apart([line.cycles for line in lines])
        else:
            numbers[place] = next(line.cycles for line in lines if f"by{line.pk}" == order.column)
    known = [place for place in places if numbers[place] is not None]
    known.sort(key=lambda place: numbers[place] or 0.0, reverse=order.descending)
    return known + [place for place in places if numbers[place] is None]


@dataclass(frozen=True)
class AnsweredBlock:
    """A row of the table: the block’s number from 1, its instructions, each answer with whether it is odd.

    `apart`: how far the answers are apart, in per cent of the mean of the largest and the smallest.
    """

    number: int
    instructions: Sequence[str]
    lines: Sequence[tuple[PredictorAnswer, bool]]
    apart: float | None


def _answered_block(question: BlockQuestion, place: int) -> AnsweredBlock:
    name = question.names[place]
    lines = question.lines(name)
    cycles = [line.cycles for line in lines]
    odd = odd_answers(cycles)
    share = apart(cycles)
    return AnsweredBlock(
        place + 1,
        intel_or_digits(name.code, name.isa),
        [(line, at in odd) for at, line in enumerate(lines)],
        None if share is None else 100 * share,
    )


def _detail(
    request: HttpRequest, question: BlockQuestion, subject: ShownBlock, wrong: Context | None
) -> dict[str, Any]:
    """Everything about one block; `wrong`: the context of a panel whose form is wrong."""
    name = subject.name
    block = block_of_bytes(name.code, name.isa)
    isa = ISA.objects.filter(name=name.isa).first()
    schemes = {} if isa is None else scheme_rows([block], isa)
    why = why_of(request, block, mode_asked(question.run, question.predictors.values()))
    lines = with_closest(subject.lines, why)
    memory = memory_run(name)
    shown = shown_panels(request, PanelPlace.SHOWN_BLOCK, subject, wrong)
    of_panels = [run for one in shown for run in one.context.get("followed", ())]
    return {
        **_about(question, [question.run, *filter(None, [memory]), *of_panels]),
        "number": subject.number,
        "shown_block": block,
        "instructions": rows_of(block, schemes),
        "why": why,
        "lines": [line for line in lines if not line.failed],
        "silent": [line for line in lines if line.failed],
        "measured": any(one.measures and one.cycles is not None for one in lines),
        **ports_context(request, block, isa, schemes),
        "panels": shown,
        "memory": _memory(memory),
        "no_variants": _no_variants(name),
    }


def _about(question: BlockQuestion, followed: list[Run]) -> dict[str, Any]:
    """What the page says of the question, and the runs that it follows."""
    run = question.run
    waiting = [pk for pk in question.predictors if pk not in question.said]
    return {
        "run": run,
        "origin": origins_of([run]).get(run.pk),
        "asked": len(question.predictors),
        "answered": len(question.said),
        "count": len(run.config["blocks"]),
        "predictors": [line.name for line in question.lines()],
        "processors": different_processors(row for row in question.predictors.values() if row is not None),
        "rows_asked": [row for row in question.predictors.values() if row is not None],
        "ended": run.state in Run.FINAL,
        "waiting": bool(waiting),
        "live": {"runs": [_followed(one) for one in followed if one.state not in Run.FINAL]},
    }


def _followed(run: Run) -> Json:
    return {"socket": f"/ws/runs/{run.pk}/", "since": run.next_seq - 1, "final": list(Run.FINAL)}


def _memory(run: Run | None) -> MemoryTable | None:
    if run is None:
        return None
    return memory_table(run, asked_predictors(run), said_of(run))


def _no_variants(name: BlockName) -> str:
    """Why there is nothing to compare; "" where there is."""
    try:
        variants(name.code, name.isa)
    except InvalidInputError as error:
        return str(error)
    return ""


def answers_csv(request: HttpRequest, pk: int) -> HttpResponse:
    """The answers in the published form of a set of blocks: digits, and a column per predictor; −1: none."""
    question = _question(pk)
    rows = []
    for block in question.names:
        cycles = [line.cycles for line in question.lines(block)]
        rows.append([block.hex, *(-1.0 if one is None else one for one in cycles)])
    names = [line.name for line in question.lines()]
    about = {"question": question.run.name, "instruction set": isa_beside(question.run.config)}
    return table_answer(written(["bb", *names], rows), question.run.name, **about)


def answers_of(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """Where the answers to questions are shown: where they were asked for (two queries)."""
    origins = origins_of(runs)
    return {
        run.pk: RunOutcome(origins[run.pk].text, origins[run.pk].url)
        if run.pk in origins
        else RunOutcome("Answers", reverse("asked-blocks", args=[run.pk]))
        for run in runs
    }


urlpatterns = [
    path("blocks/<int:pk>/", asked_blocks, name="asked-blocks"),
    path("blocks/<int:pk>/answers.csv", answers_csv, name="asked-blocks-csv"),
]


def ports_context(
    request: HttpRequest, block: Block, isa: ISA | None, schemes: dict[str, int]
) -> dict[str, Any]:
    """What `inference/questions/ports.html` needs; `schemes`: {text: row id} of the block (three queries)."""
    choices = [] if isa is None else describing(schemes.values(), isa)
    wanted = whole_number(request, "mapping")
    chosen = next((one for one in choices if one.mapping.pk == wanted), choices[0] if choices else None)
    load = None if chosen is None else load_of(block, chosen.mapping)
    context: dict[str, Any] = {
        "choices": choices,
        "distinct": len(block.terms),
        "load": load,
        "no_such_mapping": wanted is not None and (chosen is None or chosen.mapping.pk != wanted),
    }
    if load is not None:
        context |= load_context(block, load)
    return context
