"""Other predictions of a loop: tools that know its CPU, and other core models of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from inference.core.core_model import Assumptions
from inference.core.loop.values import LoopAnalysis
from inference.core.protocols import Json
from inference.features.asking.loop.answer import LoopAnswer, closest_bound
from inference.features.asking.loop.measured import MeasuredQuestion, newest_measurement, question_about
from inference.features.asking.loop.query import LoopCpu, analysis_of
from inference.features.asking.predictors.kinds import kind_of
from inference.features.asking.predictors.query import options_for, program_listings, row_for
from inference.features.learning.core_model.query import usable_core_models
from inference.features.library.gallery.query import recorded_core
from inference.isa.blocks import body_of
from inference.isa.code.block import Block
from inference.measuring.blocks import LOOP
from inference.models import AnswerCache, Machine, Predictor, Run, identity_key
from inference.models.block_set import block_key
from inference.predictors import nanobench
from inference.predictors.kinds import InstalledKind, PredictorKind
from inference.predictors.processor_names import processor_option
from inference.predictors.protocol import Failure, PredictorError
from inference.storage.instruction_sets import core_name
from inference.web.contributions import BlockNote, Context, notes_on_block

ASK = "ask"
"""The kind of runs that ask predictors."""

_MAX_MODELS = 4

_FAILURES = {
    Failure.CRASH: "ends with an error for this loop",
    Failure.TIMEOUT: "did not answer in time",
    Failure.UNSUPPORTED: "does not know an instruction of this loop",
    Failure.NO_NUMBER: "has no number for this loop",
}


@dataclass(frozen=True)
class ToolOffer:
    """A tool as it is installed here; without `options`, `reason` says why it is not asked."""

    name: str
    kind: str
    options: Json | None
    reason: str = ""


@dataclass(frozen=True)
class ToolRow:
    """A line of the table: `cycles` of a predictor, or the `reason` why there are none; neither while it is
    asked.

    Attributes:
        bound: The bound of the chosen core model that has about the same cycles.
        percent: Off the measurement, or off the chosen core model without one.
    """

    name: str
    cycles: float | None = None
    bound: str = ""
    percent: float | None = None
    reason: str = ""
    measured: bool = False


def processor_of(cpu: LoopCpu) -> str:
    """The name of a CPU's core as tools have it, "" where it is not known."""
    if cpu.is_recorded:
        core = recorded_core(cpu.name)
        return "" if core is None else core.core
    machine = cpu.row.machine
    return "" if machine is None else core_name(machine)


def tool_offers(processor: str, mode: str) -> list[ToolOffer]:
    """All tools of this computer, each with its options for a processor."""
    offers: list[ToolOffer] = []
    for kind, installed, reason in program_listings():
        if kind.name == nanobench.KIND:
            continue  # measures the site's computer
        if reason:
            offers.append(ToolOffer(kind.title, kind.name, None, "not installed here"))
        offers += [_offer(kind, installation, processor, mode) for installation in installed]
    return offers


def _offer(kind: PredictorKind, installation: InstalledKind, processor: str, mode: str) -> ToolOffer:
    name = f"{kind.title} {installation.version}".strip()
    if not processor_option(kind.name):
        return ToolOffer(name, kind.name, None, "no choice of a CPU")
    for choice in options_for(kind.name, installation.options, processor):
        in_mode = kind.in_mode(choice, mode)
        try:
            kind.predictor(in_mode).close()
        except PredictorError:
            continue
        return ToolOffer(name, kind.name, in_mode)
    return ToolOffer(name, kind.name, None, f"no model of {processor}")


def stored_predictor(offer: ToolOffer) -> Predictor | None:
    """The stored predictor of an offer with options, None before it is asked for the first time."""
    assert offer.options is not None, "offers without options are not asked"
    predictor = kind_of(offer.kind).predictor(offer.options)
    try:
        return Predictor.objects.filter(key=identity_key(predictor.identity)).first()
    finally:
        predictor.close()


def tools_context(request: HttpRequest, answer: LoopAnswer) -> Context | None:
    """The context of `inference/loop/tools.html`, which loads the table; None where the CPU is not known."""
    del request
    return {"tools_url": tools_address(question_about(answer))} if processor_of(answer.cpu) else None


def tools_of(answer: LoopAnswer) -> ToolTable | None:
    """The stored answers of tools and other core models; None where no tool knows the CPU."""
    if not processor_of(answer.cpu):
        return None
    return tool_table(question_about(answer), answer.cpu, answer.block)


