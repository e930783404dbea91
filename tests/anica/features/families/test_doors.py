"""Families on page, API and shell: the picture, the evidence, marks, and what is sent to maintainers."""

from __future__ import annotations

import json
import re

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from anica_app.features.families import command, pages
from anica_app.models import Campaign, CampaignPredictor, Discovery, Family, SampleBatch
from inference.features.asking.predictors.offers import Offer, Offers
from inference.models import AnswerCache, Predictor, Run, RunEvent
from inference.models.block_set import block_key
from inference.predictors.protocol import Answer
from inference.predictors.samples import Sample, pack

pytestmark = pytest.mark.django_db

SCAN = bytes.fromhex("410fbc06")
"""bsf eax, [r14]"""
OTHER = bytes.fromhex("480fbcc3")
ABSTRACT = {"instructions": [{"mnemonic": {"base": "bsf", "edits": 1}}], "aliasing": []}
TITLE = "llvm-mca 22 predicts 8 cycles for `bsf r32, m32` on haswell (14: 1)"


@pytest.fixture
def visitor(client: Client, administrator: User) -> Client:
    client.force_login(administrator)
    return client


FACTS = {
    "families": {
        "judged": 200,
        "disagreements": 40,
        "explained": 30,
        "by_ten": 30,
        "fresh": True,
        "questions": 12,
        "against": {
            "campaign": 1,
            "name": "before",
            "gone": [{"family": 9, "name": "pop: throughput", "witness": "58", "mark": ""}],
            "unseen": [],
        },
        "judge": {
            "predictor": 3,
            "name": "lab",
            "answered": 60,
            "unanswered": 1,
            "league": [
                {
                    "class": "",
                    "blocks": 60,
                    "disputed": 9,
                    "right": [7, 1],
                    "neither": 1,
                    "errors": [0.1, 0.9],
                },
                {
                    "class": "bit scan",
                    "blocks": 5,
                    "disputed": 5,
                    "right": [5, 0],
                    "neither": 0,
                    "errors": [0.0, None],
                },
            ],
        },
    }
}
"""What grouping leaves with a campaign."""

TOLD = {"cycles": [1.0, 8.0], "failures": ["", ""]}
EVIDENCE = {
    "members": {"0": {"block": SCAN.hex(), **TOLD}, "1": {"block": OTHER.hex(), **TOLD}},
    "tried": [
        {
            "change": "one dependency cut",
            "cut": ["rax"],
            "code": "",
            "cycles": [1.0, 1.0],
            "vanishes": True,
        }
    ],
    "judge": {
        "members": {"0": {"cycles": 1.0, "right": 1}},
        "blocks": 5,
        "right": [5, 0],
        "neither": 0,
    },
}
"""What it leaves with a family."""


@pytest.fixture
def campaign() -> Campaign:
    """Two releases of llvm-mca, with a family of two discoveries and one of another bound."""
    made = Campaign.objects.create(
        name="releases",
        origin="run",
        facts=FACTS,
    )
    for position, release in enumerate((14, 22)):
        tool = Predictor.objects.create(
            name=f"llvm-mca {release} · haswell",
            kind="llvm-mca",
            key=f"{release:064}",
            options={"release": str(release), "cpu": "haswell"},
        )
        CampaignPredictor.objects.create(campaign=made, position=position, predictor=tool)
    rows = [
        Discovery.objects.create(
            campaign=made, number=at, abstract=ABSTRACT, code=code, length=1, kind="difference"
        )
        for at, code in enumerate((SCAN, OTHER, OTHER))
    ]
    scans = Family.objects.create(
        campaign=made,
        number=0,
        name="bsf with memory operand: throughput",
        bound="ports",
        kind="difference",
        slower=2,
        code=SCAN,
        predictions=[[1.0, 1.0], [8.0, 9.0]],
        own=20,
        share=0.5,
        low=0.4,
        high=0.6,
        status="new",
        facts=EVIDENCE,
    )
    scans.discoveries.set(rows[:2])
    other = Family.objects.create(
        campaign=made,
        number=1,
        name="other",
        bound="front end",
        kind="difference",
        code=OTHER,
        own=10,
        share=0.25,
    )
    other.discoveries.set(rows[2:])
    return made


