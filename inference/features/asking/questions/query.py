"""What runs of kind `ask` were told, while they go on and afterwards, of all blocks and of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.urls import reverse

from inference.core.protocols import Json
from inference.features.asking.predictors.query import QUESTION, row_for
from inference.features.asking.questions.events import PredictorAnswered
from inference.formats.sample_document import read_samples, sample_document
from inference.isa.blocks import BlockName, isa_beside
from inference.isa.blocks.listing import intel_or_digits
from inference.isa.memory_variants import Memory
from inference.models import Predictor, Run, RunEvent
from inference.predictors import machine
from inference.predictors.kinds import asked_as
from inference.predictors.llvm import mca
from inference.predictors.memory_variants import variants
from inference.predictors.protocol import Answer, PredictorError
from inference.predictors.samples import Sample
from inference.storage.instruction_sets import of_isa
from inference.web.contributions import RunOrigin, number_about

_MOST_RUNS = 50


@dataclass(frozen=True)
class QuestionAnswers:
    """What each predictor said last, in the order they were first asked, and the runs that go on.

    `failed`: the newest run, where it has failed.
    """

    said: tuple[PredictorSaid, ...] = ()
    working: tuple[Run, ...] = ()
    failed: Run | None = None


def asked_about(about: Json) -> QuestionAnswers:
    """What was answered about something: of all runs with these entries in `about` (two queries)."""
    conditions = {f"config__about__{name}": value for name, value in about.items()}
    rows = (
        Run.objects.filter(kind=KIND, **conditions)
        .only("pk", "name", "state", "error", "config")
        .order_by("-pk")
    )
    runs = list(rows[:_MOST_RUNS])
    if not runs:
        return QuestionAnswers()
    events = RunEvent.objects.filter(run__in=[run.pk for run in runs], kind=PredictorAnswered.kind)
    newest: dict[int, PredictorSaid] = {}
    for payload in events.order_by("run_id", "seq").values_list("payload", flat=True):
        said = read_said(payload)
        newest[said.predictor] = said
    order = dict.fromkeys(pk for run in reversed(runs) for pk in run.config["predictors"])
    return QuestionAnswers(
        tuple(newest[pk] for pk in order if pk in newest),
        tuple(run for run in runs if run.state not in Run.FINAL),
        runs[0] if runs[0].state == Run.State.FAILED else None,
    )


@dataclass(frozen=True)
class PredictorAnswer:
    """What a predictor says of a block: an answer, or an `error` that kept it from any; neither: it waits.

    `share`: its cycles in per cent of the most that anybody says. `difference`: from what a machine has
    measured, in per cent of that. `row`: None where it has been deleted. `asked_as`: how a loop is asked.
    `closest`: the bound of a core model that its number comes closest to, in words.
    """

    pk: int
    name: str
    row: Predictor | None
    answer: Answer | None = None
    error: str = ""
    share: float | None = None
    difference: float | None = None
    asked_as: str = ""
    closest: str = ""

    @property
    def version(self) -> str:
        """Of the tool, as it says it."""
        return "" if self.row is None else str(self.row.identity.get("version", ""))

    @property
    def cycles(self) -> float | None:
        """The number, where there is one."""
        return None if self.answer is None else self.answer.cycles

    @property
    def failed(self) -> bool:
        """Whether it was asked, and there is no number."""
        return bool(self.error) or (self.answer is not None and self.answer.cycles is None)

    @property
    def measures(self) -> bool:
        """Whether it is a machine."""
        return self.row is not None and self.row.kind == machine.KIND


def asked_predictors(run: Run) -> dict[int, Predictor | None]:
    """The predictors of a question in their order; None for one that has been deleted (one query)."""
    wanted = run.config["predictors"]
    rows = Predictor.objects.in_bulk(wanted)
    return {pk: rows.get(pk) for pk in wanted}


def said_of(run: Run) -> dict[int, PredictorSaid]:
    """What each predictor said last, by its id (one query)."""
    events = RunEvent.objects.filter(run=run, kind=PredictorAnswered.kind).order_by("seq")
    said = (read_said(payload) for payload in events.values_list("payload", flat=True))
    return {one.predictor: one for one in said}


def lines_of(
    predictors: Mapping[int, Predictor | None], said: Mapping[int, PredictorSaid], name: BlockName
) -> list[PredictorAnswer]:
    """A line for each predictor, in their order; `name`: of a block of the question, or without code."""
    told = [_line(pk, row, said.get(pk), name) for pk, row in predictors.items()]
    numbers = [one.cycles for one in told if one.cycles is not None]
    most = max(numbers, default=0.0)
    measured = next((one.cycles for one in told if one.measures and one.cycles), None)
    return [_compared(one, most, measured) for one in told]


def _line(pk: int, row: Predictor | None, said: PredictorSaid | None, name: BlockName) -> PredictorAnswer:
    words = asked_as(row.kind, name) if row is not None and name.code else ""
    if said is None:
        return PredictorAnswer(pk, f"predictor {pk}" if row is None else row.name, row, asked_as=words)
    return PredictorAnswer(pk, said.name, row, said.answers.get(name.code), said.error, asked_as=words)


def _compared(line: PredictorAnswer, most: float, measured: float | None) -> PredictorAnswer:
    cycles = line.cycles
    if cycles is None:
        return line
    share = 100 * cycles / most if most else 0.0
    difference = None if measured is None or line.measures else 100 * (cycles - measured) / measured
    return replace(line, share=share, difference=difference)


def furthest_apart(lines: Sequence[PredictorAnswer]) -> tuple[int, int] | None:
    """The ids of the two predictors whose numbers differ most; None where fewer than two have one."""
    told = sorted((one.cycles, one.pk) for one in lines if one.cycles is not None)
    return None if len(told) < 2 else (told[0][1], told[-1][1])


def memory_run(name: BlockName) -> Run | None:
    """The newest question about the variants of a block (one query)."""
    rows = Run.objects.filter(of_isa(name.isa), kind=KIND, config__about__memory=name.hex)
    return rows.order_by("-pk").first()


@dataclass(frozen=True)
class ShownBlock:
    """A block of a question, by its number from 1, with what each predictor says of it."""

    run: Run
    number: int
    name: BlockName
    lines: Sequence[PredictorAnswer]


def memory_questions(runs: Sequence[Run]) -> dict[int, RunOrigin]:
    """The pages of the blocks whose memory accesses these runs vary (one query)."""
    before = {run.pk: number_about(run, "asked") for run in runs}
    wanted = {pk for pk in before.values() if pk is not None}
    there = (
        set(Run.objects.filter(pk__in=wanted, kind=KIND).values_list("pk", flat=True)) if wanted else set()
    )
    origins = {}
    for run in runs:
        if before[run.pk] in there:
            page, block = reverse("asked-blocks", args=[before[run.pk]]), number_about(run, "block") or 1
            text = "the block whose memory accesses were varied"
            origins[run.pk] = RunOrigin(text, f"{page}?block={block}#memory")
    return origins


KIND = QUESTION


@dataclass(frozen=True)
class PredictorSaid:
    """What one predictor, by its id, said: {machine code: answer}, or why it said nothing."""

    predictor: int
    name: str
    answers: Mapping[bytes, Answer] = field(default_factory=dict)
    error: str = ""


def event_of(said: PredictorSaid, isa: str) -> PredictorAnswered:
    """For the journal; `isa`: the instruction set of the blocks."""
    samples = [Sample(code, (answer,)) for code, answer in said.answers.items()]
    return PredictorAnswered(said.predictor, said.name, said.error, sample_document(samples, isa))


def read_said(payload: Json) -> PredictorSaid:
    """Back from the payload of `event_of`. Raises `ExchangeError`."""
    event = PredictorAnswered.read(payload)
    samples = read_samples(event.answers, 1, "answers")
    said = {sample.code: sample.answers[0] for sample in samples}
    return PredictorSaid(event.predictor, event.name, said, event.error)


def names_in(run: Run) -> list[BlockName]:
    """The blocks of a question, in the order asked."""
    isa = isa_beside(run.config)
    return [BlockName(isa, bytes.fromhex(text)) for text in run.config["blocks"]]


ABOUT = "memory"
"""In what a run is about: the machine code, in hexadecimal digits, of the block that was varied."""

MAY_ALIAS = "-noalias=false"
"""llvm-mca's switch for: any two accesses to memory may be to the same place."""