def askable_tools(answer: LoopAnswer) -> list[Predictor]:
    """The tools that know the CPU of an answer, with their options for it; each is stored."""
    offers = tool_offers(processor_of(answer.cpu), answer.question.mode) if processor_of(answer.cpu) else []
    # What is installed here, for this CPU: nothing that the visitor has chosen.
    return [
        row_for(offer.kind, offer.options, may_choose=True) for offer in offers if offer.options is not None
    ]


def tools_address(question: MeasuredQuestion) -> str:
    return f"{reverse('loop-tools')}?{urlencode(question.fields)}"


@dataclass(frozen=True)
class ToolTable:
    """The answers of all tools, and the `unasked` ones.

    Attributes:
        run: The newest query, if it has not ended.
        left_out: {why tools are not asked: their names}.
    """

    rows: Sequence[ToolRow]
    left_out: Mapping[str, Sequence[str]]
    unasked: Sequence[ToolOffer]
    run: Run | None
    notes: Sequence[BlockNote]
    is_measured: bool


def tool_table(question: MeasuredQuestion, cpu: LoopCpu, block: Block) -> ToolTable:
    """The stored answers about a block; asks nothing."""
    mode = question.mode
    analysis = analysis_of(block, cpu.row, Assumptions(nearest=True, in_loop=mode == LOOP))
    machine = None if cpu.is_recorded else cpu.row.machine
    measured = None
    if machine is not None and machine.kind != Machine.Kind.PUBLISHED:
        measurement = newest_measurement(block.hex, block.isa, mode, machine)
        measured = None if measurement is None else measurement.cycles
    reference = analysis.usual if measured is None else measured
    rows = [] if measured is None else [ToolRow("Measured", measured, measured=True)]
    rows += [_row(f"Core model {cpu.name}", analysis.usual, analysis, measured)]
    models = _other_models(block, cpu, mode)
    rows += [_row(f"Core model {name}", cycles, analysis, reference) for name, cycles in models]
    offers = tool_offers(processor_of(cpu), mode)
    runs = Run.objects.filter(kind=ASK, config__blocks=[block.hex], config__isa=block.isa, config__mode=mode)
    newest = runs.order_by("-pk").first()
    run = None if newest is None or newest.state in Run.FINAL else newest
    queried = () if newest is None else newest.config["predictors"]
    unasked: list[ToolOffer] = []
    predictors: list[Predictor] = []
    for offer in offers:
        if offer.options is None:
            continue
        row = stored_predictor(offer)
        stored = None if row is None else _stored_answer(row, block)
        if row is None or stored is None:
            is_queried = row is not None and row.pk in queried
            rows.append(
                ToolRow(offer.name, reason="could not be asked" if is_queried and run is None else "")
            )
            unasked += [] if is_queried else [offer]
            continue
        predictors.append(row)
        cycles, failure = stored
        if cycles is None:
            rows.append(ToolRow(offer.name, reason=_FAILURES[Failure(failure)]))
        else:
            rows.append(_row(offer.name, cycles, analysis, reference))
    names_by_reason: dict[str, list[str]] = {}
    for offer in offers:
        if offer.options is None:
            names_by_reason.setdefault(offer.reason, []).append(offer.name)
    notes = notes_on_block(block.isa, block.code, predictors)
    return ToolTable(rows, names_by_reason, unasked, run, notes, measured is not None)


def _row(name: str, cycles: float, analysis: LoopAnalysis, reference: float | None) -> ToolRow:
    percent = 100 * (cycles - reference) / reference if reference else None
    return ToolRow(name, cycles, closest_bound(analysis.bounds, cycles), percent)


def _other_models(block: Block, cpu: LoopCpu, mode: str) -> Iterator[tuple[str, float]]:
    """(name, cycles) of further core models of the same processor."""
    processor = processor_of(cpu)
    rows = usable_core_models().filter(isa__name=cpu.row.isa.name).exclude(pk=cpu.row.pk)
    of_processor = [row for row in rows if row.machine is not None and core_name(row.machine) == processor]
    for row in of_processor[:_MAX_MODELS]:
        analysis = analysis_of(block, row, Assumptions(nearest=True, in_loop=mode == LOOP))
        if analysis.bounds:
            yield row.name, analysis.usual


def _stored_answer(row: Predictor, block: Block) -> tuple[float | None, str] | None:
    code = block.code if kind_of(row.kind).takes_jumps else body_of(block.code, block.isa)
    answers = AnswerCache.objects.filter(predictor=row, isa=block.isa, block=block_key(code))
    return answers.values_list("cycles", "failure").first()
