"""Machines and families: which of two tools is right, and findings repeated with other operand values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from anica_app.core.block_domain import BlockDomain
from anica_app.core.families.campaign_families import CampaignFamilies
from anica_app.core.families.causes import Answers, Query, slower_of
from anica_app.core.families.culprits import instruction_class
from anica_app.core.families.grouping import FamilyMember
from anica_app.core.families.league import RefereedBlock, correct_tool, league
from anica_app.core.search.interestingness import InterestJudge, JudgedBlock
from anica_app.core.value_dependence import MeasuredFinding, MeasureFrom, value_dependences
from anica_app.features.discoveries.query import DiscoveryParts
from anica_app.features.families.query import KIND
from anica_app.models import Campaign
from inference.core.events import Progress
from inference.core.protocols import Json
from inference.features.asking.predictors.kinds import kind_of, machine_in_run
from inference.isa.blocks import mnemonics_of
from inference.isa.start_values import StartValues
from inference.models import Predictor
from inference.predictors import machine
from inference.predictors.protocol import Answer
from inference.runs.kinds import Task
from inference.storage.instruction_sets import code_isa

MAX_DISPUTED = 500
MAX_UNDISPUTED = 500
"""Blocks that the judge measures besides the witnesses: of those on which the tools disagree, and of the
others.
"""
MAX_REPEATED = 1500
"""Measurements with other operand values, per machine."""
EXAMPLES = 2
"""Further blocks of each discovery to repeat, besides its witness."""
_PIECE = 150


@dataclass(frozen=True)
class RefereedFamilies:
    """The judge's results: `witnesses` by numbers of discoveries, and the results of the tools by class.

    `blocks`: {place of a family: how often each tool is right about the blocks that it explains}.
    """

    predictor: Predictor
    witnesses: Mapping[int, Json]
    blocks: Mapping[int, Json]
    league: Sequence[Json]
    answered: int
    unanswered: int

    def as_json(self) -> Json:
        """The results as the campaign's facts store them; those of families are stored with these."""
        return {
            "predictor": self.predictor.pk,
            "name": self.predictor.name,
            "answered": self.answered,
            "unanswered": self.unanswered,
            "league": list(self.league),
        }


def refereed(
    predictor: Predictor,
    ask: Query,
    families: CampaignFamilies,
    judged: Sequence[JudgedBlock],
    domain: BlockDomain,
    tools: int,
) -> RefereedFamilies:
    """Ask the judge about all witnesses and some of the judged blocks.

    Args:
        predictor: The judge.
        ask: Its answers, one per block.
        families: The families.
        judged: The blocks by which the families are weighed, in their order.
        domain: The domain of the blocks.
        tools: Number of tools.
    """
    disputed = [block for block in judged if block.verdict.interesting][:MAX_DISPUTED]
    undisputed = [block for block in judged if not block.verdict.interesting][:MAX_UNDISPUTED]
    members = [member for family in families.families for member in family.group.members]
    codes = [*(block.code for block in members), *(block.code for block in (*disputed, *undisputed))]
    answers = [answer_[0] for answer_ in ask(codes)]
    block_answers = answers[len(members) :]
    refereed_blocks = [
        RefereedBlock(_classes(block, domain), block.answers, answer.cycles, block.verdict.interesting)
        for block, answer in zip((*disputed, *undisputed), block_answers, strict=True)
        if answer.cycles
    ]
    return RefereedFamilies(
        predictor,
        {
            member.number: _ruling_json(member.cause.answers, answer)
            for member, answer in zip(members, answers, strict=False)
            if answer.cycles
        },
        {
            place: _tally(family.blocks, disputed, block_answers, tools)
            for place, family in enumerate(families.families)
        },
        [row.as_json() for row in league(refereed_blocks, tools)],
        sum(bool(answer.cycles) for answer in answers),
        sum(not answer.cycles for answer in answers),
    )


def _classes(block: JudgedBlock, domain: BlockDomain) -> tuple[str, ...]:
    schemes = domain.space.schemes
    return tuple(instruction_class(schemes[part.scheme]) for part in block.block.instructions)


def _ruling_json(answers: Sequence[Answer], measured: Answer) -> Json:
    assert measured.cycles
    return {"cycles": measured.cycles, "right": correct_tool(answers, measured.cycles)}


def _tally(
    places: Sequence[int], disputed: Sequence[JudgedBlock], measured: Sequence[Answer], tools: int
) -> Json:
    """How often each tool is right on the disputed blocks at these places, as far as they were measured."""
    rulings = [
        correct_tool(disputed[at].answers, cycles)
        for at in places
        if at < len(disputed) and (cycles := measured[at].cycles)
    ]
    return {
        "blocks": len(rulings),
        "right": [rulings.count(tool) for tool in range(1, tools + 1)],
        "neither": rulings.count(0),
    }


