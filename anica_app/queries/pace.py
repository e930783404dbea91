"""How quick a campaign will be: from earlier ones with the same predictors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anica_app.models import Campaign, CampaignPredictor

_LOOKED_AT = 20


@dataclass(frozen=True)
class Pace:
    """What an earlier campaign did: `rate` in blocks per second, `schemes` that all its tools support."""

    campaign: Campaign
    rate: float
    schemes: int | None


def pace_of(predictors: Sequence[int]) -> Pace | None:
    """The newest campaign made here with just these predictors (two queries); None where there is none."""
    wanted = sorted(predictors)
    rows = Campaign.objects.filter(origin=Campaign.Origin.RUN, seconds__gt=0, facts__judged__gt=0)
    for pk in wanted:
        rows = rows.filter(seats__predictor=pk)
    found = list(rows.order_by("-id").only("name", "config", "facts", "seconds")[:_LOOKED_AT])
    seats: dict[int, list[int]] = {}
    for campaign, predictor in CampaignPredictor.objects.filter(campaign__in=found).values_list(
        "campaign_id", "predictor_id"
    ):
        seats.setdefault(campaign, []).append(predictor)
    for row in found:
        if sorted(seats.get(row.pk, ())) == wanted:
            return Pace(row, row.facts["judged"] / row.seconds, row.facts.get("schemes"))
    return None