@pytest.fixture
def family(campaign: Campaign) -> Family:
    return campaign.families.get(number=0)


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def test_a_campaign_begins_with_its_answer_the_picture_and_the_league(visitor, campaign, family):
    page = visitor.get(f"/campaigns/{campaign.pk}/").content.decode()
    cells = re.findall(r'<svg x="([\d.]+)%" y="([\d.]+)%" width="([\d.]+)%" height="([\d.]+)%">', page)
    areas = sorted(float(width) * float(height) / 1e4 for _, _, width, height in cells)
    assert areas == pytest.approx([0.25, 0.25, 0.5], abs=1e-3), "half, a quarter, and what none explains"
    assert f'href="/families/{family.pk}/"' in page
    said = text_of(page)
    assert "1 new, 0 still there, 1 gone: pop: throughput" in said
    assert "llvm-mca 22 predicts 8 cycles for bsf r32, m32 , llvm-mca 14 predicts 1 cycle." in said
    assert "lab measured 1.00 cycles: llvm-mca 14 · haswell is right." in said
    assert (
        "5 measured blocks of the family: llvm-mca 14 · haswell 5, llvm-mca 22 · haswell 0, neither 0."
        in said
    )
    assert "Of 2 families: 1 measured by a machine; 1 not measured." in said
    assert "bit scan 5 5 5 0 0 0 % –" in said


def test_a_family_says_who_what_and_why_with_a_report(visitor, campaign, family):
    page = visitor.get(f"/families/{family.pk}/").content.decode()
    said = text_of(page)
    assert f"# {TITLE}" in said
    assert "Breaking the rax dependency: 1.00 | 1.00 cycles; the difference vanishes" in said
    assert "https://github.com/llvm/llvm-project/issues?q=is%3Aissue+llvm-mca+bsf" in page
    report = visitor.get(f"/families/{family.pk}/report.md").content.decode()
    assert f"# {TITLE}\n" in report
    assert "| `bsf rax, rbx` | 1.00 | 8.00 |" in report
    assert "- family: bsf with memory operand: throughput" in report
    assert "bsfl (%r14), %eax" in visitor.get(f"/families/{family.pk}/llvm-mca.s").content.decode()
    assert "LLVM-EXEGESIS" in visitor.get(f"/families/{family.pk}/llvm-exegesis.s").content.decode()


def test_a_stored_measurement_says_who_is_wrong(visitor, family):
    lab = Predictor.objects.create(name="lab", kind="machine", key="m" * 64)
    AnswerCache.objects.create(predictor=lab, block=block_key(SCAN), cycles=8.0)
    page = text_of(visitor.get(f"/families/{family.pk}/").content.decode())
    assert "llvm-mca 14 predicts 1 cycle for `bsf r32, m32` on haswell (22: 8; measured: 8)" in page
    assert "lab measured 8.00 cycles: llvm-mca 22 · haswell is right." in page


def test_the_witness_is_measured_at_the_press_of_a_button(visitor, family, monkeypatch):
    lab = Predictor.objects.create(name="lab", kind="machine", key="m" * 64, options={"mode": "loop"})
    offered = Offers([], [], [], [Offer("lab", "lab")])
    monkeypatch.setattr(pages, "offers", lambda: offered)
    visitor.post(f"/families/{family.pk}/measure/", {"machine": "command:command=/bin/sh"})
    assert not Run.objects.exists()
    visitor.post(f"/families/{family.pk}/measure/", {"machine": "lab"})
    run = Run.objects.get()
    assert (run.kind, run.config["predictors"], run.config["blocks"]) == ("ask", [lab.pk], [SCAN.hex()])
    assert run.config["mode"] == "loop"
    page = visitor.get(f"/families/{family.pk}/").content.decode()
    assert 'data-poll="1.5"' in page


def test_mark_and_note_are_kept_and_a_wrong_mark_changes_nothing(visitor, family):
    visitor.post(f"/families/{family.pk}/edit/", {"mark": "reported", "note": "LLVM 12345"})
    family.refresh_from_db()
    assert (family.mark, family.note) == ("reported", "LLVM 12345")
    answer = visitor.post(f"/families/{family.pk}/edit/", {"mark": "eaten", "note": ""}, follow=True)
    assert "The judgement was not saved: mark" in answer.content.decode()
    family.refresh_from_db()
    assert family.mark == "reported"
    told = {"mark": "no-fault", "note": "a rounding", "back": "campaign"}
    answer = visitor.post(f"/families/{family.pk}/edit/", told)
    assert answer.url == f"/campaigns/{family.campaign_id}/#finding-{family.pk}"
    page = text_of(visitor.get(f"/campaigns/{family.campaign_id}/").content.decode())
    assert "Not mistakes, as far as is known" in page
    assert "not a fault a rounding" in page
    visitor.post(f"/families/{family.pk}/edit/", {"mark": "", "note": ""})
    family.refresh_from_db()
    assert (family.mark, family.note) == ("", "")