def memory_question(predictors: Sequence[Predictor], name: BlockName, **about: int) -> Json:
    """The description of a run of kind `ask` about the block's variants, in the order of `Memory`.

    `about`: where it is asked from, `asked` a run of this kind and `block` the number of the block there.

    Raises `InvalidInputError` for a block whose addresses cannot be varied.
    """
    found = variants(name.code, name.isa)
    return {
        "predictors": [row.pk for row in with_switch(predictors)],
        "isa": name.isa,
        "blocks": [one.hex() for one in found.code.values()],
        "about": {ABOUT: name.hex, **about},
    }


def with_switch(predictors: Sequence[Predictor]) -> list[Predictor]:
    """These, and behind each llvm-mca the same that assumes accesses to memory to alias."""
    found: list[Predictor] = []
    for row in predictors:
        found.append(row)
        flags = str(row.options.get("flags") or "")
        if row.askable and row.kind == mca.KIND and "noalias" not in flags:
            try:
                options = {**row.options, "flags": f"{flags} {MAY_ALIAS}".strip()}
                found.append(row_for(row.kind, options, may_choose=True))  # the rest is as it was stored
            except PredictorError:
                continue  # it is not here any more, which it will say itself when it is asked
    return list(dict.fromkeys(found))


ALIKE = 0.1
"""Numbers within this relative distance are called the same in words."""


