"""Campaigns: the list, starting one, the page of one, comparing some."""

from __future__ import annotations

from anica_app.models import Campaign
from anica_app.queries.campaign_dependents import of_campaign
from anica_app.views.campaigns import actions, compare, coverage, listing, page, rounds, starting
from anica_app.views.campaigns.outcomes import campaigns_of, coverages_of, matrices_of
from inference.features.runs import outcome
from inference.web import naming

naming.register(Campaign, of_campaign)
for _kind in ("campaign", "generalise"):
    outcome.register(_kind, campaigns_of)
outcome.register("coverage", coverages_of)
outcome.register("matrix", matrices_of)

urlpatterns = [
    *listing.urlpatterns,
    *starting.urlpatterns,
    *compare.urlpatterns,
    *page.urlpatterns,
    *coverage.urlpatterns,
    *rounds.urlpatterns,
    *actions.urlpatterns,
]
