"""Published pages of explained blocks: those that a run has predicted or measured, with its answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from django.db.models import QuerySet

from inference.core.loop.simulated import CannotSimulateError
from inference.core.loop.values import InstructionAnalysis, LoopAnalysis, UnknownPart
from inference.features.asking.loop.answer import LoopAnswer, explained
from inference.features.asking.loop.document import timeline_for
from inference.features.asking.loop.measured import newest_measurement
from inference.features.asking.loop.query import LoopCpu, cpus
from inference.features.asking.loop.request import LoopQuestion
from inference.features.asking.questions.query import (
    KIND,
    answers_to,
    question_blocks,
    question_predictors,
    reports_of,
)
from inference.figures.dependency_graph import dependency_drawing, usual_places
from inference.figures.timeline import timeline_drawing
from inference.isa.blocks import BlockError, BlocksOfText, Piece, block_of_bytes, isa_of_fields
from inference.isa.code.block import BlockName
from inference.measuring.blocks import LOOP, UNROLLED
from inference.models import Run
from inference.web.published_page import (
    CellKind,
    PublishedColumn,
    PublishedFact,
    PublishedKind,
    PublishedPage,
    PublishedPicture,
    PublishedTable,
    Value,
)

_KINDS = (KIND, "block", "quick-block")
_MAX_BLOCKS = 10
_ITERATIONS = 12
_MIN_LOAD = 0.005
"""Cycles below which a port's load counts as none."""


def publishable() -> QuerySet[Run]:
    """The finished runs about blocks, the newest first."""
    return Run.objects.filter(kind__in=_KINDS, state=Run.State.DONE).only("name").order_by("-pk")


def loops_page(pk: int) -> PublishedPage:
    """The page of the blocks of a run, explained by the core model of its machine, else the first CPU.

    Raises:
        Run.DoesNotExist: There is no such run.
        LookupError: None of its blocks can be shown.
    """
    run = publishable().defer(None).get(pk=pk)
    names = question_blocks(run)
    isa = isa_of_fields(run.config)
    cpu = _cpu_of(run, isa)
    answers = [_answer(run, number, name, cpu) for number, name in enumerate(names[:_MAX_BLOCKS], start=1)]
    single = len(names) == 1
    sections = [
        *chain.from_iterable(
            _sections(answer, "" if single else f"block {number}")
            for number, answer in enumerate(answers, start=1)
            if answer is not None
        ),
        *_answers_table(run, names[:_MAX_BLOCKS]),
    ]
    if not sections:
        raise LookupError(f"no core model explains the blocks of {run.name}, and nothing answered")
    cpu_name = "" if cpu is None else cpu.label.partition(",")[0]
    noun = "explained block" if single else f"{len(names):,} blocks, the first {len(answers):,} explained"
    facts = _facts(answers[0]) if single and answers[0] is not None else ()
    return PublishedPage(
        PublishedKind.LOOP,
        run.name,
        " · ".join(filter(None, (noun, cpu_name, isa, f"{run.created:%Y-%m-%d}"))),
        tuple(facts),
        tuple(sections),
    )


def _cpu_of(run: Run, isa: str) -> LoopCpu | None:
    choices = cpus(isa)
    machine = run.config.get("machine")
    of_machine = (cpu for cpu in choices if machine is not None and cpu.row.machine_id == machine)
    return next(of_machine, choices[0] if choices else None)


def _answer(run: Run, number: int, name: BlockName, cpu: LoopCpu | None) -> LoopAnswer | None:
    """None without a CPU, and for digits that are no block any more."""
    if cpu is None:
        return None
    options = run.config.get("options", run.config)
    mode = UNROLLED if options.get("mode") == UNROLLED else LOOP
    question = LoopQuestion(isa=name.isa, code=name.hex, cpu=cpu.name, mode=mode)
    try:
        piece = Piece(f"block {number}", block_of_bytes(name.code, name.isa), 1)
        return explained(question, cpu, BlocksOfText((piece,)))
    except BlockError:
        return None


def _facts(answer: LoopAnswer) -> Iterator[PublishedFact]:
    analysis, cpu = answer.analysis, answer.cpu
    if analysis.bounds:
        yield PublishedFact("cycles predicted", analysis.cycles.text, str(analysis.bounds[0].kind))
    if cpu.row.machine is not None and not cpu.is_recorded:
        name = answer.block.name
        measurement = newest_measurement(name.hex, name.isa, answer.question.mode, cpu.row.machine)
        if measurement is not None:
            yield PublishedFact("cycles measured", f"{measurement.cycles:.2f}", cpu.row.machine.cpu)
    if analysis.simulated is not None:
        yield PublishedFact("cycles simulated", f"{analysis.simulated:.2f}", analysis.simulation_note)


