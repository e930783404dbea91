"""What families come to: a sentence with the numbers of all sides, the operand values, what machines say."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from anica_app.core.families.league import NEITHER, correct_tool
from anica_app.features.discoveries.report_parts import (
    NumberBar,
    ToolAnswer,
    finding_sentence,
    measurement_among,
    measures,
    number_bars,
    operand_values_text,
)
from anica_app.features.discoveries.tool_commands import LLVM_MCA, tool_and_core
from anica_app.features.families.query import answers_of_witness
from anica_app.models import Campaign, Discovery, Family
from anica_app.storage.findings import (
    RepeatedFinding,
    findings_of_block,
    joined_conditions,
    lost_on,
    witness_of,
)
from inference.core.protocols import Json
from inference.core.texts import count_of
from inference.features.asking.predictors.modes import name_with_mode
from inference.features.asking.predictors.query import different_processors
from inference.isa.code.block import BlockError
from inference.models import AnswerCache, Machine, Predictor
from inference.models.block_set import block_key
from inference.predictors.processor_names import processors_named
from inference.predictors.protocol import Answer
from inference.storage.instruction_sets import code_isa, core_name

WORST = 3
"""Families that a campaign's page shows in full."""


class HardwareGrade(StrEnum):
    """What measurements say of a family's witness."""

    MEASURED = "measured"
    SOME_VALUES = "with some values"
    NOT_REPEATED = "not repeated"
    UNMEASURED = "not measured"


@dataclass(frozen=True)
class FamilyEvidence:
    """A family with all that is known about its witness.

    Attributes:
        answers: Answers of the campaign's tools.
        measured: Answers of other machines.
        judge: Name of the campaign's judge and its cycles for the witness.
        strangers: Names of measuring predictors whose processor is not the one that the tools predict for.
    """

    family: Family
    isa: str
    answers: Sequence[ToolAnswer]
    measured: Sequence[ToolAnswer] = ()
    judge: tuple[str, float] | None = None
    strangers: frozenset[str] = frozenset()

    @cached_property
    def witness(self) -> Discovery | None:
        return witness_of(self.family)

    @cached_property
    def repeated(self) -> list[RepeatedFinding]:
        """Measurements of the witness with other operand values."""
        return [] if self.witness is None else findings_of_block(self.witness, bytes(self.family.code))

    @property
    def sentence(self) -> str:
        """The numbers of all sides, with assembly in backticks; the family's name without any."""
        code = bytes(self.family.code)
        return finding_sentence(code, self.answers, self.measured, self.isa) or self.family.name

    @property
    def values(self) -> str:
        """`rax = 0x62345600`: the operand values that the block ran with; "" where no machine took part."""
        if self.repeated:
            return self.repeated[0].readings[0].operands_text
        code = bytes(self.family.code)
        texts = (operand_values_text(row, code, self.isa) for row, _ in (*self.answers, *self.measured))
        try:
            return next(filter(None, texts), "")
        except BlockError:
            return ""

    @cached_property
    def measurement(self) -> tuple[str, float] | None:
        """Who measured the witness, and the cycles; None without a measurement."""
        answer = measurement_among([*self.answers, *self.measured])
        if answer is None or not answer[1].cycles:
            return self.judge
        return name_with_mode(answer[0]), answer[1].cycles

    @property
    def grade(self) -> HardwareGrade:
        if lost_on(self.repeated):
            return HardwareGrade.NOT_REPEATED
        if self.measurement is None:
            return HardwareGrade.UNMEASURED
        return HardwareGrade.SOME_VALUES if joined_conditions(self.repeated) else HardwareGrade.MEASURED

    @property
    def hardware(self) -> str:
        """A sentence: cycles on the hardware and the tool that they confirm, or that nothing was measured."""
        if lost := lost_on(self.repeated):
            return f"{lost[0]} measured it again with the same values, and the tools agree: do not report it."
        if self.measurement is None:
            return "No machine has measured the block."
        name, cycles = self.measurement
        parts = [f"{name} measured {cycles:.2f} cycles{self._who_is_right(cycles)}", self._with_values()]
        if not any(measures(row) for row, _ in self.answers):
            return f"{'; '.join(filter(None, parts))}."
        text = parts[1] or (
            "measured with these operand values" if self.values else "the block reads no values"
        )
        return f"{text[:1].upper()}{text[1:]}."  # the cycles stand beside the predictions

    def _who_is_right(self, cycles: float) -> str:
        """`: llvm-mca 14 is right`, by the error of each prediction; "" where one tool is a machine."""
        predictions = [(row, answer) for row, answer in self.answers if not measures(row)]
        if len(predictions) < 2:
            return ""
        right = correct_tool([answer for _, answer in predictions], cycles)
        if right == NEITHER:
            return ": neither tool is within 25 %"
        return f": {name_with_mode(predictions[right - 1][0])} is right"

    @property
    def tally(self) -> str:
        """How often the judge found each tool right on the family's blocks; "" without a judge."""
        judge: Json = self.family.facts.get("judge") or {}
        if not judge.get("blocks"):
            return ""
        names = [name_with_mode(row) for row, _ in self.answers]
        right = ", ".join(f"{name} {count}" for name, count in zip(names, judge["right"], strict=False))
        blocks = count_of(judge["blocks"], "measured block")
        return f"Right on {blocks} of the family: {right}, neither {judge['neither']}."

    def _with_values(self) -> str:
        if condition := joined_conditions(self.repeated):
            return f"the difference shows {condition}"
        count = max((finding.other_values for finding in self.repeated), default=0)
        choices = count_of(count, "other choice", "other choices")
        return f"the same with {choices} of operand values" if count else ""

    @property
    def bars(self) -> list[NumberBar]:
        """The numbers of all sides, those of the campaign's tools first."""
        return number_bars([*self.answers, *self.measured])

    @property
    def stranger(self) -> str:
        """The measuring predictor whose processor the tools do not predict for; "" if they fit."""
        names = [row.name for row, _ in (*self.answers, *self.measured) if measures(row)]
        return next((name for name in names if name in self.strangers), "")

    @property
    def is_doubtful(self) -> bool:
        """Whether it is no mistake of a tool, as far as is known: not repeated, or marked as no fault."""
        return self.grade is HardwareGrade.NOT_REPEATED or self.family.mark == Discovery.Mark.NO_FAULT


