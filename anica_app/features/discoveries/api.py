"""Discoveries over the API: text, constraints, examples, marks, and reproduction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from anica_app.core.block_domain import RepresentedSchemes, represented_schemes
from anica_app.core.errors import AnicaError
from anica_app.features.discoveries.bug_report import BugReport, markdown, report_of
from anica_app.features.discoveries.query import DiscoveryParts, discovery_or_404
from anica_app.features.discoveries.shapes import (
    CampaignDiscoveryOut,
    DiscoveryOut,
    JudgedBlockOut,
    discovery_json,
    judged_json,
)
from anica_app.features.discoveries.tool_commands import link
from anica_app.features.discoveries.trees_api import router as trees_router
from anica_app.features.discoveries.wording import Mentions, mentions_of, table_of
from anica_app.models import Discovery
from anica_app.storage.findings import RepeatedFinding, repeated_findings
from anica_app.web.judgement import Judgement, Mark
from inference.isa.code.block import BlockError, BlockName
from inference.models import InstructionScheme
from inference.web.api import access
from inference.web.api.access import AuditAction
from inference.web.api.answers import NamedBlock, assembly
from inference.web.api.document import FILE
from inference.web.api.errors import ProblemError
from inference.web.api.paging import PageOf, Paging, list_answer, list_answer_in_memory
from inference.web.api.shapes import Note, Ref, Time, fields_of, parameter
from inference.web.file_answers import file_answer
from inference.web.validation import Id

router = Router()
router.add_router("", trees_router)
MAX_SCHEMES = 50
Block = parameter(
    "",
    max_length=2000,
    description="Machine code of a block in hexadecimal digits; by default that of the smallest example.",
    examples=[""],
)


class FeatureOut(Schema):
    """The constraint on a feature for each instruction; empty where there is none."""

    feature: str = Field(examples=["mnemonic"])
    values: list[str] = Field(examples=[["bsf ± 2"]])


class ConstraintsOut(Schema):
    """An abstract block as constraints."""

    features: list[FeatureOut]
    aliasing: list[str] = Field(examples=[["1.register.1 = 2.register.1"]])
    dependencies: list[str] = Field(
        description="Each from the instruction that writes to the one that reads.",
        examples=[["1 → 2 (flag)"]],
    )


class GeneralisationOut(Schema):
    """A generalisation that led to the discovery. `became`: its outcome."""

    number: int = Field(examples=[4])
    order: int = Field(
        description="Number of the order in which expansions were tried.",
        examples=[0],
    )
    became: str = Field(
        description="discovery, subsumed, duplicate, concrete or unfinished.", examples=["discovery"]
    )
    steps_count: int = Field(description="Expansions tried.", examples=[23])
    taken_count: int = Field(examples=[11])
    samples_count: int = Field(description="Sampled blocks of all checks.", examples=[1400])
    seconds: float = Field(examples=[12.5])


class RepresentedOut(Schema):
    """The schemes that an instruction of an abstract block represents: their number, and the first ones."""

    count: int = Field(examples=[12])
    schemes: list[str] = Field(examples=[["bsf GPR[64]:W, GPR[64]:R"]])


class DiscoveryInFull(DiscoveryOut):
    """A discovery with its constraints and origin. `abstract` is the document that imports and runs read."""

    campaign: Ref
    predictors: list[Ref]
    note: Note
    created: Time
    assembly: list[str] = Field(examples=[["bsf rax, rbx"]])
    start_hex: str = Field(description="The sampled block before minimisation.", examples=[""])
    constraints: ConstraintsOut | None
    abstract: dict[str, Any] | None = Field(
        description="The abstract block as a document (docs/abstract-blocks.md).",
        examples=[{"instructions": [{"mnemonic": {"base": "bsf", "edits": 2}}]}],
    )
    foreign: Any = Field(
        description="Text of the imported file where the abstract block cannot be expressed.", examples=[None]
    )
    remarks: list[str] = Field(examples=[[]])
    includes: list[Id] = Field(description="Discoveries that this one includes.", examples=[[33, 40]])
    generalisations: list[GeneralisationOut]
    operand_values: list[RepeatedFinding] = Field(
        description="Measurements of its block with other operand values; empty without any."
    )
    represented: list[RepresentedOut] = Field(
        description="Represented schemes of each instruction; empty where the abstract block cannot "
        "be expressed."
    )


class CommandOut(Schema):
    """A shell command. `own`: whether it runs one of the campaign's tools."""

    title: str = Field(examples=["llvm-mca 22"])
    text: str = Field(examples=["llvm-mca-22 -mcpu=haswell <<'END' …"])
    own: bool = Field(examples=[True])


class ReproductionOut(NamedBlock):
    """Everything needed to reproduce the disagreement."""

    assembly: list[str] = Field(examples=[["bsf rax, rbx"]])
    commands: list[CommandOut]
    compiler_explorer: dict[str, Any] = Field(
        description="State of a session of Compiler Explorer.", examples=[{"sessions": []}]
    )
    compiler_explorer_link: str = Field(examples=["https://godbolt.org/clientstate/eyJ…"])
    report: str = Field(description="A bug report in Markdown.", examples=["# llvm-mca 22: …"])


class MentionOut(CampaignDiscoveryOut):
    """A discovery that mentions a scheme: by name, or as one of a class that its constraints describe."""

    how: str = Field(examples=["named"])


class MentionsOut(Schema):
    """Discoveries that mention a scheme, at most 20: by name first, then newest first."""

    named: int = Field(
        description="Discoveries that name the scheme or come from a block with it.", examples=[3]
    )
    among: int = Field(
        description="Further discoveries that include the scheme without naming it.", examples=[12]
    )
    looked: int = Field(description="Number of newest discoveries that were searched.", examples=[150])
    discoveries: list[MentionOut]


