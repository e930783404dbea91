"""Comparisons and campaigns as static sites."""

from __future__ import annotations

import csv
import io

from anica_app.models import Discovery
from inference.features.publishing.site.request import PublishedItem, item_named
from inference.features.publishing.site.static_site import pages_of, site_of
from inference.models import ExperimentSet, PortMapping, Run
from inference.web.published_page import PublishedKind
from tests.rows.programs import discovery, experiment_set, family_of, isa, mapping
from tests.rows.runs import comparison

__all__ = ["comparison", "discovery", "experiment_set", "isa", "mapping"]


def test_a_comparison_has_scores_maps_and_biases(
    comparison: Run, mapping: PortMapping, experiment_set: ExperimentSet
) -> None:
    files = site_of(pages_of([item_named(PublishedKind.COMPARISON, comparison.name)]))
    assert {"data/scores.csv", "pictures/map-1.svg", "data/schemes.csv"} <= set(files)
    _, *lines = files["data/scores.csv"].decode().splitlines()
    assert [line.split(",")[0] for line in lines] == [mapping.name]
    assert f"({mapping.name}" not in files["pictures/map-1.svg"].decode()
    assert b"<h1>" + comparison.name.encode() in files["index.html"]


def test_a_campaign_has_its_discoveries(discovery: Discovery) -> None:
    files = site_of(pages_of([PublishedItem(PublishedKind.CAMPAIGN, discovery.campaign_id)]))
    _, *lines = files["data/discoveries.csv"].decode().splitlines()
    assert lines
    assert files["index.html"].count(b"<tr>") >= 2


def test_a_campaign_has_its_families_and_says_to_which_one_a_discovery_belongs(discovery: Discovery) -> None:
    family, campaign = family_of(discovery), discovery.campaign
    counts = dict.fromkeys(("judged", "disagreements", "explained", "by_ten", "questions"), 1)
    campaign.facts["families"] = {**counts, "fresh": True, "against": None, "judge": None}
    campaign.save()
    files = site_of(pages_of([PublishedItem(PublishedKind.CAMPAIGN, discovery.campaign_id)]))
    rows = list(csv.DictReader(io.StringIO(files["data/families.csv"].decode("utf-8-sig"))))
    assert [(one["Family"], one["Discoveries"]) for one in rows] == [(family.name, str(discovery.number))]
    (row,) = csv.DictReader(io.StringIO(files["data/discoveries.csv"].decode("utf-8-sig")))
    assert row["Family"] == family.name
    assert b'id="families"' in files["index.html"]
