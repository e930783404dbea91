"""Families of a campaign over the API: list, marks, and reports for maintainers."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from anica_app.features.discoveries.bug_report import markdown
from anica_app.features.discoveries.report_parts import measures
from anica_app.features.families.evidence import FamilyEvidence, evidence_of
from anica_app.features.families.query import KIND, FamilyParts, answer_of, families_in_order
from anica_app.features.families.request import NewGrouping
from anica_app.models import Campaign, Family
from anica_app.storage.findings import condition_of_family
from anica_app.web.judgement import Judgement
from inference.core.protocols import Json
from inference.features.running.runs.runs_of_kind import start_response
from inference.isa.code.block import BlockName
from inference.isa.targets import DEFAULT
from inference.storage.instruction_sets import code_isa
from inference.web.api import access
from inference.web.api.access import AuditAction
from inference.web.api.answers import NamedAnswerOut, NamedBlock, assembly
from inference.web.api.document import FILE
from inference.web.api.errors import ProblemError
from inference.web.api.paging import PageOf, Paging, check_cursor, list_answer_in_memory
from inference.web.api.shapes import Note, Ref, RowOut, RunOut, fields_of
from inference.web.file_answers import file_answer
from inference.web.validation import Id

router = Router()


class FamilyOut(Schema):
    """Discoveries with one cause. `members` are their numbers in the campaign."""

    id: Id
    number: int = Field(
        description="Number in its campaign, from 0, in descending order of explained disagreements.",
        examples=[0],
    )
    name: str = Field(examples=["bsf, bsr: throughput"])
    bound: str = Field(
        description="Bound on which the tools disagree: ports, slots, dependencies, memory, front "
        "end, failure or unknown.",
        examples=["ports"],
    )
    slower: int = Field(
        description="Number of the tool that predicts more cycles, from 1; 0: one fails.", examples=[1]
    )
    share: float | None = Field(
        description="Share of the disagreements that the family explains, 0 to 1.", examples=[0.41]
    )
    low: float | None = Field(
        description="Lower end of the share's 95 % confidence interval.", examples=[0.36]
    )
    high: float | None = Field(
        description="Upper end of the share's 95 % confidence interval.", examples=[0.46]
    )
    isa: str = Field(description="Instruction set of the witness.", examples=[DEFAULT])
    witness: str = Field(
        description="Machine code of its smallest block in hexadecimal.", examples=["0fbcc3"]
    )
    assembly: list[str] = Field(examples=[["bsf eax, ebx"]])
    condition: str = Field(
        description="Of a machine's finding, the operand values with which its block shows it; empty: "
        "with all that were measured.",
        examples=["only where cl = 0"],
    )
    predictions: list[list[float | None]] = Field(
        description="Lowest and highest predicted cycles of each tool for the members' witnesses.",
        examples=[[[7.0, 8.0], [1.0, 1.0]]],
    )
    members: list[int] = Field(examples=[[3, 7]])
    status: str = Field(
        description="Comparison with an earlier campaign: new, unsure (not known then), there, or empty.",
        examples=["there"],
    )
    mark: str = Field(description="known, reported, fixed, no-fault, or empty.", examples=["reported"])
    note: Note
    sentence: str = Field(
        description="What differs, with assembly in backticks.",
        examples=["llvm-mca 22 predicts 8 cycles for `bsf r32, m32`; machine lab measured 1"],
    )
    hardware: str = Field(
        description="measured, with some values (of its operands), not repeated or not measured.",
        examples=["measured"],
    )
    evidence: str = Field(
        description="What machines say, as a sentence.",
        examples=["Machine lab measured 1.00 cycles: llvm-mca 14 is right."],
    )
    values: str = Field(
        description="Operand values that the block was measured with; empty without a machine.",
        examples=["rax = 0x62345600"],
    )
    judge: dict[str, Any] | None = Field(
        description="Verdicts of the judge on the explained blocks: number of `blocks`, how often "
        "each tool is `right`, or `neither`; null without a judge.",
        examples=[{"blocks": 20, "right": [2, 17], "neither": 1}],
    )


class EarlierFamilyOut(Schema):
    """A family of the earlier campaign."""

    family: Id | None = Field(description="null if the earlier campaign was imported.", examples=[3])
    name: str = Field(examples=["pop: throughput"])
    isa: str = Field(description="Instruction set of the witness.", examples=[DEFAULT])
    witness: str = Field(examples=["58"])
    mark: str = Field(examples=["fixed"])


class AgainstOut(Schema):
    """The fate of an earlier campaign's families: `gone`, or `unseen`, those not found again."""

    campaign: Id | None = Field(examples=[7])
    name: str = Field(examples=["last month"])
    gone: list[EarlierFamilyOut]
    unseen: list[EarlierFamilyOut]


