"""The page where basic blocks are pasted: decoding, who can be asked, the runs that it starts."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from inference.features.asking.predictors import offers as offering
from inference.features.asking.predictors.query import PredictorListing
from inference.features.asking.questions.query import KIND
from inference.models import ISA, Machine, PortMapping, Predictor, Run
from inference.predictors.kinds import KINDS
from tests.rows.lab import machine
from tests.rows.library import IMUL, isa, mapping, visitor

__all__ = ["isa", "machine", "mapping", "visitor"]

MAPPED = "mapping:mapping=three ports"
LAB = "machine:machine=lab"
FIELDS = {
    "mode": "unrolled",
    "copies": "0",
    "registers": "0x62345600",
    "memory": "0x62345600",
    "pages": "2000",
}


@pytest.fixture(autouse=True)
def tool(db: None, monkeypatch: pytest.MonkeyPatch) -> Predictor:
    """The one tool of this computer, whatever is installed here."""
    row = Predictor.objects.create(name="the tool", kind="command", key="t" * 64)
    monkeypatch.setattr(
        offering,
        "predictor_listings",
        lambda among: [PredictorListing(KINDS["command"], row.name, "1.2", {}, row=row)],
    )
    return row


def test_strangers_have_to_log_in(client: Client, db: None):
    assert client.get(reverse("blocks")).headers["Location"].startswith(reverse("login"))


def test_the_page_works_without_any_machine(visitor: Client):
    page = visitor.get(reverse("blocks"))
    assert page.status_code == 200
    assert reverse("machine-add") in page.text
    assert "Measure in detail" not in page.text


def test_everybody_who_is_here_is_offered_and_ticked(visitor: Client, mapping: PortMapping, machine: Machine):
    away = Machine.objects.create(name="far", kind="agent", isa=mapping.isa, facts={"blocks": True})
    form = visitor.get(reverse("blocks")).context["form"]
    assert [one.text for one in form.offers.all] == [
        "machine:machine=far",
        LAB,
        "the tool",
        MAPPED,
    ]
    assert form.selected_texts() == {LAB, "the tool", MAPPED}
    chosen = visitor.get(reverse("blocks"), {"machine": away.pk}).context["form"]
    assert "machine:machine=far" in chosen.selected_texts()


def test_pasted_code_is_decoded_at_an_address_of_its_own(visitor: Client, mapping: PortMapping):
    asked = {**FIELDS, "code": "add rax, rbx\nimul rcx, rdx", "press": "decode", "predictors": ["the tool"]}
    answer = visitor.post(reverse("blocks"), asked)
    assert answer.status_code == 302
    page = visitor.get(answer.headers["Location"])
    assert page.status_code == 200
    for shown in ("4801d8", "480fafca", "three ports", "Port bound, by model"):
        assert shown in page.text
    row = mapping.isa.schemes.get(text=IMUL)
    assert reverse("scheme", args=[row.pk]) in page.text
    (block,) = page.context["shown"]
    assert [each.cycles for each, _ in block.predictions] == [1.0]
    assert page.context["form"].selected_texts() == {"the tool"}
    assert not Run.objects.exists()


def test_decoding_many_blocks_asks_the_database_no_more(
    visitor: Client, mapping: PortMapping, django_assert_max_num_queries: DjangoAssertNumQueries
):
    code = "\n\n".join(["add rax, rbx\nimul rcx, rdx", "4801d8"] * 10)
    with django_assert_max_num_queries(15):
        assert visitor.get(reverse("blocks"), {"isa": "x86-64", "code": code}).status_code == 200


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("nonsense text", "line 1, column 1: x86-64 has no instruction"),
        ("jne\nadd rax, rbx", "line 1, column 1: the target of the jump is missing"),
        ("90" * 5000, "1 to 4,096 bytes"),
        ("add [rax], 1", "byte ptr"),
        ("", "This field is required"),
    ],
)
def test_what_is_no_block_is_refused_with_the_place(visitor: Client, code: str, said: str):
    asked = {**FIELDS, "code": code, "press": "ask", "predictors": ["the tool"]}
    answer = visitor.post(reverse("blocks"), asked)
    assert answer.status_code == 400
    assert said in answer.text.replace("&#x27;", "'")
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("registers", "everywhere", "whole number such as"),
        ("memory", "-1", "fit into 64 bits"),
        ("pages", "0", "must be a whole number from 1 to"),
        ("copies", "1", "at least 2"),
        ("mode", "sideways", "valid choice"),
        ("predictors", [], "Choose at least one"),
        ("predictors", ["command:command=/bin/sh"], "valid choice"),
    ],
)
def test_what_makes_no_sense_is_refused(visitor: Client, machine: Machine, field, value, said):
    asked = {**FIELDS, "code": "nop", "predictors": [LAB], field: value, "press": "ask"}
    answer = visitor.post(reverse("blocks"), asked)
    assert answer.status_code == 400
    assert said in answer.text
    assert not Run.objects.exists()
    assert not Predictor.objects.exclude(name="the tool").exists()


def test_asking_starts_a_run_over_all_that_was_chosen(
    visitor: Client, mapping: PortMapping, machine: Machine, tool: Predictor
):
    asked = {**FIELDS, "code": "90\n\nadd rax, rbx", "predictors": ["the tool", MAPPED, LAB], "mode": "loop"}
    answer = visitor.post(reverse("blocks"), {**asked, "registers": "4096", "anew": "on"})
    run = Run.objects.get(kind=KIND)
    assert answer.headers["Location"] == reverse("asked-blocks", args=[run.pk])
    assert run.config["blocks"] == ["90", "4801d8"]
    assert run.config["anew"] is True
    rows = Predictor.objects.in_bulk(run.config["predictors"])
    assert [rows[pk].kind for pk in run.config["predictors"]] == ["machine", "command", "mapping"]
    measured = rows[run.config["predictors"][0]]
    assert {name: str(value) for name, value in measured.options.items()} == {
        "machine": "lab", "mode": "loop", "registers": "4096",
    }  # fmt: skip
    again = visitor.get(reverse("blocks"), {"from": run.pk}).context["form"]
    assert again["code"].value() == "nop\n\nadd rax, rbx"
    assert again.selected_texts() == {"the tool", MAPPED, measured.name}


def test_measuring_in_detail_takes_one_machine(visitor: Client, machine: Machine):
    asked = {**FIELDS, "code": "90\n\nadd rax, rbx", "press": "measure", "registers": "4096"}
    refused = visitor.post(reverse("blocks"), {**asked, "predictors": ["the tool"]})
    assert "choose one machine" in refused.text
    answer = visitor.post(reverse("blocks"), {**asked, "predictors": ["the tool", LAB]})
    run = Run.objects.get()
    assert answer.headers["Location"] == reverse("run", args=[run.pk])
    assert (run.kind, run.config["blocks"]) == ("block", ["90", "4801d8"])
    assert run.config["options"] == {
        "mode": "unrolled", "copies": 0, "registers": 4096, "memory": 0x62345600, "pages": 2000,
    }  # fmt: skip


def test_a_block_that_cannot_be_measured_says_so(visitor: Client, machine: Machine):
    asked = {**FIELDS, "code": "90f4", "predictors": [LAB], "press": "measure"}
    answer = visitor.post(reverse("blocks"), asked)
    assert answer.status_code == 400
    assert "cannot be measured" in answer.text
    assert "Cannot be measured" in visitor.get(reverse("blocks"), {"isa": "x86-64", "code": "90f4"}).text


def test_more_predictors_take_no_more_queries(
    visitor: Client, isa: ISA, django_assert_max_num_queries: DjangoAssertNumQueries
):
    for number in range(12):
        PortMapping.objects.create(name=f"mapping {number}", isa=isa, origin="import", ports=["0"])
    with django_assert_max_num_queries(10):
        form = visitor.get(reverse("blocks")).context["form"]
    assert len(form.offers.mappings) == 12
    assert sum(one.usual for one in form.offers.mappings) == offering.USUAL_MAPPINGS


def test_readers_decode_and_ask_nobody(client: Client, administrator: User, mapping: PortMapping):
    client.force_login(User.objects.create_user("reader"))
    page = client.get(reverse("blocks"), {"isa": "x86-64", "code": "add rax, rbx"})
    assert page.status_code == 200
    assert "4801d8" in page.text
    assert 'value="ask"' not in page.text
    assert client.post(reverse("blocks"), {**FIELDS, "code": "90"}).status_code == 403


def test_a_tool_is_tried_on_its_page_by_the_same_question(visitor: Client, tool: Predictor, monkeypatch):
    from inference.features.asking.predictors import pages

    monkeypatch.setattr(pages, "predictor_listings", list)
    text = visitor.get(reverse("predictors")).text
    assert f'action="{reverse("blocks")}"' in text
    assert 'value="the tool"' in text