def test_families_are_found_for_a_campaign_without_them(visitor):
    row = Campaign.objects.create(name="imported", origin="import")
    assert "Find families" not in visitor.get(f"/campaigns/{row.pk}/").content.decode()
    Discovery.objects.create(campaign=row, number=0, abstract=ABSTRACT, code=SCAN, length=1)
    assert "Find families" in visitor.get(f"/campaigns/{row.pk}/").content.decode()
    visitor.post(f"/campaigns/{row.pk}/families/")
    run = Run.objects.get(kind="families")
    assert (run.config["campaign"], run.config["evaluate"]) == (row.pk, 2000)
    page = visitor.get(f"/campaigns/{row.pk}/").content.decode()
    assert "Families are being looked for" in text_of(page)
    assert 'id="campaign-answer" data-poll="2"' in page


def test_a_campaign_that_goes_on_shows_its_newest_disagreements_and_families_so_far(visitor, campaign):
    campaign.facts = {}
    campaign.config = {"interest": {"metric": "relative", "threshold": 0.5}}
    campaign.run = Run.objects.create(
        name="goes on", kind="campaign", state="running", lease_until="2100-01-01T00:00Z"
    )
    campaign.save()
    samples = [
        Sample(SCAN, (Answer(cycles=1.0), Answer(cycles=8.0))),
        Sample(OTHER, (Answer(cycles=1.0), Answer(cycles=1.0))),
    ]
    SampleBatch.objects.create(
        campaign=campaign, number=0, purpose="round", n=2, interesting=1, samples=pack(samples)
    )
    one = {
        "name": "bsf: so far",
        "witness": SCAN.hex(),
        "members": 3,
        "predictions": [[1.0, 1.0], [8.0, 9.0]],
    }
    RunEvent.objects.create(run=campaign.run, seq=1, kind="families", payload={"families": [one]})
    page = visitor.get(f"/campaigns/{campaign.pk}/").content.decode()
    said = text_of(page[page.index('id="campaign-answer"') : page.index('id="views"')])
    assert "bsf: so far bsf eax, dword ptr [r14] 1.00 8.00–9.00 3" in said
    RunEvent.objects.all().delete()
    page = visitor.get(f"/campaigns/{campaign.pk}/").content.decode()
    said = text_of(page[page.index('id="campaign-answer"') : page.index('id="views"')])
    assert "bsf eax, dword ptr [r14] 1.00 8.00" in said, "the newest disagreements, until there is a family"
    assert "rax, rbx" not in said


def test_looking_for_families_ends_with_one_line_of_json_where_it_is_asked_for(campaign, monkeypatch, capsys):
    run = Run.objects.create(name="families", kind="families", state="done", result={"families": []})
    monkeypatch.setattr(command.Command, "do_run", lambda self, submitted: run)
    call_command("families", "releases", "--json")
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == run.result


def test_the_shell_lists_marks_and_reports(campaign, family, capsys):
    call_command("families", "releases", "--list")
    said = capsys.readouterr().out
    assert " 0.  50.0 %  bsf with memory operand: throughput  [new]" in said
    assert "bit scan: 5 disputed; right: llvm-mca 14 · haswell 5, llvm-mca 22 · haswell 0, neither 0" in said
    call_command("families", "releases", "--mark", "0=fixed", "--note", "in 23")
    family.refresh_from_db()
    assert (family.mark, family.note) == ("fixed", "in 23")
    capsys.readouterr()
    call_command("families", "releases", "--report", "0")
    assert capsys.readouterr().out.startswith(f"# {TITLE}\n")
    call_command("families", "releases", "--list", "--json")
    assert "fixed" not in json.loads(capsys.readouterr().out)["families"][0]
    for wrong, complaint in (
        ("0=eaten", "right would be"),
        ("zero=fixed", "N=MARK"),
        ("7=fixed", "no family 7"),
    ):
        with pytest.raises(CommandError, match=complaint):
            call_command("families", "releases", "--mark", wrong)
    assert not Run.objects.exists()
