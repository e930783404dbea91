"""Campaigns between releases: what families are to an earlier campaign, and who is right about them."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from django.core.management import CommandError, call_command
from iced_x86 import Mnemonic

from anica_app.core.families import grouping as family_names
from anica_app.core.families.causes import DifferingBound
from anica_app.features.campaigns import command
from anica_app.features.families import earlier_campaign, grouping
from anica_app.features.families import job as families_job
from anica_app.models import Campaign, Family
from inference.features.asking.predictors import opening
from inference.features.asking.predictors.opening import DatabaseAnswers
from inference.isa.targets import X86
from inference.models import Predictor
from inference.predictors.protocol import Answer, PredictorError
from inference.runs import leases
from inference.runs.errors import RunsError
from inference.runs.fork_server import StopRequests, execute
from inference.storage.instruction_sets import new_isa
from tests.anica.core.search.planted import Decoding, few_schemes, forwarded_store, slow_scan

pytestmark = pytest.mark.django_db


def slow_product(instructions):
    """Fifteen cycles for each `imul`."""
    return sum(15 for one in instructions if one.mnemonic == Mnemonic.IMUL)


PLANTED = {
    "tool 1": (forwarded_store, slow_scan),
    "tool 2": (forwarded_store, slow_scan, slow_product),
    "tool 3": (forwarded_store,),
    "plain": (),
    "machine": (slow_scan,),
}
QUICK = ("batch=40", "samples=30", "first_look=10", "confirming=30", "orders=2", "longest=2")


@pytest.fixture
def tools(monkeypatch):
    """The tools of which releases differ; a set of those that are not here any more, to be added to."""
    new_isa("x86-64", few_schemes(), "a few")
    for number, name in enumerate(PLANTED):
        Predictor.objects.create(name=name, kind="planted", key=f"{number:064}", options={"release": number})
    gone = set()

    def opened(row, task=None, *, isa):
        if row.name in gone:
            raise PredictorError(f"{row.name} is not here any more")
        return Decoding(lambda code: sum(planted(code) for planted in PLANTED[row.name]), row.name)

    for module in (opening, grouping, earlier_campaign, families_job):
        monkeypatch.setattr(module, "open_predictor", opened)

    def do_run(self, submitted):
        try:
            run = submitted()
        except RunsError as error:
            raise CommandError(str(error)) from error
        lease = leases.claim("here", only=run.pk)
        execute(lease, StopRequests(lease))
        run.refresh_from_db()
        if run.state != run.State.DONE:
            raise CommandError(run.error)
        return run

    monkeypatch.setattr(command.RunCommand, "do_run", do_run)
    return gone


def campaign(name, one, *more, other="plain", blocks=80, seed=1):
    call_command(
        "campaign",
        f"--name={name}",
        f"--predictor={one}",
        f"--predictor={other}",
        f"--blocks={blocks}",
        f"--seed={seed}",
        "--evaluate=60",
        "--schemes=-nothing",
        *(f"--set={setting}" for setting in QUICK),
        *more,
    )
    return Campaign.objects.get(name=name)


def against(name, one, path, earlier_name="first", **more):
    """The exit status of the check, and its verdicts: {name of a family: what is said of it}."""
    status = 0
    try:
        campaign(name, one, f"--against={earlier_name}", f"--junit={path}", **more)
    except CommandError as error:
        status = error.returncode
    return status, dict(_verdicts(path))


def _verdicts(path):
    for case in ElementTree.parse(path).iter("testcase"):
        (said,) = case
        yield case.get("name"), f"{said.tag}: {said.get('message') or said.text}"


def test_a_new_family_ends_the_command_with_2_and_stands_in_the_report(tools, tmp_path):
    campaign("first", "tool 1")
    status, verdicts = against("second", "tool 2", tmp_path / "report.xml")
    assert status == 2
    failed = {name: said for name, said in verdicts.items() if said.startswith("failure")}
    assert len(failed) < len(verdicts)
    assert all("imul" in name and "a new family: imul" in said for name, said in failed.items())
    second = Campaign.objects.get(name="second")
    assert {row.name for row in second.families.filter(status=Family.Status.NEW)} == set(failed) != set()


def test_the_same_faults_are_the_same_families_whatever_the_seed(tools, tmp_path):
    first = campaign("first", "tool 1")
    first.families.update(mark="known")
    status, verdicts = against("second", "tool 1", tmp_path / "report.xml", seed=9)
    assert status == 0
    assert not [name for name, said in verdicts.items() if said.startswith("failure")]
    assert any("still there; known" in said for said in verdicts.values()), "marks carry over"


def forget_what_was_found(made):
    """As if it had been too short: without families, discoveries, and what it has sampled."""
    for rows in (made.families, made.discoveries, made.batches, made.generalisations):
        rows.all().delete()


def test_what_a_short_campaign_did_not_meet_is_not_new(tools, tmp_path):
    forget_what_was_found(campaign("first", "tool 1"))
    status, verdicts = against("second", "tool 2", tmp_path / "report.xml")
    assert status == 2
    new = {name for name, said in verdicts.items() if said.startswith("failure: a new family")}
    assert new
    assert all("imul" in name for name in new), "the earlier tools say that they knew the others"
    status, verdicts = against("third", "tool 1", tmp_path / "report.xml", seed=3)
    assert status == 0, "the same tools cannot have begun to differ"


def test_nobody_knows_what_tools_said_that_are_not_here(tools, tmp_path):
    forget_what_was_found(campaign("first", "tool 1"))
    tools.add("tool 1")
    status, verdicts = against("second", "tool 3", tmp_path / "report.xml")
    assert status == 2
    assert all(said.startswith("failure: not known then") for said in verdicts.values())


def test_stored_answers_tell_what_tools_said_that_are_not_here(tools, tmp_path):
    first = campaign("first", "tool 1")
    second = campaign("second", "tool 2")
    forget_what_was_found(first)
    tools.add("tool 1")
    for name, cycles in (("tool 1", 30.0), ("plain", 1.0)):
        store = DatabaseAnswers(Predictor.objects.get(name=name), X86)
        store.remember({bytes(one.code): Answer(cycles=cycles) for one in second.discoveries.all()})
        store.flush()
    status, verdicts = against("third", "tool 2", tmp_path / "report.xml")
    assert status == 0, verdicts


def test_families_that_are_gone_are_no_failure(tools, tmp_path):
    campaign("first", "tool 1")
    status, verdicts = against("second", "tool 3", tmp_path / "report.xml")
    assert status == 0
    gone = [name for name, said in verdicts.items() if "gone" in said]
    assert gone
    assert all(name.startswith("bs") for name in gone)


def test_a_campaign_is_held_against_one_over_as_many_tools(tools):
    first = campaign("first", "tool 1")
    first.seats.filter(position=1).delete()
    with pytest.raises(CommandError, match="first is over 1 predictors, this one over 2"):
        campaign("second", "tool 1", "--against=first")


def test_a_judge_says_who_is_right_family_by_family_and_class_by_class(tools, capsys):
    made = campaign("judged", "tool 1", "--judge=machine")
    summary = made.facts["families"]["judge"]
    assert (summary["name"], summary["unanswered"]) == ("machine", 0)
    rows = {row["class"]: row for row in summary["league"]}
    assert rows[""]["blocks"] == 60
    scans = rows["bit scan"]
    assert scans["disputed"] == sum(scans["right"]) + scans["neither"] > 0
    assert scans["right"][0] > scans["right"][1], "the first tool knows that scans are slow"
    for family in made.families.all():
        rulings = family.facts["judge"]["members"].values()
        right = 1 if family.name.startswith("bs") else 2
        assert {one["right"] for one in rulings} == {right}, family.name
    said = capsys.readouterr().out
    assert "machine as the judge, of " in said
    assert "bit scan: " in said


def test_marks_of_a_release_that_named_unknown_causes_otherwise_stay(tools, monkeypatch):
    first = campaign("first", "tool 1")
    row = first.families.first()
    name, (subject, _, cause) = row.name, row.name.partition(": ")
    monkeypatch.setitem(family_names._BOUND_WORDS, DifferingBound.UNKNOWN, cause)
    row.name, row.mark = f"{subject}: cause not looked for", "known"
    row.save()
    call_command("families", "first")
    assert first.families.get(name=name).mark == "known"
