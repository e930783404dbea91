"""A third predictor, a machine above all, as the judge of a campaign's two tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anica_app.core.block_domain import BlockDomain
from anica_app.core.families.classes import instruction_class
from anica_app.core.families.evidence import Ask
from anica_app.core.families.finding import CampaignFamilies
from anica_app.core.families.refereeing import RefereedBlock, league, right_about
from anica_app.core.search.judging import JudgedAnswers
from inference.core.protocols import Json
from inference.models import Predictor
from inference.predictors.protocol import Answer

MOST_DISPUTED = 500
MOST_OTHERS = 500
"""So many blocks are measured at most, beside the witnesses: about which the tools disagree, and others."""


@dataclass(frozen=True)
class RefereedFamilies:
    """What the judge says: `witnesses` by the numbers of discoveries, and the league by class.

    `blocks`: of a family, by its place, how often which tool is right about what it explains.
    """

    predictor: Predictor
    witnesses: Mapping[int, Json]
    blocks: Mapping[int, Json]
    league: Sequence[Json]
    answered: int
    unanswered: int

    def as_json(self) -> Json:
        """For the page and for scripts; families have theirs by themselves."""
        return {
            "predictor": self.predictor.pk,
            "name": self.predictor.name,
            "answered": self.answered,
            "unanswered": self.unanswered,
            "league": list(self.league),
        }


def refereed(
    predictor: Predictor,
    ask: Ask,
    families: CampaignFamilies,
    judged: Sequence[JudgedAnswers],
    domain: BlockDomain,
    tools: int,
) -> RefereedFamilies:
    """Ask the judge about all witnesses and some of the judged blocks; `ask` has an answer of its own each.

    `judged` are those by which the families are weighed, in their order.
    """
    disputed = [one for one in judged if one.verdict.interesting][:MOST_DISPUTED]
    others = [one for one in judged if not one.verdict.interesting][:MOST_OTHERS]
    members = [one for family in families.families for one in family.group.members]
    codes = [*(one.code for one in members), *(one.code for one in (*disputed, *others))]
    said = [given[0] for given in ask(codes)]
    of_blocks = said[len(members) :]
    known = [
        RefereedBlock(_classes(one, domain), one.answers, answer.cycles, one.verdict.interesting)
        for one, answer in zip((*disputed, *others), of_blocks, strict=True)
        if answer.cycles
    ]
    return RefereedFamilies(
        predictor,
        {
            one.number: _ruling(one.cause.answers, answer)
            for one, answer in zip(members, said, strict=False)
            if answer.cycles
        },
        {
            place: _tally(family.blocks, disputed, of_blocks, tools)
            for place, family in enumerate(families.families)
        },
        [row.as_json() for row in league(known, tools)],
        sum(bool(answer.cycles) for answer in said),
        sum(not answer.cycles for answer in said),
    )


def _classes(one: JudgedAnswers, domain: BlockDomain) -> tuple[str, ...]:
    return tuple(instruction_class(domain.space.schemes[each.scheme]) for each in one.block.instructions)


def _ruling(answers: Sequence[Answer], measured: Answer) -> Json:
    assert measured.cycles
    return {"cycles": measured.cycles, "right": right_about(answers, measured.cycles)}


def _tally(
    places: Sequence[int], disputed: Sequence[JudgedAnswers], measured: Sequence[Answer], tools: int
) -> Json:
    """How often who is right: `places` are among the disputed blocks, of which the first were measured."""
    rulings = [
        right_about(disputed[at].answers, cycles)
        for at in places
        if at < len(disputed) and (cycles := measured[at].cycles)
    ]
    return {
        "blocks": len(rulings),
        "right": [rulings.count(tool) for tool in range(1, tools + 1)],
        "neither": rulings.count(0),
    }