@dataclass(frozen=True)
class RankedFamilies:
    """The families of a campaign: the worst in full, further ones, and those that are no mistakes."""

    worst: Sequence[FamilyEvidence]
    further: Sequence[FamilyEvidence]
    doubtful: Sequence[FamilyEvidence]

    @property
    def sentence(self) -> str:
        """`Of 9 families, a machine measured 7; 1 shows with some operand values only; 1 not measured.`"""
        families = [*self.worst, *self.further, *self.doubtful]
        counts = Counter(row.grade for row in families)
        parts = [
            f"{counts[grade]} {words}"
            for grade, words in (
                (HardwareGrade.MEASURED, "measured by a machine"),
                (HardwareGrade.SOME_VALUES, "measured, with some operand values only"),
                (HardwareGrade.NOT_REPEATED, "not shown again when measured again"),
                (HardwareGrade.UNMEASURED, "not measured"),
            )
            if counts[grade]
        ]
        marked = sum(row.family.mark == Discovery.Mark.NO_FAULT for row in families)
        parts += [f"{marked} marked as not a fault"] if marked else []
        return f"Are they real? Of {count_of(len(families), 'family', 'families')}: {'; '.join(parts)}."


def evidence_of(campaign: Campaign, families: Sequence[Family]) -> list[FamilyEvidence]:
    """The evidence for families of a campaign, whose discoveries are prefetched (a bounded number of
    queries).
    """
    isa, tools = code_isa(campaign.isa), campaign.tools
    codes = [bytes(row.code) for row in families]
    measured = _stored_measurements(isa, codes, {tool.pk for tool in tools}) if families else {}
    machines = {row.pk: row for answers in measured.values() for row, _ in answers}
    machines |= {tool.pk: tool for tool in tools if measures(tool)}
    predicting = [tool for tool in tools if not measures(tool)]
    strangers = frozenset(row.name for row in machines.values() if _is_stranger(row, predicting[:1]))
    judge = (campaign.facts.get("families") or {}).get("judge") or {}
    return [
        FamilyEvidence(
            row,
            isa,
            list(zip(tools, answers_of_witness(row), strict=False)),
            measured.get(bytes(row.code), ()),
            _judge_answer(row, str(judge.get("name", ""))),
            strangers,
        )
        for row in families
    ]


def _is_stranger(row: Predictor, predicting: Sequence[Predictor]) -> bool:
    """Whether a machine has another core than a tool predicts for, as far as both are known."""
    if different_processors([*predicting, row]):
        return True
    tools = [tool for tool in map(tool_and_core, predicting) if tool is not None and tool[2]]
    machine = Machine.objects.filter(name=row.options.get("machine", "")).select_related("isa").first()
    core = "" if machine is None else core_name(machine)
    return any(core and core not in processors_named(LLVM_MCA, tool[2]) for tool in tools)


def ranked_families(campaign: Campaign, families: Sequence[Family]) -> RankedFamilies:
    """The families in their order, those that are no mistakes apart."""
    rows = evidence_of(campaign, families)
    mistakes = [row for row in rows if not row.is_doubtful]
    doubtful = [row for row in rows if row.is_doubtful]
    return RankedFamilies(mistakes[:WORST], mistakes[WORST:], doubtful)


def next_worst(row: Family) -> Family | None:
    """The family after this one in the order of its campaign, those that are marked as no fault left out."""
    later = Family.objects.filter(campaign=row.campaign_id, number__gt=row.number)
    return later.exclude(mark=Discovery.Mark.NO_FAULT).only("name").order_by("number").first()


def _stored_measurements(isa: str, codes: Iterable[bytes], but: set[int]) -> Mapping[bytes, list[ToolAnswer]]:
    """{block: stored measurements of it} by predictors other than these (two queries)."""
    keys = {block_key(code): code for code in codes}
    rows = {row.pk: row for row in Predictor.objects.exclude(pk__in=but).order_by("name") if measures(row)}
    answers = AnswerCache.objects.filter(
        predictor__in=list(rows), isa=isa, block__in=list(keys), cycles__isnull=False
    )
    measured: dict[bytes, list[ToolAnswer]] = defaultdict(list)
    for predictor, key, cycles in answers.values_list("predictor_id", "block", "cycles"):
        measured[keys[bytes(key)]].append((rows[predictor], Answer(cycles=cycles)))
    return measured


def _judge_answer(row: Family, name: str) -> tuple[str, float] | None:
    """The judge's name and its cycles for the witness; None without them."""
    ruling = (row.facts.get("judge") or {}).get("members", {})
    witness = witness_of(row)
    cycles = None if witness is None else ruling.get(str(witness.number), {}).get("cycles")
    return (name, float(cycles)) if name and cycles else None