def repeated_with_values(
    task: Task,
    campaign: Campaign,
    families: CampaignFamilies,
    judge: InterestJudge,
    ruled: RefereedFamilies | None,
) -> Mapping[int, list[Json]]:
    """Measure witnesses with other operand values on all machines among the tools, and on a judging one.

    Returns:
        By the numbers of discoveries, an object for each machine (`anica_app.storage.findings`).
    """
    members = list(_in_order(families))
    repeated: dict[int, list[Json]] = defaultdict(list)
    isa = code_isa(campaign.isa)
    for place, tool in enumerate(campaign.tools):
        if tool.kind == machine.KIND:
            findings = [
                *_findings_of_tool(members, place, judge),
                *_findings_of_examples(campaign, members, place, judge),
            ]
            _repeat(task, tool, findings, repeated, isa)
    if ruled is not None and ruled.predictor.kind == machine.KIND:
        _repeat(task, ruled.predictor, _findings_of_referee(members, ruled), repeated, isa)
    return repeated


def _in_order(families: CampaignFamilies) -> Iterator[FamilyMember]:
    """The witness of each family, then the other members, family by family."""
    yield from (family.witness for family in families.families)
    for family in families.families:
        yield from (member for member in family.group.members if member is not family.witness)


def _findings_of_tool(
    members: Sequence[FamilyMember], place: int, judge: InterestJudge
) -> Iterator[MeasuredFinding]:
    for member in members:
        answers = member.cause.answers
        cycles = answers[place].cycles if place < len(answers) else None
        if cycles:
            yield MeasuredFinding(member.number, member.code, cycles, _disagreement(judge, answers, place))


def _findings_of_examples(
    campaign: Campaign, members: Sequence[FamilyMember], place: int, judge: InterestJudge
) -> Iterator[MeasuredFinding]:
    """Blocks with other instructions than the witness: a discovery may cover, say, shifts and additions."""
    numbers = [member.number for member in members]
    discoveries = campaign.discoveries.select_related("campaign").filter(number__in=numbers)
    rows = {row.number: row for row in discoveries}
    isa = code_isa(campaign.isa)
    for member in members:
        spellings = {mnemonics_of(member.code, isa)}
        for example in DiscoveryParts(rows[member.number]).examples():
            code, answers = example.sample.code, example.sample.answers
            cycles = answers[place].cycles
            if len(spellings) > EXAMPLES or not (cycles and example.interesting):
                continue
            mnemonics = mnemonics_of(code, isa)
            if mnemonics not in spellings:
                spellings.add(mnemonics)
                holds = _disagreement(judge, answers, place)
                yield MeasuredFinding(member.number, code, cycles, holds, is_example=True)


def _disagreement(judge: InterestJudge, answers: Answers, place: int) -> Callable[[float], bool]:
    """Whether the tools disagree in the same direction with other cycles of the machine."""
    slower = slower_of(answers)

    def holds(cycles: float) -> bool:
        changed = (*answers[:place], Answer(cycles=cycles), *answers[place + 1 :])
        return judge.verdict(changed).interesting and slower_of(changed) == slower

    return holds


def _findings_of_referee(
    members: Sequence[FamilyMember], ruled: RefereedFamilies
) -> Iterator[MeasuredFinding]:
    for member in members:
        if ruling := ruled.witnesses.get(member.number):
            holds = _same_right(member.cause.answers, ruling["right"])
            yield MeasuredFinding(member.number, member.code, ruling["cycles"], holds)


def _same_right(answers: Answers, right: int) -> Callable[[float], bool]:
    """Whether the same tool is right with other cycles of the machine."""
    return lambda cycles: correct_tool(answers, cycles) == right


def _repeat(
    task: Task,
    row: Predictor,
    findings: Iterable[MeasuredFinding],
    repeated: dict[int, list[Json]],
    isa: str,
) -> None:
    settings = kind_of(row.kind).settings_of(row.options)
    with closing(machine_in_run(settings, task, repeat=1)) as tool:
        measure = _measuring_in_pieces(task, tool)
        dependences = value_dependences(findings, settings.options.start, measure, MAX_REPEATED, isa)
    for finding, dependence in dependences:
        facts = {"machine": row.name, "block": finding.code.hex(), "is_example": finding.is_example}
        repeated[finding.number].append({**facts, **dependence.as_json()})


def _measuring_in_pieces(task: Task, tool: machine.MeasuredBlocks) -> MeasureFrom:
    """Measurements in pieces, with progress."""

    def measure(blocks: Sequence[tuple[bytes, StartValues]]) -> list[Answer]:
        answers: list[Answer] = []
        for begin in range(0, len(blocks), _PIECE):
            answers += tool.predict_from(blocks[begin : begin + _PIECE])
            unit = "measurements with other values"
            task.reporter.emit(Progress(KIND, len(answers), len(blocks), 0.0, unit, None))
            task.reporter.pulse()
        return answers

    return measure
