"""The answers of block queries (runs of kind `ask`), read from their journals while they run and
afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.urls import reverse

from inference.core.protocols import Json
from inference.features.asking.predictors.query import QUESTION, row_for
from inference.features.asking.questions.events import PredictorAnswered
from inference.formats.sample_document import read_samples, sample_document
from inference.isa.block_changes import AddressRelation
from inference.isa.blocks import intel_or_digits, isa_of_fields
from inference.isa.code.block import BlockName
from inference.models import Predictor, Run, RunEvent
from inference.predictors import machine
from inference.predictors.kinds import loop_wording
from inference.predictors.llvm import mca
from inference.predictors.memory_variants import variants
from inference.predictors.protocol import Answer, PredictorError
from inference.predictors.samples import Sample
from inference.storage.instruction_sets import of_isa
from inference.web.contributions import RunOrigin, number_about

_MAX_RUNS = 50


@dataclass(frozen=True)
class QuestionAnswers:
    """The last report of each predictor, in the order of the first questions, and the unfinished runs.

    `failed`: the newest run if it has failed, else None.
    """

    reports: tuple[PredictorReport, ...] = ()
    unfinished: tuple[Run, ...] = ()
    failed: Run | None = None


def answers_about(about: Json) -> QuestionAnswers:
    """The answers of all runs whose `about` has these entries, the newest of each predictor (two queries)."""
    conditions = {f"config__about__{name}": value for name, value in about.items()}
    rows = (
        Run.objects.filter(kind=KIND, **conditions)
        .only("pk", "name", "state", "error", "config")
        .order_by("-pk")
    )
    runs = list(rows[:_MAX_RUNS])
    if not runs:
        return QuestionAnswers()
    events = RunEvent.objects.filter(run__in=[run.pk for run in runs], kind=PredictorAnswered.kind)
    newest: dict[int, PredictorReport] = {}
    for payload in events.order_by("run_id", "seq").values_list("payload", flat=True):
        report = read_report(payload)
        newest[report.predictor] = report
    order = dict.fromkeys(pk for run in reversed(runs) for pk in run.config["predictors"])
    return QuestionAnswers(
        tuple(newest[pk] for pk in order if pk in newest),
        tuple(run for run in runs if run.state not in Run.FINAL),
        runs[0] if runs[0].state == Run.State.FAILED else None,
    )


@dataclass(frozen=True)
class PredictorAnswer:
    """A predictor's answer for a block, or the `error` that prevented it; with neither, it has not answered
    yet.

    Attributes:
        percent_of_largest: Its cycles in per cent of the largest answer.
        percent_off_measured: Its difference from a machine's measurement, in per cent of the measurement.
        row: None where it has been deleted.
        loop_treatment: Whether the branch of a loop is included, in words.
        closest_bound: The bound of a core model that is closest to its number, in words.
    """

    pk: int
    name: str
    row: Predictor | None
    answer: Answer | None = None
    error: str = ""
    percent_of_largest: float | None = None
    percent_off_measured: float | None = None
    loop_treatment: str = ""
    closest_bound: str = ""

    @property
    def version(self) -> str:
        """The version that the tool reports, "" where there is none."""
        return "" if self.row is None else str(self.row.identity.get("version", ""))

    @property
    def cycles(self) -> float | None:
        """Cycles per iteration; None without a number."""
        return None if self.answer is None else self.answer.cycles

    @property
    def failed(self) -> bool:
        """Whether it has answered without a number."""
        return bool(self.error) or (self.answer is not None and self.answer.cycles is None)

    @property
    def measures(self) -> bool:
        return self.row is not None and self.row.kind == machine.KIND


def question_predictors(run: Run) -> dict[int, Predictor | None]:
    """The predictors of a question in their order; None for one that has been deleted (one query)."""
    ids = run.config["predictors"]
    rows = Predictor.objects.in_bulk(ids)
    return {pk: rows.get(pk) for pk in ids}


def reports_of(run: Run) -> dict[int, PredictorReport]:
    """{predictor id: its last report} of a run (one query)."""
    events = RunEvent.objects.filter(run=run, kind=PredictorAnswered.kind).order_by("seq")
    reports = (read_report(payload) for payload in events.values_list("payload", flat=True))
    return {report.predictor: report for report in reports}


def answers_to(
    predictors: Mapping[int, Predictor | None], reports: Mapping[int, PredictorReport], name: BlockName
) -> list[PredictorAnswer]:
    """One answer per predictor, in their order, to a block of the question; without code, no answer."""
    lines = [_line(pk, row, reports.get(pk), name) for pk, row in predictors.items()]
    numbers = [line.cycles for line in lines if line.cycles is not None]
    largest = max(numbers, default=0.0)
    measured = next((line.cycles for line in lines if line.measures and line.cycles), None)
    return [_compare_answer(line, largest, measured) for line in lines]


def _line(pk: int, row: Predictor | None, report: PredictorReport | None, name: BlockName) -> PredictorAnswer:
    loop_treatment = loop_wording(row.kind, name) if row is not None and name.code else ""
    if report is None:
        return PredictorAnswer(
            pk, f"predictor {pk}" if row is None else row.name, row, loop_treatment=loop_treatment
        )
    return PredictorAnswer(
        pk, report.name, row, report.answers.get(name.code), report.error, loop_treatment=loop_treatment
    )


def _compare_answer(line: PredictorAnswer, largest: float, measured: float | None) -> PredictorAnswer:
    cycles = line.cycles
    if cycles is None:
        return line
    share = 100 * cycles / largest if largest else 0.0
    difference = None if measured is None or line.measures else 100 * (cycles - measured) / measured
    return replace(line, percent_of_largest=share, percent_off_measured=difference)


def furthest_pair(lines: Sequence[PredictorAnswer]) -> tuple[int, int] | None:
    """The ids of the predictors with the smallest and the largest number; None for fewer than two numbers."""
    by_cycles = sorted((line.cycles, line.pk) for line in lines if line.cycles is not None)
    return None if len(by_cycles) < 2 else (by_cycles[0][1], by_cycles[-1][1])


def memory_run(name: BlockName) -> Run | None:
    """The newest question about the variants of a block (one query)."""
    rows = Run.objects.filter(of_isa(name.isa), kind=KIND, config__about__memory=name.hex)
    return rows.order_by("-pk").first()


@dataclass(frozen=True)
class QuestionBlock:
    """A block of a question by its number from 1, with one answer per predictor."""

    run: Run
    number: int
    name: BlockName
    lines: Sequence[PredictorAnswer]


def memory_questions(runs: Sequence[Run]) -> dict[int, RunOrigin]:
    """{run id: the page of the block whose memory accesses it varies} (one query)."""
    origin_ids = {run.pk: number_about(run, "asked") for run in runs}
    ids = {pk for pk in origin_ids.values() if pk is not None}
    existing = set(Run.objects.filter(pk__in=ids, kind=KIND).values_list("pk", flat=True)) if ids else set()
    origins = {}
    for run in runs:
        if origin_ids[run.pk] in existing:
            page, block = reverse("asked-blocks", args=[origin_ids[run.pk]]), number_about(run, "block") or 1
            text = "the block whose memory accesses were varied"
            origins[run.pk] = RunOrigin(text, f"{page}?block={block}#memory")
    return origins


KIND = QUESTION


@dataclass(frozen=True)
class PredictorReport:
    """The answers of a predictor, given by its id: {machine code: answer}, or `error` says why there are
    none."""

    predictor: int
    name: str
    answers: Mapping[bytes, Answer] = field(default_factory=dict)
    error: str = ""


def event_of(report: PredictorReport, isa: str) -> PredictorAnswered:
    """The journal's event for a report on blocks of the instruction set `isa`."""
    samples = [Sample(code, (answer,)) for code, answer in report.answers.items()]
    return PredictorAnswered(report.predictor, report.name, report.error, sample_document(samples, isa))