class LeagueRowOut(RowOut):
    """Results of the tools on blocks with instructions of a class, by the judge; "" stands for all blocks."""

    instruction_class: str = Field(validation_alias="class", examples=["bit scan"])
    blocks: int = Field(examples=[40])
    disputed: int = Field(description="Blocks on which the tools disagree.", examples=[12])
    right: list[int] = Field(description="Number of these for which each tool is right.", examples=[[1, 10]])
    neither: int = Field(examples=[1])
    errors: list[float | None] = Field(
        description="Mean relative error of each tool over all these blocks.", examples=[[0.61, 0.04]]
    )


class JudgeOut(Schema):
    """The judge, and the results of the tools by class of instructions."""

    name: str = Field(examples=["machine lab"])
    answered: int = Field(examples=[930])
    unanswered: int = Field(examples=[2])
    league: list[LeagueRowOut]


class FamiliesOut(PageOf[FamilyOut]):
    """The families of a campaign and their summary. `sentence` is empty before they are grouped."""

    sentence: str = Field(examples=["llvm-mca 22 and OSACA differ on 13.7 % of random blocks; …"])
    judged: int = Field(
        description="Random blocks on which the shares of families are computed.", examples=[2000]
    )
    disagreements: int = Field(description="Number of these on which the tools disagree.", examples=[274])
    explained: int = Field(description="Number of these that families explain.", examples=[230])
    against: AgainstOut | None
    judge: JudgeOut | None


class MemberOut(NamedBlock):
    """A discovery of a family with its witness. `right`: the correct tool by the judge, from 1, or 0 for
    none.
    """

    id: Id = Field(validation_alias="discovery.pk")
    number: int = Field(validation_alias="discovery.number", examples=[3])
    assembly: list[str] = Field(examples=[["bsf eax, ebx"]])
    cycles: list[float | None] = Field(examples=[[7.0, 1.0]])
    right: int | None = Field(examples=[2])


class FamilyInFull(FamilyOut):
    """A family with its evidence: changes tried on the witness, and all answers for it."""

    campaign: Ref
    before: Id | None = Field(description="The family in the earlier campaign.", examples=[None])
    discoveries: list[MemberOut]
    answers: list[NamedAnswerOut]
    measured: bool = Field(description="Whether a machine has measured the witness.", examples=[False])
    causes: list[str] = Field(
        examples=[["Breaking the rax dependency: 1.00 | 1.00 cycles; the difference vanishes"]]
    )


class IssueSearchOut(Schema):
    """A search of an issue tracker."""

    title: str = Field(examples=["llvm-mca: bsf"])
    url: str = Field(examples=["https://github.com/llvm/llvm-project/issues?q=is%3Aissue+llvm-mca+bsf"])


class FamilyReportOut(Schema):
    """A family as an issue: title, body, test and snippet."""

    title: str = Field(examples=["llvm-mca 22 predicts 8 cycles for `bsf r32, m32` on haswell (14: 1)"])
    body: str = Field(description="Text of the issue in Markdown.", examples=["# llvm-mca 22 predicts …"])
    test: str = Field(description="A test file for llvm-mca; empty if llvm-mca is not among the tools.")
    snippet: str = Field(
        description="Snippet for llvm-exegesis.", examples=["# LLVM-EXEGESIS-DEFREG RBX 9\n…"]
    )
    searches: list[IssueSearchOut]


@router.get("/campaigns/{campaign_id}/families", response=FamiliesOut)
def list_families(request: HttpRequest, campaign_id: Id, paging: Query[Paging]) -> Any:
    """The families of a campaign, the largest share first, and what they explain together."""
    check_cursor(paging)
    row = get_object_or_404(Campaign, pk=campaign_id)
    answer = answer_of(row)
    summary = {} if answer is None else answer.summary
    rows = list(families_in_order(row))
    return {
        **list_answer_in_memory(rows, paging, lambda page: list(map(family_out, evidence_of(row, page)))),
        "sentence": "" if answer is None else answer.sentence,
        **{name: summary.get(name, 0) for name in ("judged", "disagreements", "explained")},
        "against": _against(summary.get("against"), code_isa(row.isa)),
        "judge": summary.get("judge"),
    }


