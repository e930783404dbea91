"""A campaign of two models of Arm or RISC-V cores, from its description to the report of a discovery."""

from __future__ import annotations

import io
from functools import partial

import pytest
from django.test import Client
from django.urls import reverse

from anica_app.formats.campaign_zip import read_archive
from anica_app.models import Campaign
from anica_app.storage.campaigns import store_campaign, write_campaign
from inference.features.asking.predictors import opening
from inference.features.asking.predictors.kinds import common_isa
from inference.features.asking.predictors.query import predictor_row
from inference.formats.file_trees import ZipTree
from inference.isa.targets import AARCH64, DEFAULT, RISCV
from inference.models import Run
from inference.predictors.llvm.releases import list_releases
from inference.runs import leases, lifecycle
from inference.runs.errors import ConfigError
from inference.runs.fork_server import StopRequests, execute

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(
        not any(release.mc for release in list_releases()), reason="llvm-mca is not installed"
    ),
]

QUICK = {"batch": 20, "samples": 20, "first_look": 10, "confirming": 20, "orders": 1, "longest": 2}
FILTER = "category:divide"
"""Both models are of cores whose divisions differ."""


@pytest.fixture(autouse=True)
def without_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Predictors have threads of their own, which would wait for the test's transaction."""
    monkeypatch.setattr(opening, "open_predictor", partial(opening.open_predictor, use_cache=False))


def run_of(*cores: str, **more: object) -> Run:
    rows = [predictor_row(f"llvm-mca:cpu={core}", may_choose=True) for core in cores]
    description = {
        "predictors": [row.pk for row in rows],
        "settings": QUICK,
        "end": {"blocks": 20},
        "evaluate": 0,
        **more,
    }
    run = lifecycle.submit("campaign", description, "Arm")
    lease = leases.claim("w")
    assert lease is not None
    execute(lease, StopRequests(lease))
    run.refresh_from_db()
    return run


@pytest.mark.parametrize(
    ("cores", "isa", "option"),
    [
        (("cortex-a57", "cortex-a53"), AARCH64, "-mtriple=aarch64 -mcpu=cortex-a5"),
        (("sifive-u74", "sifive-u54"), RISCV, "-mtriple=riscv64 -mcpu=sifive-u"),
    ],
)
def test_a_campaign_has_blocks_of_the_instruction_set_of_its_cores(
    visitor: Client, trusting_operator: None, cores: tuple[str, str], isa: str, option: str
) -> None:
    run = run_of(*cores, scheme_filter=FILTER)
    assert run.state == Run.State.DONE, run.error
    campaign = Campaign.objects.get(run=run)
    assert campaign.isa is not None
    assert campaign.isa.name == isa
    discovery = campaign.discoveries.filter(subsumed_by=None).order_by("number").first()
    assert discovery is not None
    assert campaign.families.exists()
    report = visitor.get(reverse("discovery-report", args=[discovery.pk])).text
    assert option in report
    assert "llvm-exegesis" not in report
    for page in ("discovery", "discovery-schemes", "discovery-reproduce"):
        assert visitor.get(reverse(page, args=[discovery.pk])).status_code == 200
    page = visitor.get(reverse("discovery-schemes", args=[discovery.pk])).text
    assert "div" in page
    family = campaign.families.first()
    assert family is not None
    for address in (reverse("campaign", args=[campaign.pk]), reverse("family", args=[family.pk])):
        assert visitor.get(address).status_code == 200
    assert visitor.get(reverse("family-snippet", args=[family.pk])).status_code == 404
    file = io.BytesIO()
    write_campaign(campaign, file)
    blocks = sorted(bytes(row.code) for row in campaign.discoveries.all())
    campaign.delete()
    again = store_campaign(read_archive(ZipTree(file, "campaign.zip")))
    assert again.isa is not None
    assert again.isa.name == isa
    assert sorted(bytes(row.code) for row in again.discoveries.all()) == blocks


def test_tools_of_two_instruction_sets_have_no_blocks_in_common(trusting_operator: None) -> None:
    rows = [predictor_row(f"llvm-mca:cpu={core}", may_choose=True) for core in ("haswell", "cortex-a57")]
    with pytest.raises(ConfigError, match=f"haswell answers for {DEFAULT}; .* answers for {AARCH64}"):
        common_isa([row.pk for row in rows])