def read_report(payload: Json) -> PredictorReport:
    """The report in a payload that `event_of` wrote. Raises `ExchangeError`."""
    event = PredictorAnswered.read(payload)
    samples = read_samples(event.answers, 1, "answers")
    answers = {sample.code: sample.answers[0] for sample in samples}
    return PredictorReport(event.predictor, event.name, answers, event.error)


def question_blocks(run: Run) -> list[BlockName]:
    """The blocks of a question, in the order asked."""
    isa = isa_of_fields(run.config)
    return [BlockName(isa, bytes.fromhex(text)) for text in run.config["blocks"]]


VARIED_BLOCK = "memory"
"""The key in a run's `about` with the varied block's machine code, in hexadecimal digits."""

ALIASING_FLAG = "-noalias=false"
"""llvm-mca's option that lets any two memory accesses alias."""


def memory_question(predictors: Sequence[Predictor], name: BlockName, **about: int) -> Json:
    """The description of a run of kind `ask` about the block's variants, in the order of `Memory`.

    `about`: the page it is asked from: `asked`, the id of a run of this kind, and `block`, the block's
    number.

    Raises `InvalidInputError` for a block whose addresses cannot be varied.
    """
    block_variants = variants(name.code, name.isa)
    return {
        "predictors": [row.pk for row in with_aliasing_variants(predictors)],
        "isa": name.isa,
        "blocks": [code.hex() for code in block_variants.code.values()],
        "about": {VARIED_BLOCK: name.hex, **about},
    }