def _sections(answer: LoopAnswer, label: str) -> Iterator[PublishedTable | PublishedPicture]:
    """The explanation of a block; `label` is before each title, "" for the only block."""
    analysis = answer.analysis
    key = f"{label.replace(' ', '-')}-" if label else ""
    head = f"{label[:1].upper()}{label[1:]}: " if label else ""

    def title(text: str) -> str:
        return f"{head}{text[:1].lower()}{text[1:]}" if head else text

    yield PublishedTable(
        f"{key}bounds",
        title("Bounds"),
        (PublishedColumn("Resource"), PublishedColumn("Cycles", CellKind.NUMBER), PublishedColumn("Reason")),
        tuple((str(bound.kind), bound.cycles.text, bound.why) for bound in analysis.bounds),
        answer.verdict.replace("`", ""),
    )
    yield _instruction_table(analysis, f"{key}instructions", title("Instructions"))
    if analysis.remedies:
        yield PublishedTable(
            f"{key}changes",
            title("What would change it"),
            (PublishedColumn("Change"), PublishedColumn("Cycles left", CellKind.NUMBER)),
            tuple((remedy.text.replace("`", ""), remedy.cycles) for remedy in analysis.remedies),
        )
    if analysis.dependences:
        yield PublishedPicture(
            f"{key}dependencies",
            title("Dependencies"),
            dependency_drawing(analysis, places=usual_places(analysis)),
            "Which instruction waits for which, and for how many cycles; thick: the critical chain.",
        )
    try:
        loop = replace(timeline_for(answer, _ITERATIONS), title=answer.piece.name)
    except CannotSimulateError:
        return
    note = "The simulated scheduler, cycle by cycle, from an empty core on."
    yield PublishedPicture(f"{key}timeline", title("Timeline"), timeline_drawing(loop), note)


def _instruction_table(analysis: LoopAnalysis, key: str, title: str) -> PublishedTable:
    used = [place for place, load in enumerate(analysis.port_loads) if load >= _MIN_LOAD]
    columns = (
        PublishedColumn("Instruction", CellKind.CODE),
        PublishedColumn("µops", CellKind.UOPS, ports=analysis.ports),
        *(PublishedColumn(f"port {analysis.ports[place]}", CellKind.NUMBER) for place in used),
        PublishedColumn("Latency", CellKind.NUMBER),
        PublishedColumn("On the chain"),
        PublishedColumn("Bytes", CellKind.NUMBER),
        PublishedColumn("Note"),
    )
    rows = tuple(_instruction_row(instruction, used) for instruction in analysis.instructions)
    note = "Cycles per iteration that each instruction occupies each port, and adds to the critical chain."
    return PublishedTable(key, title, columns, rows, note)


def _instruction_row(instruction: InstructionAnalysis, used: Sequence[int]) -> tuple[Value, ...]:
    pressure: list[Value] = (
        [None] * len(used)
        if instruction.pressure is None
        else [instruction.pressure[place] for place in used]
    )
    notes = [
        instruction.note,
        *(f"{part} not measured" for part in instruction.unknown),
    ]
    if instruction.substitution is not None:
        notes.append(f"nearest form: {instruction.substitution.differs}")
    return (
        instruction.text,
        instruction.uops,
        *pressure,
        None if UnknownPart.LATENCY in instruction.unknown else instruction.latency,
        "" if instruction.on_chain is None else f"{instruction.on_chain:.2f}",
        instruction.size,
        ", ".join(filter(None, notes)),
    )


def _answers_table(run: Run, names: Sequence[BlockName]) -> Iterator[PublishedTable]:
    """What the run's predictors answered, or what its machine measured; nothing without an answer."""
    rows = tuple(_predictions(run, names) if run.kind == KIND else _measurements(run, names))
    if rows:
        columns = (
            PublishedColumn("Predictor"),
            PublishedColumn("Block", CellKind.NUMBER),
            PublishedColumn("Cycles", CellKind.NUMBER),
            PublishedColumn("Remark"),
        )
        note = "Cycles per iteration, as they were answered."
        yield PublishedTable("answers", "Answers", columns, rows, note)


def _predictions(run: Run, names: Sequence[BlockName]) -> Iterator[tuple[Value, ...]]:
    predictors, reports = question_predictors(run), reports_of(run)
    for number, name in enumerate(names, start=1):
        for line in answers_to(predictors, reports, name):
            remark = line.error or ("" if line.answer is None else str(line.answer.failure or ""))
            if line.cycles is not None or remark:
                yield line.name, number, line.cycles, remark


def _measurements(run: Run, names: Sequence[BlockName]) -> Iterator[tuple[Value, ...]]:
    results = (run.result or {}).get("blocks", ())
    for number, (_, result) in enumerate(zip(names, results, strict=False), start=1):
        yield (
            "measured",
            number,
            result.get("cycles"),
            "" if result.get("cycles") else str(result.get("note")),
        )
