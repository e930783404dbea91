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
from inference.features.judging.accuracy_checks.result import AccuracyCheck
from inference.models import BasicBlockSet, Machine, PortMapping, Predictor, Run
from tests.doors import printed
from tests.features.accuracy_checks.checked import checked_run
from tests.heads import behind_head


@pytest.fixture
def visitor(client: Client, administrator: User) -> Client:
    client.force_login(administrator)
    return client


@pytest.fixture
def run(machine: Machine, block_set: BasicBlockSet) -> Run:
    return checked_run(machine, block_set)


def test_the_page_has_the_floor_all_predictors_and_the_worst_blocks(visitor: Client, run: Run) -> None:
    address = reverse("accuracy-check", args=[run.pk])
    page = visitor.get(address)
    text = page.content.decode()
    lines = page.context["lines"]
    assert [line.checked.name for line in lines] == ["lab, measured again", "good tool", "bad tool"]
    assert page.context["chosen"].checked.name == "good tool"
    assert "absent tool: it is not installed" in text
    assert "Front end" in text
    other = visitor.get(address, {"of": 2})
    assert other.context["chosen"].checked.scores.mape == 100
    assert "+100.0" in other.content.decode()
    judged = [line.checked.judgement for line in lines]
    assert [each and each.grade for each in judged] == [None, "good", "wrong"]
    assert '<span class="badge grade-wrong">Wrong</span>' in text
    assert "blocks that good tool predicts, it is off by 1.0 %, this by 100.0 %" in text
    csv = behind_head(visitor.get(reverse("accuracy-check-csv", args=[run.pk])).content.decode())
    assert [line.split(",")[0] for line in csv.splitlines()[1:]][-2:] == ["good tool", "bad tool"]


def test_a_check_of_an_earlier_version_is_shown_without_a_judgement(visitor: Client, run: Run) -> None:
    stored = run.result["check"]
    del stored["floor"]
    for one in (stored["again"], *stored["predictors"]):
        del one["judgement"]
    run.save()
    page = visitor.get(reverse("accuracy-check", args=[run.pk]))
    assert page.status_code == 200
    assert "Judgement" not in page.content.decode()


def test_what_was_found_stays_when_the_sets_are_gone(
    visitor: Client, run: Run, block_set: BasicBlockSet
) -> None:
    block_set.delete()
    page = visitor.get(reverse("accuracy-check", args=[run.pk]))
    assert page.status_code == 200
    assert "good tool" in page.content.decode()


def test_before_it_is_done_the_page_says_how_far_it_is(visitor: Client, run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(
        state="running",
        lease_until=timezone.now(),
        result={},
        progress={"phase": "Measure", "done": 3, "total": 9, "unit": "blocks"},
    )
    assert "Measure: 3 of 9 blocks" in visitor.get(reverse("accuracy-check", args=[run.pk])).content.decode()


def test_checks_are_listed_and_led_to(
    visitor: Client, run: Run, machine: Machine, block_set: BasicBlockSet
) -> None:
    assert run.name in visitor.get(reverse("accuracy-checks")).content.decode()
    form = reverse("accuracy-check-new")
    for page, query in (
        (reverse("machine", args=[machine.pk]), f"machine={machine.pk}"),
        (reverse("block-set", args=[block_set.pk]), f"set={block_set.pk}"),
    ):
        assert f"{form}?{query}" in visitor.get(page).content.decode()


def test_the_form_starts_a_check(
    visitor: Client, machine: Machine, block_set: BasicBlockSet, wrong_mapping: PortMapping
) -> None:
    address = reverse("accuracy-check-new")
    shown = visitor.get(address, {"machine": machine.pk, "set": block_set.pk}).content.decode()
    assert f'<option value="{block_set.pk}" selected' in shown
    data = {"machine": machine.pk, "block_set": block_set.pk, "mode": "unrolled"}
    data |= {"blocks": "60", "seed": "4", "rounds": "2"}
    assert visitor.post(address, {**data, "blocks": "3"}).status_code == 400
    assert visitor.post(address, {**data, "predictors": ["command:command=reboot"]}).status_code == 400
    answer = visitor.post(address, {**data, "predictors": ["mapping:mapping=inferred"]})
    made = Run.objects.get(kind="accuracy-check")
    assert answer.url == reverse("accuracy-check", args=[made.pk])
    asked = Predictor.objects.get(name="mapping inferred").pk
    assert made.config == {
        "machine": machine.pk,
        "block_set": block_set.pk,
        "blocks": 60,
        "seed": 4,
        "mode": "unrolled",
        "rounds": 2,
        "predictors": [asked],
    }
    visitor.post(address, data)
    assert Run.objects.latest("pk").config["predictors"] == []


def test_without_machine_and_set_the_form_says_what_is_missing(visitor: Client, db: None) -> None:
    text = visitor.get(reverse("accuracy-check-new")).content.decode()
    assert "A machine and a set of basic blocks are needed" in text


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
    assert "good tool: 100 % answered, MAPE 1.00 %" in text
    assert "    good: off by 1.0 % on average" in text
    assert "    wrong: off by 100.0 % on average" in text
    assert (submitted[0].config["blocks"], submitted[0].config["seed"]) == (50, 7)
    found = json.loads(shell("blocks", "--machine", "lab", "--json"))
    assert (
        AccuracyCheck.from_json({name: found[name] for name in run.result["check"]}).blocks == block_set.size
    )
    for wrong in (("blockz", "--machine", "lab"), ("blocks", "--machine", "lap")):
        with pytest.raises(CommandError, match=r"blocks|lab"):
            shell(*wrong)
