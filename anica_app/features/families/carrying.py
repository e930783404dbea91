"""Families of a campaign held against those of an earlier one: what is new, gone, still there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any

from anica_app.core.families.evidence import Ask, slower_of
from anica_app.core.families.finding import FoundFamily
from anica_app.core.families.matching import FamilyIdentity, matched
from anica_app.core.protocols import AnicaError
from anica_app.core.search.judging import InterestJudge
from anica_app.core.search.panel import Panel
from anica_app.core.x86_domain import X86Domain
from anica_app.features.predictors.query import opened
from anica_app.models import Campaign, CampaignPredictor, Family
from inference.core.protocols import Json
from inference.runs.kinds import Task

_OF_RELEASE = ("release", "version", "program")
"""Options in which releases of one tool differ."""
_LOOKED_AT = 50


@dataclass(frozen=True)
class ComparedFamilies:
    """`against` is the earlier campaign. `before`: {place of a family: id of what it was there}.

    `there`: places of families that the earlier campaign did not find, although it could have: an earlier
    discovery covers their witness, or the earlier tools disagree about it in the same way. `gone`: families
    of the earlier campaign whose witness the tools agree about by now; `unseen`: those that were merely not
    found again.
    """

    against: Campaign
    before: Mapping[int, int]
    there: frozenset[int]
    gone: tuple[Family, ...]
    unseen: tuple[Family, ...]

    def is_new(self, place: int) -> bool:
        """Whether nothing like this family was there before."""
        return place not in self.before and place not in self.there

    def as_json(self) -> Json:
        """For the page and for scripts."""
        return {
            "campaign": self.against.pk,
            "name": self.against.name,
            "gone": [_told(one) for one in self.gone],
            "unseen": [_told(one) for one in self.unseen],
        }


def _told(row: Family) -> Json:
    return {"family": row.pk, "name": row.name, "witness": bytes(row.code).hex(), "mark": row.mark}


def identity_of(family: FoundFamily) -> FamilyIdentity:
    """What it is recognised by elsewhere."""
    group = family.group
    about = frozenset(name for one in group.members for name in one.culprits.classes)
    classes = frozenset(group.classes)
    return FamilyIdentity(group.way.kind, group.way.slower, group.way.bound.value, classes, about - classes)


def campaign_before(campaign: Campaign) -> Campaign | None:
    """The newest earlier campaign with families over the same kinds of tools, but for their releases."""
    rows = Campaign.objects.filter(pk__lt=campaign.pk, families__isnull=False).distinct()
    own = _seats(campaign)
    for row in rows.order_by("-pk").only("name")[:_LOOKED_AT]:
        if _seats(row) == own:
            return row
    return None


def _seats(campaign: Campaign) -> list[tuple[str, Json]]:
    seats = (
        CampaignPredictor.objects.filter(campaign=campaign).select_related("predictor").order_by("position")
    )
    return [
        (
            seat.predictor.kind,
            {name: value for name, value in seat.predictor.options.items() if name not in _OF_RELEASE},
        )
        for seat in seats
    ]


def compared(
    campaign: Campaign,
    against: Campaign,
    families: Sequence[FoundFamily],
    domain: X86Domain,
    ask: Ask,
    judge: InterestJudge,
    task: Task | None = None,
) -> ComparedFamilies:
    """Hold the families against those of another campaign; witnesses that are left over are asked about."""
    old = list(against.families.order_by("number"))
    pairs = matched(
        [identity_of(one) for one in families], [FamilyIdentity.read(one.identity) for one in old]
    )
    left = [place for place in range(len(families)) if place not in pairs]
    there = {place for place in left if _covered(families[place], against, domain)}
    asked = [place for place in left if place not in there]
    there |= _there_before(campaign, against, [(place, families[place]) for place in asked], judge, task)
    missing = [one for at, one in enumerate(old) if at not in pairs.values()]
    answers = ask([bytes(one.code) for one in missing]) if missing else []
    gone = [
        judge.verdict(given).kind != one.kind or slower_of(given) != one.slower
        for one, given in zip(missing, answers, strict=True)
    ]
    return ComparedFamilies(
        against,
        {place: old[at].pk for place, at in pairs.items()},
        frozenset(there),
        tuple(one for one, is_gone in zip(missing, gone, strict=True) if is_gone),
        tuple(one for one, is_gone in zip(missing, gone, strict=True) if not is_gone),
    )


def _covered(family: FoundFamily, against: Campaign, domain: X86Domain) -> bool:
    """Whether a discovery of the earlier campaign subsumes the witness in the same way."""
    block = domain.block_of_code(family.witness.code)
    if block is None:
        return False
    special = domain.represent(block)
    rows = against.discoveries.filter(subsumed_by=None, kind=family.witness.kind, abstract__isnull=False)
    for row in rows.only("abstract"):
        try:
            if domain.subsumes(domain.read(row.abstract or {}), special):
                return True
        except AnicaError:
            continue
    return False


def _there_before(
    campaign: Campaign,
    against: Campaign,
    asked: Sequence[tuple[int, FoundFamily]],
    judge: InterestJudge,
    task: Task | None,
) -> set[int]:
    """The places of those about whose witness other, earlier tools disagree in the same way.

    Where the tools are the same ones, what they say now is no news; where earlier ones are not here any more,
    nobody can tell.
    """
    seats = [seat.predictor for seat in against.seats.select_related("predictor").order_by("position")]
    own: list[Any] = list(campaign.seats.order_by("position").values_list("predictor", flat=True))
    if not asked or [row.pk for row in seats] == own or len(seats) != len(own):
        return set()
    with ExitStack() as stack:
        try:
            tools = [stack.enter_context(closing(opened(row, task))) for row in seats]
            panel = Panel(tools)
            stack.callback(panel.close)
            answers = panel.ask([one.witness.code for _, one in asked])()
        except AnicaError:
            return set()
    return {
        place
        for (place, one), given in zip(asked, answers, strict=True)
        if judge.verdict(given).kind == one.witness.kind and slower_of(given) == one.group.way.slower
    }
