"""No page about a campaign asks the database the same question twice."""

from __future__ import annotations

from collections import Counter

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from anica_app.features.campaigns.pages import TABS
from benchmarks._generated_campaign import generated_campaign


@pytest.mark.django_db
def test_no_page_asks_the_database_the_same_twice(visitor: Client) -> None:
    campaign, other = generated_campaign(6, 10), generated_campaign(2, 5, "another")
    discovery, family = campaign.discoveries.order_by("number")[0], campaign.families.order_by("number")[0]
    page = reverse("campaign", args=[campaign.pk])
    for address in (
        *(f"{page}?tab={tab}" for tab in TABS),
        reverse("campaigns"),
        reverse("campaign-round", args=[campaign.pk, 0]),
        f"{reverse('campaign-compare')}?c={campaign.pk}&c={other.pk}",
        reverse("discovery", args=[discovery.pk]),
        reverse("discovery-reproduce", args=[discovery.pk]),
        reverse("family", args=[family.pk]),
    ):
        with CaptureQueriesContext(connection) as queries:
            assert visitor.get(address).status_code == 200
        counts = Counter(query["sql"] for query in queries if query["sql"].startswith("SELECT"))
        assert not [sql for sql, count in counts.items() if count > 1], address
