"""What is before a new campaign, and how quick it will be: by earlier ones with the same predictors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anica_app.models import Campaign, CampaignPredictor
from inference.core.protocols import Json
from inference.models import ISA
from inference.models.scheme_search import search_schemes
from inference.storage.instruction_sets import X86

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


@dataclass(frozen=True)
class Plan:
    """What a complete description asks for, and what is known of how long that takes."""

    config: Json
    schemes: int
    pace: Pace | None

    @property
    def left(self) -> int | None:
        """The schemes of the campaign that tells the pace, where it had the same choice of them."""
        if self.pace is None:
            return None
        before = self.pace.campaign.config
        same = all(before.get(name) == self.config[name] for name in ("scheme_filter", "space"))
        return self.pace.schemes if same else None

    @property
    def blocks(self) -> int | None:
        """How many blocks will be judged, where time ends the campaign and the pace is known."""
        minutes = self.config["end"]["minutes"]
        return None if minutes is None or self.pace is None else round(60 * minutes * self.pace.rate)


def plan_of(config: Json) -> Plan:
    """Of a description that has been checked (four queries)."""
    isa = ISA.objects.filter(name=X86).first()
    schemes = 0 if isa is None else search_schemes(isa.schemes.all(), config["scheme_filter"]).count()
    return Plan(config, schemes, pace_of(config["predictors"]))
