"""What a campaign finds with a machine is measured with other values, and says where it holds."""

from __future__ import annotations

import json
import re

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from anica_app.core.value_dependence import NOT_AGAIN
from anica_app.features.discoveries.bug_report import report_of
from anica_app.features.discoveries.query import DiscoveryParts
from anica_app.models import Campaign
from anica_app.storage.findings import condition_of, repeated_findings
from inference.core.mapping import PortMapping as Mapping
from inference.features.asking.predictors.query import predictor_row
from inference.isa import x86
from inference.isa.targets import X86
from inference.models import ISA, PortMapping
from inference.storage.instruction_sets import store_isa
from inference.storage.mappings import store_mapping
from tests.anica.features.campaigns.test_job import QUICK, do
from tests.simulated import simulated_machine

pytestmark = pytest.mark.django_db(transaction=True)

SHIFT, ADD = "shl GPR[64]:RW, cl:R", "add GPR[64]:RW, GPR[64]:R"
SLOW_IMUL = "imul GPR[64]:RW, GPR[64]:R"
OTHER_SHIFT = "sar GPR[64]:RW, cl:R"
USAGE = dict.fromkeys((SHIFT, OTHER_SHIFT, ADD, SLOW_IMUL), ((3, 1),))


@pytest.fixture
def isa() -> ISA:
    return store_isa(X86, [scheme for scheme in x86.schemes() if scheme.text in USAGE], "a few")


@pytest.fixture
def visitor(client: Client, administrator: User) -> Client:
    client.force_login(administrator)
    return client


def searched(*predictors: str, judge: str = "") -> Campaign:
    description = {
        "predictors": [predictor_row(text).pk for text in predictors],
        "scheme_filter": "-nothing",
        "settings": QUICK,
        "end": {"blocks": 120},
        "evaluate": 100,
    }
    run = do("campaign", description | ({"judge": predictor_row(judge).pk} if judge else {}))
    assert run.state == "done", run.error
    return Campaign.objects.get(run=run)


@pytest.fixture
def tools(isa: ISA) -> None:
    """A machine with slow shifts by 0 and slow multiplications; mappings that know less of them."""
    slow = {**USAGE, SLOW_IMUL: ((1, 9),)}
    simulated_machine(isa, Mapping(("0", "1"), slow), name="lab", zero_count_cycles=40.0)
    for name, usage in (("ports", USAGE), ("slow shifts", {**USAGE, SHIFT: ((1, 41),)})):
        store_mapping(name, isa, Mapping(("0", "1"), usage), origin=PortMapping.Origin.IMPORT)


@pytest.fixture
def campaign(tools: None) -> Campaign:
    return searched("mapping:mapping=ports", "machine:machine=lab")


def test_a_slow_shift_by_zero_is_found_where_the_count_is_zero_alone(
    campaign: Campaign, capsys: pytest.CaptureFixture[str], visitor: Client
) -> None:
    family = next(row for row in campaign.families.all() if _condition(row) == "only where cl = 0")
    discovery = next(row for row in family.discoveries.all() if condition_of(row))
    finding = repeated_findings(discovery)[0]
    assert not finding.is_example
    assert [reading.holds for reading in finding.readings if reading.operands["cl"] == "0"] == [True, True]
    assert not any(reading.holds for reading in finding.readings if reading.operands["cl"] != "0")
    for page in (
        reverse("discovery", args=[discovery.pk]),
        reverse("discovery-reproduce", args=[discovery.pk]),
        reverse("family", args=[family.pk]),
        reverse("campaign", args=[campaign.pk]),
    ):
        assert "only where cl = 0" in visitor.get(page).content.decode(), page
    call_command("families", campaign.name, "--list")
    assert "only where cl = 0" in capsys.readouterr().out
    call_command("families", campaign.name, f"--report={family.number}")
    report = capsys.readouterr().out
    assert re.search(r"^# .*, only where cl = 0$", report, re.MULTILINE)
    assert re.search(r"^\| as found \|.* 0 .*\| yes \|$", report, re.MULTILINE)
    assert "LLVM-EXEGESIS-DEFREG RCX 62345600" in report