@dataclass(frozen=True)
class MemoryRow:
    """A predictor with what it says of each variant, and what that means."""

    line: PredictorAnswer
    cells: list[tuple[Memory, PredictorAnswer]]
    reading: str


@dataclass(frozen=True)
class MemoryTable:
    """The answers to a question about variants; `variants`: of each, how it differs and its instructions."""

    run: Run
    variants: list[tuple[Memory, tuple[str, ...]]]
    rows: list[MemoryRow]
    ended: bool


def memory_table(
    run: Run, predictors: Mapping[int, Predictor | None], said: Mapping[int, PredictorSaid]
) -> MemoryTable:
    """The table of a run that `memory_question` describes: its blocks are in the order of `Memory`."""
    names = names_in(run)
    columns = [lines_of(predictors, said, name) for name in names]
    rows = [
        MemoryRow(cells[0], list(zip(Memory, cells, strict=True)), reading(cells))
        for cells in zip(*columns, strict=True)
    ]
    variants = [
        (kind, intel_or_digits(name.code, name.isa)) for kind, name in zip(Memory, names, strict=True)
    ]
    return MemoryTable(run, variants, rows, run.state in Run.FINAL)


def reading(cells: tuple[PredictorAnswer, ...]) -> str:
    """What a predictor's numbers for same address, other offset and other base say in words."""
    cycles = [cell.cycles for cell in cells]
    if any(one is None for one in cycles):
        return ""
    same, offset, base = (one or 0.0 for one in cycles)
    if _alike(same, offset) and _alike(same, base):
        return "makes no difference between them"
    if _alike(offset, base) and same > base:
        return "waits where the address is the same"
    if _alike(same, offset) and same > base:
        return "waits unless the base is another"
    if _alike(same, base) and same > offset:
        return "waits unless the offset tells that it is another place"
    return "each is another case"


def _alike(one: float, other: float) -> bool:
    return abs(one - other) <= ALIKE * max(one, other)