@router.get("/discoveries", response=PageOf[CampaignDiscoveryOut])
def list_all_discoveries(
    request: HttpRequest,
    paging: Query[Paging],
    mark: Annotated[
        Mark | None, parameter(description="Only discoveries with this mark; empty for unmarked ones.")
    ] = None,
) -> Any:
    """The discoveries of all campaigns that no other one covers, newest first."""
    rows = Discovery.listed().filter(subsumed_by=None)
    if mark is not None:
        rows = rows.filter(mark=mark)
    return list_answer(rows, {"newest": "id"}, "-newest", paging, lambda page: [*map(_discovery_json, page)])


@router.get("/discoveries/mentioning/{scheme_id}", response=MentionsOut)
def list_mentions(request: HttpRequest, scheme_id: Id) -> Any:
    """The discoveries that mention an instruction scheme; none where blocks of its instruction set cannot be
    abstracted.
    """
    scheme = get_object_or_404(InstructionScheme.objects.select_related("isa"), pk=scheme_id)
    mentions = mentions_of(scheme) or Mentions((), 0, 0, 0)
    discoveries = [{**_discovery_json(row), "how": mention.value} for row, mention in mentions.listed]
    return fields_of(mentions, MentionsOut, discoveries=discoveries)


@router.get("/discoveries/{discovery_id}", response=DiscoveryInFull)
def get_discovery(request: HttpRequest, discovery_id: Id) -> Any:
    """One discovery: its abstract block as text, as constraints, as a document; its origin."""
    return _in_full(discovery_or_404(discovery_id))


@router.patch("/discoveries/{discovery_id}", response=DiscoveryInFull)
def judge_discovery(request: HttpRequest, discovery_id: Id, data: Judgement) -> Any:
    """Mark a discovery as known, reported, fixed or no fault, and store a note."""
    parts = discovery_or_404(discovery_id)
    data.store(parts.discovery)
    access.log_action(request, AuditAction.CHANGED, parts.discovery)
    return _in_full(parts)


@router.get("/discoveries/{discovery_id}/examples", response=PageOf[JudgedBlockOut])
def list_examples(request: HttpRequest, discovery_id: Id, paging: Query[Paging]) -> Any:
    """The blocks that a discovery rests on, each with the answers of the campaign's tools."""
    parts = discovery_or_404(discovery_id)
    names = [predictor.name for predictor in parts.predictors]
    return list_answer_in_memory(
        parts.examples(), paging, lambda page: [judged_json(example, parts.isa, names) for example in page]
    )


@router.get("/discoveries/{discovery_id}/reproduction", response=ReproductionOut)
def get_reproduction(request: HttpRequest, discovery_id: Id, block: str = Block) -> Any:
    """Commands, a Compiler Explorer session and a bug report for the smallest example, or for `block`."""
    parts, report = _report(request, discovery_id, block)
    name, session = BlockName(parts.isa, report.code), report.session
    return {
        **name.as_json(),
        "assembly": assembly(name),
        "commands": report.commands,
        "compiler_explorer": session,
        "compiler_explorer_link": link(session),
        "report": markdown(report),
    }


@router.get("/discoveries/{discovery_id}/exports/md", response=str, openapi_extra={FILE: "text/markdown"})
def export_bug_report(request: HttpRequest, discovery_id: Id, block: str = Block) -> HttpResponse:
    """The bug report as a Markdown file."""
    parts, report = _report(request, discovery_id, block)
    access.log_action(request, AuditAction.EXPORTED, parts.discovery)
    return file_answer(markdown(report), "text/markdown", f"{parts.campaign.name} {parts.discovery}", "md")


def _discovery_json(row: Discovery) -> dict[str, Any]:
    return {**discovery_json(row), "campaign": row.campaign}


def _report(request: HttpRequest, discovery_id: int, block: str) -> tuple[DiscoveryParts, BugReport]:
    parts = discovery_or_404(discovery_id)
    try:
        report = report_of(parts, block, request)
    except BlockError as error:
        raise ProblemError(422, str(error), where="query block", right="machine code of a block") from error
    if report is None:
        raise ProblemError(
            409,
            "This discovery came without a block",
            where="query block",
            right="machine code of a block that it includes",
        )
    return parts, report


def _in_full(parts: DiscoveryParts) -> dict[str, Any]:
    row = parts.discovery
    includes = parts.campaign.discoveries.filter(subsumed_by=row).order_by("number")
    return fields_of(
        row,
        DiscoveryInFull,
        **discovery_json(row),
        campaign=parts.campaign,
        predictors=parts.predictors,
        assembly=assembly(BlockName(parts.isa, bytes(row.code))),
        start_hex=bytes(row.start_code).hex(),
        constraints=_constraints(row),
        includes=includes.values_list("pk", flat=True),
        operand_values=repeated_findings(row),
        represented=_represented_schemes(row, parts.isa),
        generalisations=parts.generalisations,
    )


def _represented_schemes(row: Discovery, isa: str) -> Sequence[RepresentedSchemes]:
    try:
        return represented_schemes(row.abstract, MAX_SCHEMES, isa)
    except AnicaError:
        return ()


def _constraints(row: Discovery) -> dict[str, Any] | None:
    if row.abstract is None:
        return None
    table = table_of(row.abstract)
    features = [{"feature": name, "values": values} for name, values in table.rows]
    return fields_of(table, ConstraintsOut, features=features)
