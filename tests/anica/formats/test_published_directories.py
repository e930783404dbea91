"""Everything that the published campaigns and generalisations hold is in the database after an import."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from anica_app.core.domain.documents import expanded_document
from anica_app.formats.anica_campaigns import read_campaign
from anica_app.models import Campaign, GeneralisationStep
from anica_app.storage.campaigns import store_campaign
from inference.formats.file_trees import Directory
from inference.predictors.samples import unpack

pytestmark = [pytest.mark.django_db, pytest.mark.shared]

PUBLISHED = settings.SHARED / "data" / "anica"
CAMPAIGN = PUBLISHED / "campaign_mca13_vs_mca22_hsw"
DIRECTORIES = sorted([CAMPAIGN, *(PUBLISHED / "generalizations").glob("*")])


def _documents(path: Path) -> list[tuple[str, Any, Any]]:
    """(label, discovery, witness) as the files have them."""
    if (path / "witness.json").exists():
        pairs = [("generalization", path / "discovery.json", path / "witness.json")]
    else:
        found = sorted((path / "discoveries").glob("*.json"))
        pairs = [(each.stem, each, path / "witnesses" / each.name) for each in found]
    return [
        (label, json.loads(one.read_text()), json.loads(other.read_text())) for label, one, other in pairs
    ]


def _answers(path: Path) -> Counter[tuple[int, str, str, float | None]]:
    """Every answer in measurements.db: (series, block, tool, cycles or None)."""
    with sqlite3.connect(f"file:{path / 'measurements.db'}?mode=ro&immutable=1", uri=True) as connection:
        return Counter(
            connection.execute(
                "SELECT m.series_id, m.input, r.predictor, CASE WHEN r.result >= 0 THEN r.result END "
                "FROM measurements m JOIN predictor_runs r ON m.measurement_id = r.measurement_id"
            ).fetchall()
        )


def _stored_answers(campaign: Campaign) -> Counter[tuple[int, str, str, float | None]]:
    """The same from the rows: those of steps, each series once, and those of batches."""
    tools = [seat.predictor.name for seat in campaign.seats.select_related("predictor")]
    steps = GeneralisationStep.objects.filter(generalisation__campaign=campaign, batch__isnull=False)
    packed = dict(steps.values_list("batch", "samples")) | dict(
        campaign.batches.values_list("number", "samples")
    )
    return Counter(
        (series, sample.code.hex(), tool, answer.cycles)
        for series, samples in packed.items()
        for sample in unpack(bytes(samples))
        for tool, answer in zip(tools, sample.answers, strict=True)
    )


@pytest.mark.parametrize("path", DIRECTORIES, ids=lambda path: path.name)
def test_every_discovery_decision_and_answer_arrives(path: Path) -> None:
    campaign = store_campaign(read_campaign(Directory(path)), "published")
    documents = _documents(path)
    assert campaign.discoveries.count() == len(documents) > 0
    for label, discovery, witness in documents:
        row = campaign.discoveries.get(label=label)
        assert row.foreign == discovery["ab"]
        steps = list(campaign.generalisations.get(label=label).steps.exclude(number=0))
        told = [(s["taken"], s["expansion"], s["measurements"]) for s in witness["trace"]["trace"]]
        assert [(step.taken, step.foreign, step.batch) for step in steps] == told
        assert [step.reason for step in steps if step.foreign is None] == ["No more expansions remain."]
    assert _stored_answers(campaign) == _answers(path)
    kept = {each.path: zlib.decompress(each.content) for each in campaign.files.all()}
    files = {each.relative_to(path).as_posix(): each for each in path.rglob("*") if each.is_file()}
    assert kept.keys() == files.keys() - {"measurements.db"}
    assert all(content == files[name].read_bytes() for name, content in kept.items())


@pytest.mark.parametrize("path", DIRECTORIES, ids=lambda path: path.name)
def test_the_decisions_in_our_words_lead_to_the_discovery_in_our_words(path: Path) -> None:
    campaign = store_campaign(read_campaign(Directory(path)), "published")
    for one in campaign.generalisations.exclude(start__isnull=True).prefetch_related("steps"):
        now = one.start
        for step in one.steps.all():
            if step.taken and step.expansion is not None:
                now = expanded_document(now, step.expansion)
        assert now == one.result == one.discovery.abstract
    unsayable = [one.label for one in campaign.discoveries.all() if one.abstract is None]
    assert not unsayable
    assert campaign.generalisations.filter(start__isnull=True, steps_count__gt=0).count() == (
        path.name == "fig4_d"
    )


def test_the_figures_of_a_campaign_are_those_of_its_report_and_metrics() -> None:
    campaign = store_campaign(read_campaign(Directory(CAMPAIGN)), "published")
    assert (campaign.rounds, campaign.sampled, campaign.interesting) == (76, 380, 6)
    assert campaign.seconds == pytest.approx(332.849714)
    assert campaign.facts["counts"] == {"series": 373, "blocks": 14593, "answers": 29186}
    assert [seat.predictor.name for seat in campaign.seats.all()] == ["llvm-mca.13.hsw", "llvm-mca.22.hsw"]
    metrics = json.loads((CAMPAIGN / "metrics.json").read_text())
    for row in campaign.discoveries.all():
        assert row.interestingness == metrics[row.label]["mean_interestingness"]
        last = GeneralisationStep.objects.get(
            generalisation__campaign=campaign, generalisation__label=row.label, batch=row.facts["result_ref"]
        )
        assert last.mean == pytest.approx(row.interestingness, rel=0.03)  # metrics are of blocks sampled anew
    rounds = campaign.batches.filter(purpose="round")
    assert rounds.count() == 76
    assert sum(each.interesting for each in rounds) == 6


def test_what_the_campaign_took_and_rejected_is_what_its_samples_say() -> None:
    campaign = store_campaign(read_campaign(Directory(CAMPAIGN)), "published")
    judged = GeneralisationStep.objects.filter(generalisation__campaign=campaign, n__gt=0)
    assert judged.count() > 150
    assert all(step.taken == (step.interesting == step.n) for step in judged)
    became = Counter(campaign.generalisations.values_list("became", flat=True))
    assert became["discovery"] == 12
    assert became["unfinished"] == 0


def test_crashes_are_told_apart_from_other_failures() -> None:
    campaign = store_campaign(read_campaign(Directory(PUBLISHED / "generalizations" / "fig4_d")), "published")
    assert campaign.facts["failures"] == {"crash of 1": 712}
    assert campaign.discoveries.get().interestingness == float("inf")
    assert campaign.discoveries.get().code
