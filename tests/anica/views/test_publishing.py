"""Comparisons and campaigns as static sites."""

from __future__ import annotations

from anica_app.models import Discovery
from inference.features.publishing.content import PublishedKind
from inference.features.publishing.kinds import PublishedItem, item_named
from inference.features.publishing.site import pages_of, site_of
from inference.models import ExperimentSet, PortMapping, Run
from tests.api.conftest import comparison, discovery, experiment_set, isa, mapping

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