def with_aliasing_variants(predictors: Sequence[Predictor]) -> list[Predictor]:
    """The predictors, each llvm-mca followed by its variant that assumes memory accesses to alias."""
    rows: list[Predictor] = []
    for row in predictors:
        rows.append(row)
        flags = str(row.options.get("flags") or "")
        if row.is_runnable and row.kind == mca.KIND and "noalias" not in flags:
            try:
                options = {**row.options, "flags": f"{flags} {ALIASING_FLAG}".strip()}
                rows.append(row_for(row.kind, options, may_choose=True))  # others are stored already
            except PredictorError:
                continue  # not available here any more: the predictor's own answer reports that
    return list(dict.fromkeys(rows))


SAME_WITHIN = 0.1
"""Relative difference up to which numbers count as equal in a verdict."""


@dataclass(frozen=True)
class MemoryRow:
    """A predictor's answers to the variants, and what they mean in words."""

    line: PredictorAnswer
    cells: list[tuple[AddressRelation, PredictorAnswer]]
    verdict: str


@dataclass(frozen=True)
class MemoryTable:
    """The answers to a question about variants; `variants`: (how it differs, its instructions) of each."""

    run: Run
    variants: list[tuple[AddressRelation, tuple[str, ...]]]
    rows: list[MemoryRow]
    ended: bool


def memory_table(
    run: Run, predictors: Mapping[int, Predictor | None], reports: Mapping[int, PredictorReport]
) -> MemoryTable:
    """The table of a run that `memory_question` describes: its blocks are in the order of `Memory`."""
    names = question_blocks(run)
    columns = [answers_to(predictors, reports, name) for name in names]
    rows = [
        MemoryRow(cells[0], list(zip(AddressRelation, cells, strict=True)), memory_verdict(cells))
        for cells in zip(*columns, strict=True)
    ]
    variants = [
        (kind, intel_or_digits(name.code, name.isa))
        for kind, name in zip(AddressRelation, names, strict=True)
    ]
    return MemoryTable(run, variants, rows, run.state in Run.FINAL)


def memory_verdict(cells: tuple[PredictorAnswer, ...]) -> str:
    """What the numbers for same address, other offset and other base mean; "" unless there are all three."""
    cycles = [cell.cycles for cell in cells]
    if any(number is None for number in cycles):
        return ""
    at_address, offset, base = (number or 0.0 for number in cycles)
    if _are_close(at_address, offset) and _are_close(at_address, base):
        return "does not distinguish the addresses"
    if _are_close(offset, base) and at_address > base:
        return "waits only for the same address"
    if _are_close(at_address, offset) and at_address > base:
        return "waits unless the bases differ"
    if _are_close(at_address, base) and at_address > offset:
        return "waits unless the offsets differ"
    return "differs between all three"


def _are_close(first: float, second: float) -> bool:
    return abs(first - second) <= SAME_WITHIN * max(first, second)


ORIGINS = (memory_questions,)
