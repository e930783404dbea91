"""Basic blocks in the browser: pasted, decoded, predicted, and measured by a run."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from inference.agent.protocol import Result
from inference.models import ISA, Machine, PortMapping, Run
from inference.runs.journal import write
from inference.runs.lifecycle import submit

FIELDS = {
    "mode": "unrolled",
    "copies": "0",
    "registers": "0x62345600",
    "memory": "0x62345600",
    "pages": "256",
}


@pytest.fixture
def machine(isa: ISA) -> Machine:
    return Machine.objects.create(name="lab", kind="agent", isa=isa, facts={"blocks": True}, state="idle")


def test_strangers_have_to_log_in(client: Client, db: None):
    assert client.get(reverse("blocks")).headers["Location"].startswith(reverse("login"))


def test_the_page_works_without_any_machine(visitor: Client, db: None):
    page = visitor.get(reverse("blocks"))
    assert page.status_code == 200
    assert reverse("machine-add") in page.text


def test_pasted_code_is_decoded_at_an_address_of_its_own(visitor: Client, mapping: PortMapping):
    answer = visitor.post(
        reverse("blocks"), {**FIELDS, "code": "add rax, rbx\nimul rcx, rdx", "press": "decode"}
    )
    assert answer.status_code == 302
    page = visitor.get(answer.headers["Location"])
    assert page.status_code == 200
    for shown in ("4801d8", "480fafca", "three ports", "Ports alone allow"):
        assert shown in page.text
    row = mapping.isa.schemes.get(text="imul GPR[64]:RW, GPR[64]:R")
    assert reverse("scheme", args=[row.pk]) in page.text
    (block,) = page.context["shown"]
    assert [each.cycles for each, _ in block.predictions] == [1.0]


def test_decoding_many_blocks_asks_the_database_no_more(
    visitor: Client, mapping: PortMapping, django_assert_max_num_queries: DjangoAssertNumQueries
):
    code = "\n\n".join(["add rax, rbx\nimul rcx, rdx", "4801d8"] * 10)
    with django_assert_max_num_queries(12):
        assert visitor.get(reverse("blocks"), {"code": code}).status_code == 200


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("nonsense text", "line 1: x86-64 has no instruction"),
        ("add rax, rbx\njne top", "line 2: jne changes the control flow"),
        ("90" * 5000, "1 to 4,096 bytes"),
        ("add [rax], 1", "byte ptr"),
        ("", "This field is required"),
    ],
)
def test_what_is_no_block_is_refused_with_the_place(visitor: Client, db: None, code: str, said: str):
    answer = visitor.post(reverse("blocks"), {**FIELDS, "code": code, "press": "measure"})
    assert answer.status_code == 400
    assert said in answer.text.replace("&#x27;", "'")
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("registers", "everywhere", "whole number such as"),
        ("memory", "-1", "fit into 64 bits"),
        ("pages", "0", "greater than or equal to 1"),
        ("copies", "1", "at least 2"),
        ("mode", "sideways", "valid choice"),
    ],
)
def test_options_that_make_no_sense_are_refused(visitor: Client, machine: Machine, field, value, said):
    answer = visitor.post(
        reverse("blocks"), {**FIELDS, "code": "nop", "machine": machine.pk, field: value, "press": "measure"}
    )
    assert answer.status_code == 400
    assert said in answer.text
    assert not Run.objects.exists()


def test_measuring_starts_a_run_with_all_that_was_said(visitor: Client, machine: Machine):
    asked = {
        **FIELDS,
        "code": "90\n\nadd rax, rbx",
        "machine": machine.pk,
        "mode": "loop",
        "registers": "4096",
    }
    answer = visitor.post(reverse("blocks"), {**asked, "press": "measure"})
    run = Run.objects.get()
    assert answer.headers["Location"] == reverse("run", args=[run.pk])
    assert run.kind == "block"
    assert run.config["blocks"] == ["90", "4801d8"]
    assert run.config["options"] == {
        "mode": "loop", "copies": 0, "registers": 4096, "memory": 0x62345600, "pages": 256,
    }  # fmt: skip


def test_a_block_with_what_none_may_have_is_not_measured(visitor: Client, machine: Machine):
    asked = {**FIELDS, "code": "90c3", "machine": machine.pk, "press": "measure"}
    answer = visitor.post(reverse("blocks"), asked)
    assert answer.status_code == 400
    assert "cannot be measured" in answer.text
    assert "cannot be measured" in visitor.get(reverse("blocks"), {"code": "90c3"}).text


def test_the_page_of_a_run_shows_results_as_they_come(
    visitor: Client, machine: Machine, mapping: PortMapping
):
    codes = ["4801d8", "90", *["480fafca"] * 10]
    run = submit("block", {"machine": machine.pk, "blocks": codes}, "blocks")
    told = [
        {"index": 0, **Result("", "settled", 0.5, 0.01, 2).as_json()},
        {"index": 1, **Result("", "failed", note="touches more than 256 pages of memory").as_json()},
    ]
    write(Run.objects.all(), run.pk, [("block", payload) for payload in told])
    page = visitor.get(reverse("run", args=[run.pk]))
    assert "0.500" in page.text
    assert "touches more than 256 pages" in page.text
    assert "-33" in page.text.replace("\N{MINUS SIGN}", "-")  # three ports allow a third of a cycle
    assert "10 of 12 blocks" in page.text
    second = visitor.get(reverse("run", args=[run.pk]), {"from": 11})
    assert "Block 12" in second.text
    assert "Block 10<" not in second.text
    assert visitor.get(reverse("run", args=[run.pk]), {"from": 9999}).status_code == 200
