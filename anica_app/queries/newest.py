"""What the start page shows of campaigns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Case, Value, When

from anica_app.models import Campaign, Discovery
from anica_app.queries.campaigns import listed_campaigns
from inference.models import Run

SHOWN = 5


@dataclass(frozen=True)
class Newest:
    """The newest campaigns, those that are still searching first, and the newest discoveries."""

    campaigns: Sequence[Campaign]
    discoveries: Sequence[Discovery]


def newest() -> Newest:
    """Two queries. Discoveries that others include are left out."""
    going_on = [state for state in Run.State.values if state not in Run.FINAL]
    later = Case(When(run__state__in=going_on, then=Value(0)), default=Value(1))
    found = Discovery.objects.filter(subsumed_by=None).select_related("campaign")
    found = found.defer(
        "foreign", "facts", "remarks", "note", "campaign__config", "campaign__facts", "campaign__note"
    )
    return Newest(
        list(listed_campaigns().order_by(later, "-id")[:SHOWN]),
        list(found.order_by("-created", "-id")[:SHOWN]),
    )
