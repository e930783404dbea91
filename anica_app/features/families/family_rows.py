"""Families as rows of the database, and as JSON in results of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from anica_app.core.families.campaign_families import DiscoveryFamily
from anica_app.core.families.grouping import FamilyMember, current_name
from anica_app.features.families.earlier_campaign import NOT_STORED, identity_of
from anica_app.features.families.grouping import GroupedDiscoveries
from anica_app.models import Campaign, Discovery, Family
from anica_app.storage.findings import OPERAND_VALUES, condition_of_family
from inference.core.protocols import Json
from inference.storage.instruction_sets import code_isa

MAX_NAME = 300


def store_families(campaign: Campaign, grouped: GroupedDiscoveries) -> Json:
    """Replace the families of a campaign, within the caller's transaction; returns their part of the run's
    result.

    Marks and notes are those of the family of the same name before, else those of the matching earlier
    family.
    """
    marks = {current_name(row.name): (row.mark, row.note) for row in campaign.families.all()}
    campaign.families.all().delete()
    rows = [_row(campaign, place, family, grouped) for place, family in enumerate(grouped.families.families)]
    compared = {} if grouped.compared is None else grouped.compared.before
    before = Family.objects.in_bulk(list(compared.values()))
    for place, row in enumerate(rows):
        earlier = before.get(compared.get(place, 0))
        if row.name in marks:
            row.mark, row.note = marks[row.name]
        elif earlier is not None:
            row.mark, row.note = earlier.mark, earlier.note
        row.before = earlier
    stored = Family.objects.bulk_create(rows)
    ids = dict(campaign.discoveries.values_list("number", "pk"))
    through = Family.discoveries.through
    through.objects.bulk_create(
        through(family_id=row.pk, discovery_id=ids[number])
        for row, family in zip(stored, grouped.families.families, strict=True)
        for number in family.members
    )
    _store_repeated(campaign, grouped.repeated)
    campaign.facts["families"] = summary_of(grouped)
    Campaign.objects.filter(pk=campaign.pk).update(facts=campaign.facts)
    return families_result(campaign)


def _store_repeated(campaign: Campaign, repeated: Mapping[int, Sequence[Json]]) -> None:
    """Store the measurements with other operand values in the facts of their discoveries."""
    rows = list(campaign.discoveries.filter(number__in=list(repeated)).only("number", "facts"))
    for row in rows:
        row.facts = {**row.facts, OPERAND_VALUES: list(repeated[row.number])}
    Discovery.objects.bulk_update(rows, ["facts"], batch_size=200)


def _row(campaign: Campaign, place: int, family: DiscoveryFamily, grouped: GroupedDiscoveries) -> Family:
    low, high = family.interval or (None, None)
    facts: Json = {
        "tried": [tried.as_json() for tried in family.witness.cause.tried],
        "members": {str(member.number): _member(member) for member in family.group.members},
    }
    if grouped.refereed is not None:
        members = {number: grouped.refereed.witnesses.get(number) for number in family.members}
        facts["judge"] = {
            "members": {str(number): ruling for number, ruling in members.items() if ruling},
            **grouped.refereed.blocks.get(place, {}),
        }
    return Family(
        campaign=campaign,
        number=place,
        name=family.name[:MAX_NAME],
        bound=family.bound.value,
        kind=family.group.way.kind,
        slower=family.group.way.slower,
        identity=identity_of(family).as_json(),
        code=family.witness.code,
        predictions=[list(member) for member in family.predictions],
        covered=len(family.blocks),
        own=family.own,
        share=family.share,
        low=low,
        high=high,
        status=Family.Status.UNKNOWN if grouped.compared is None else grouped.compared.status[place],
        facts=facts,
    )


def _member(member: FamilyMember) -> Json:
    """The witness of a member, and the answers for it."""
    answers = member.cause.answers
    return {
        "block": member.code.hex(),
        "cycles": [answer.cycles for answer in answers],
        "failures": ["" if answer == NOT_STORED else str(answer.failure or "") for answer in answers],
    }


def summary_of(grouped: GroupedDiscoveries) -> Json:
    """How often the tools disagree, and how much of that is explained."""
    families, by = grouped.families, grouped.disagreements
    return {
        "judged": by.judged,
        "disagreements": families.disagreements,
        "explained": families.explained,
        "by_ten": families.by_ten,
        "fresh": by.fresh,
        "questions": families.questions,
        "against": None if grouped.compared is None else grouped.compared.as_json(),
        "judge": None if grouped.refereed is None else grouped.refereed.as_json(),
    }


def families_result(campaign: Campaign) -> Json:
    """The families in the result of a run: a summary, changes since the earlier campaign, and the
    families.
    """
    rows = list(campaign.families.prefetch_related("discoveries"))
    summary: Json = campaign.facts["families"]
    against = summary["against"] or {}
    return {
        "summary": {name: value for name, value in summary.items() if name not in ("against", "judge")},
        "against": against.get("name"),
        "new": [row.name for row in rows if row.status == Family.Status.NEW],
        "unsure": [row.name for row in rows if row.status == Family.Status.UNSURE],
        "there": [row.name for row in rows if row.status == Family.Status.THERE],
        "gone": [family["name"] for family in against.get("gone", ())],
        "judge": summary["judge"],
        "families": [family_json(row) for row in rows],
    }


def family_json(row: Family) -> Json:
    """A family in the result of a run; a documented format."""
    return {
        "name": row.name,
        "share": row.share,
        "members": sorted(discovery.number for discovery in row.discoveries.all()),
        "isa": code_isa(row.campaign.isa),
        "witness": bytes(row.code).hex(),
        "predictions": row.predictions,
        "bound": row.bound,
        "condition": condition_of_family(row),
    }