def _condition(row) -> str:
    return next((text for one in row.discoveries.all() if (text := condition_of(one))), "")


def test_a_machine_that_judges_is_asked_with_other_values_too(tools: None) -> None:
    mappings = ("mapping:mapping=ports", "mapping:mapping=slow shifts")
    judged = searched(*mappings, judge="machine:machine=lab")
    assert {condition_of(row) for row in judged.discoveries.all()} == {"only where cl = 0"}


def test_blocks_with_other_instructions_than_the_witness_are_measured_as_well(tools: None) -> None:
    general = searched("mapping:mapping=ports", "machine:machine=lab")
    checked = [finding for row in general.discoveries.all() for finding in repeated_findings(row)]
    examples = {finding.condition for finding in checked if finding.is_example}
    assert examples == {"only where cl = 0"}


def test_nobody_is_asked_where_no_machine_takes_part(tools: None) -> None:
    predicted = searched("mapping:mapping=ports", "mapping:mapping=slow shifts")
    assert predicted.discoveries.exists()
    assert not any(repeated_findings(row) for row in predicted.discoveries.all())


def test_what_holds_with_all_values_says_so(campaign: Campaign) -> None:
    sure = [row for row in campaign.discoveries.all() if repeated_findings(row) and not condition_of(row)]
    assert sure
    for row in sure:
        for finding in repeated_findings(row):
            assert "it holds with all" in finding.sentence
            assert all(reading.holds for reading in finding.readings)


def test_scripts_are_told(campaign: Campaign, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("families", campaign.name, "--list", "--json")
    families = json.loads(capsys.readouterr().out)["families"]
    assert {family["condition"] for family in families} >= {"only where cl = 0"}


def test_what_was_not_shown_again_is_not_reported_as_a_finding(
    campaign: Campaign, visitor: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    family = campaign.families.order_by("number").first()
    row = next(one for one in family.discoveries.all() if bytes(one.code) == bytes(family.code))
    witness, *_ = (entry for entry in row.facts["operand_values"] if not entry["is_example"])
    other = {**witness, "block": "4801d8", "condition": ""}
    lost = {**witness, "condition": NOT_AGAIN}
    lost["readings"] = [{**reading, "holds": False} for reading in witness["readings"]]
    row.facts = {**row.facts, "operand_values": [lost]}
    row.save()
    call_command("families", campaign.name, f"--report={family.number}")
    doors = {
        "page": reverse("discovery-reproduce", args=[row.pk]),
        "file": reverse("discovery-report", args=[row.pk]),
        "family": reverse("family-report", args=[family.pk]),
        "API": f"/api/v1/discoveries/{row.pk}/exports/md",
    }
    texts = {name: visitor.get(address).content.decode() for name, address in doors.items()}
    texts["shell"] = capsys.readouterr().out
    for name, text in texts.items():
        assert "Not repeated: " in text, name
        assert "Do not report this:" in text, name
    assert "it does not hold." in repeated_findings(row)[0].sentence
    row.facts = {**row.facts, "operand_values": [lost, other]}
    row.save()
    assert report_of(DiscoveryParts(row)).code.hex() == "4801d8"
    row.facts = {name: value for name, value in row.facts.items() if name != "operand_values"}
    row.save()
    assert "It was not measured with other values." in visitor.get(doors["file"]).content.decode()


def test_facts_that_a_file_made_up_are_passed_over(campaign: Campaign, visitor: Client) -> None:
    row = campaign.discoveries.first()
    for content in (7, {"machine": 1}, [{"machine": "x"}], [{"readings": []}], ["text"]):
        row.facts = {"operand_values": content}
        row.save()
        assert repeated_findings(row) == []
        assert visitor.get(reverse("discovery", args=[row.pk])).status_code == 200
