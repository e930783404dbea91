"""Accuracy checks in the browser and in the shell; through the API, see `tests.api`."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from inference.features.judging.accuracy_checks import command
from inference.features.judging.accuracy_checks.request import read_config
from inference.formats.block_files import BlockFileSort
from inference.models import BasicBlockSet, Machine, PortMapping, Predictor, Run, Upload
from inference.predictors.processor_names import names_of_older
from inference.runs.errors import ConfigError
from tests.doors import printed
from tests.features.accuracy_checks.checked import checked_run
from tests.features.block_files.test_loops import PROGRAM
from tests.heads import behind_head
from tests.rows.programs import Program


@pytest.fixture
def visitor(client: Client, administrator: User) -> Client:
    client.force_login(administrator)
    return client


@pytest.fixture
def run(machine: Machine, block_set: BasicBlockSet) -> Run:
    return checked_run(machine, block_set)


def page_of(visitor: Client, run: Run) -> str:
    """The page that the address of a check leads to."""
    page = visitor.get(reverse("accuracy-check", args=[run.pk]), follow=True)
    assert page.redirect_chain == [(reverse("comparison", args=[run.pk]), 302)]
    assert page.status_code == 200
    return str(page.content.decode())


def test_a_check_of_an_earlier_version_is_shown_with_the_layout_of_all_comparisons(
    visitor: Client, run: Run
) -> None:
    text = page_of(visitor, run)
    for words in ("lab, measured again", "good tool", "bad tool", "Worst blocks of bad tool", "absent tool"):
        assert words in text
    assert "blocks that good tool predicts, it is off by 1.0 %, this by 100.0 %" in text.replace(
        "items", "blocks"
    )
    csv = behind_head(visitor.get(reverse("accuracy-check-csv", args=[run.pk])).content.decode())
    assert [line.split(",")[0] for line in csv.splitlines()[1:]][-2:] == ["good tool", "bad tool"]


def test_a_check_of_before_judgements_is_shown(visitor: Client, run: Run, reader: Program) -> None:
    stored = run.result["check"]
    del stored["floor"], stored["rounds"]
    for one in (stored["again"], *stored["predictors"]):
        del one["judgement"]
        for block in one["worst"]:
            del block["isa"]
    run.save()
    assert "good tool" in page_of(visitor, run)
    found = reader.get(f"/accuracy-checks/{run.pk}")
    assert (found["floor"], found["rounds"], found["again"]["judgement"]) == (None, 1, None)


def test_what_was_found_stays_when_the_sets_are_gone(
    visitor: Client, run: Run, block_set: BasicBlockSet
) -> None:
    block_set.delete()
    assert "good tool" in page_of(visitor, run)


def test_before_it_is_done_the_page_says_how_far_it_is(visitor: Client, run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(
        state="running",
        lease_until=timezone.now(),
        result={},
        progress={"phase": "Measure", "done": 3, "total": 9, "unit": "blocks"},
    )
    assert "Measure: 3 of 9 blocks" in page_of(visitor, run)


def test_checks_are_listed_and_led_to(
    visitor: Client, run: Run, machine: Machine, block_set: BasicBlockSet
) -> None:
    other = Run.objects.create(name="another kind", kind="matrix", state="done", config={}, result={})
    listed = visitor.get(reverse("accuracy-checks"), {"q": "a"}, follow=True).content.decode()
    assert run.name in listed
    assert other.name not in listed
    assert '<input type="hidden" name="kind" value="accuracy-check">' in listed
    form = reverse("accuracy-check-new")
    for page, query in (
        (reverse("machine", args=[machine.pk]), f"machine={machine.pk}"),
        (reverse("block-set", args=[block_set.pk]), f"set={block_set.pk}"),
    ):
        assert f"{form}?{query}" in visitor.get(page).content.decode()


def test_the_form_for_a_check_is_that_of_a_comparison_filled_in(
    visitor: Client, machine: Machine, block_set: BasicBlockSet, wrong_mapping: PortMapping
) -> None:
    wrong_mapping.machine = machine
    wrong_mapping.save()
    query = {"machine": machine.pk, "set": block_set.pk}
    page = visitor.get(reverse("accuracy-check-new"), query, follow=True)
    form = page.context["form"]
    assert (page.context["subject"], form["against"].value()) == (block_set, f"machine:{machine.pk}")
    assert (form["mappings"].value(), form["most"].value()) == ([str(wrong_mapping.pk)], 500)
    proposed = {name: form[name].value() for name in ("against", "mappings", "rounds", "mode")}
    address = page.redirect_chain[-1][0]
    answer = visitor.post(address, {**proposed, "most": 60})
    made = Run.objects.get(kind="judge")
    assert answer.url == reverse("comparison", args=[made.pk])
    assert (made.config["rounds"], made.config["most"], made.config["mode"]) == (3, 60, "loop")
    assert Predictor.objects.get(pk=made.config["against"].partition(":")[2]).kind == "machine"
    bare = visitor.get(reverse("accuracy-check-new"), follow=True).context
    assert (bare["subject"], bare["form"]["against"].value()) == (block_set, f"machine:{machine.pk}")


def test_without_machine_and_set_the_form_says_what_is_missing(visitor: Client, db: None) -> None:
    page = visitor.get(reverse("accuracy-check-new"), follow=True)
    assert "Nothing to compare on yet" in page.content.decode()


def test_the_shell_prints_or_writes_what_was_found(
    machine: Machine, block_set: BasicBlockSet, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitted: list[Run] = []

    def do_run(self, asked):
        submitted.append(asked())
        return run

    monkeypatch.setattr(command.Command, "do_run", do_run)

    def shell(*arguments: str) -> str:
        return printed("accuracy", *arguments)

    text = shell("blocks", "--machine", "lab", "--blocks", "50", "--seed", "7")
    lines = {line[:22].strip(): line for line in text.splitlines()}
    assert lines["good tool"].split()[2:6] == ["140", "0", "140", "1.00"]
    assert "off by 1.0 % on average" in lines["good tool"]
    assert "wrong" in lines["bad tool"]
    assert "Worst blocks of bad tool" in text
    assert (submitted[0].config["blocks"], submitted[0].config["seed"]) == (50, 7)
    found = json.loads(shell("blocks", "--machine", "lab", "--json"))
    assert found == {"run": run.pk, "block_set": block_set.pk, **run.result["check"]}
    for wrong in (("blockz", "--machine", "lab"), ("blocks", "--machine", "lap")):
        with pytest.raises(CommandError, match=r"blocks|lab"):
            shell(*wrong)


def test_a_program_is_judged_by_one_button_on_its_page(visitor: Client, machine: Machine) -> None:
    upload = Upload.objects.create(file_name="work", beginning=PROGRAM, sha256="2" * 64)
    upload.preview = {"page": "anica-import", "seen": {"sort": BlockFileSort.PROGRAM.value}}
    upload.save()
    page = visitor.get(reverse("anica-loops", args=[upload.pk])).content.decode()
    assert page.index("Measure and judge") < page.index("Find loops")
    started = visitor.post(reverse("program-judge", args=[upload.pk]), {"machine": machine.pk})
    run = Run.objects.get(kind="accuracy-check")
    assert started.url == reverse("comparison", args=[run.pk])
    assert (run.config["upload"], run.config["block_set"], run.config["mode"]) == (upload.pk, None, "loop")
    assert "work" in run.name
    assert visitor.get(started.url).status_code == 200
    assert run.name in visitor.get(reverse("anica-loops", args=[upload.pk])).content.decode()


@pytest.mark.parametrize("field", ["machine=", "machine=999"])
def test_a_program_is_not_judged_without_a_machine(visitor: Client, machine: Machine, field: str) -> None:
    upload = Upload.objects.create(file_name="work", beginning=PROGRAM, sha256="2" * 64)
    posted = dict([field.split("=")])
    assert visitor.post(reverse("program-judge", args=[upload.pk]), posted).status_code == 302
    assert not Run.objects.filter(kind="accuracy-check").exists()


@pytest.mark.parametrize("fields", [{}, {"block_set": 1, "upload": 1}])
def test_the_blocks_are_of_a_set_or_of_a_program(machine: Machine, fields: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="name one of them"):
        read_config({"machine": machine.pk, **fields})


def test_a_tool_without_the_processor_is_asked_for_the_core_before(machine: Machine) -> None:
    assert names_of_older("llvm-mca", "Zen 5") == ("znver4", "znver3", "znver2")
    assert names_of_older("osaca", "Skylake") == ()