def _against(comparison: Json | None, isa: str) -> Json | None:
    if comparison is None:
        return None
    families = {name: [{"isa": isa, **family} for family in comparison[name]] for name in ("gone", "unseen")}
    return {**comparison, **families}


@router.post("/campaigns/{campaign_id}/families", response={201: RunOut})
def group_families(request: HttpRequest, campaign_id: Id, data: NewGrouping) -> Any:
    """Group the discoveries of a finished or imported campaign; marks of families are kept."""
    row = get_object_or_404(Campaign, pk=campaign_id)
    return start_response(request, KIND, data.config_for(row))


@router.get("/families/{family_id}", response=FamilyInFull)
def get_family(request: HttpRequest, family_id: Id) -> Any:
    """One family with its discoveries and the evidence for its cause."""
    return _in_full(_family_parts(family_id))


@router.patch("/families/{family_id}", response=FamilyInFull)
def judge_family(request: HttpRequest, family_id: Id, data: Judgement) -> Any:
    """Mark a family as known, reported, fixed or no fault, and store a note."""
    parts = _family_parts(family_id)
    data.store(parts.family)
    access.log_action(request, AuditAction.CHANGED, parts.family)
    return _in_full(parts)


@router.get("/families/{family_id}/report", response=FamilyReportOut)
def get_family_report(request: HttpRequest, family_id: Id) -> Any:
    """The family as an issue for the tool's developers, with a test, a snippet, and searches of issue
    trackers.
    """
    parts = _family_parts(family_id)
    report = parts.report(request)
    return fields_of(report, FamilyReportOut, body=markdown(report), searches=parts.searches)


@router.get("/families/{family_id}/exports/md", response=str, openapi_extra={FILE: "text/markdown"})
def export_family_report(request: HttpRequest, family_id: Id) -> HttpResponse:
    """The report as a Markdown file."""
    parts = _family_parts(family_id)
    access.log_action(request, AuditAction.EXPORTED, parts.family)
    name = f"{parts.campaign.name} {parts.family.name}"[:150]
    return file_answer(markdown(parts.report(request)), "text/markdown", name, "md")


def _family_parts(family_id: int) -> FamilyParts:
    parts = FamilyParts(get_object_or_404(Family.objects.select_related("campaign__isa"), pk=family_id))
    if not parts.members:
        raise ProblemError(
            409,
            "The discoveries of this family have been deleted",
            where="path family_id",
            right="group the campaign's discoveries again",
        )
    return parts


def family_out(evidence: FamilyEvidence) -> dict[str, Any]:
    """A family as `FamilyOut`; its discoveries are prefetched."""
    row = evidence.family
    judge = row.facts.get("judge", {})
    name = BlockName(code_isa(row.campaign.isa), bytes(row.code))
    return fields_of(
        row,
        FamilyOut,
        isa=name.isa,
        witness=name.hex,
        assembly=assembly(name),
        condition=condition_of_family(row),
        sentence=evidence.sentence,
        hardware=evidence.grade,
        evidence=evidence.hardware,
        values=evidence.values,
        members=sorted(discovery.number for discovery in row.discoveries.all()),
        judge={key: judge[key] for key in ("blocks", "right", "neither")} if "blocks" in judge else None,
    )


def _in_full(parts: FamilyParts) -> dict[str, Any]:
    row = parts.family
    members = [(member, BlockName(parts.name.isa, member.code)) for member in parts.members]
    return {
        **family_out(evidence_of(parts.campaign, [row])[0]),
        "campaign": parts.campaign,
        "before": row.before_id,
        "discoveries": [
            fields_of(
                member,
                MemberOut,
                **name.as_json(),
                assembly=assembly(name),
                cycles=[answer.cycles for answer in member.answers],
            )
            for member, name in members
        ],
        "answers": [
            fields_of(answer, NamedAnswerOut, predictor=predictor.name) for predictor, answer in parts.answers
        ],
        "measured": any(measures(predictor) for predictor, _ in parts.answers),
        "causes": parts.causes,
    }
