"""Campaigns: the list, starting one, the page of one, comparing some."""

from __future__ import annotations

from anica_app.models import Campaign
from anica_app.queries.campaign_dependents import of_campaign
from anica_app.views.campaigns import actions, compare, coverage, listing, page, rounds, starting
from inference.queries import dependents

dependents.register(Campaign, of_campaign)

urlpatterns = [
    *listing.urlpatterns,
    *starting.urlpatterns,
    *compare.urlpatterns,
    *page.urlpatterns,
    *coverage.urlpatterns,
    *rounds.urlpatterns,
    *actions.urlpatterns,
]
