"""Machines in the browser: the list, adding one, a machine's page, its tokens and its noise."""

from __future__ import annotations

import re
import zipfile
from datetime import timedelta
from io import BytesIO
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from inference.agent import packing
from inference.isa.targets import AARCH64
from inference.models import ISA, AgentToken, Batch, ExperimentSet, Machine, MachineReading, Run
from inference.runs.machines.checking import clean_facts
from inference.runs.machines.facts import unsupported_runs
from inference.runs.machines.sessions import create_token, machine_of
from inference.storage.instruction_sets import new_isa
from tests.rows.lab import FACTS, machine

__all__ = ["machine"]


def leave(machine: Machine) -> None:
    """Its agent is not heard of any more."""
    Machine.objects.filter(pk=machine.pk).update(last_seen=timezone.now() - timedelta(hours=1))


@pytest.mark.parametrize("name", ["machines", "machine-add"])
def test_strangers_have_to_log_in(client: Client, db: None, name: str):
    assert client.get(reverse(name)).headers["Location"].startswith(reverse("login"))


def test_an_empty_list_says_what_to_do(visitor: Client, db: None):
    page = visitor.get(reverse("machines")).text
    assert "No machine yet" in page
    assert reverse("machine-add") in page
    assert "--no-agent" in page


def test_the_list_says_of_every_machine_what_it_is_and_how_it_is_doing(visitor: Client, machine: Machine):
    Machine.objects.create(name="sim", kind="simulated", isa=machine.isa)
    Machine.objects.create(name="new", kind="agent", isa=machine.isa)
    answer = visitor.get(reverse("machines"))
    assert [row.machine.name for row in answer.context["rows"]] == ["lab", "new", "sim"]
    for words in (
        "Zen 3",
        "AMD EPYC",
        "idle",
        "80/s",
        "0.4&nbsp;%",
        "time only",
        "never connected",
        "simulated",
    ):
        assert words in answer.text
    assert 'data-poll="' in answer.text


def test_more_machines_cost_no_more_queries(
    visitor: Client, machine: Machine, django_assert_max_num_queries: DjangoAssertNumQueries
):
    for number in range(30):
        Machine.objects.create(name=f"m{number}", kind="agent", isa=machine.isa)
    with django_assert_max_num_queries(3):
        visitor.get(reverse("machines"))


def test_adding_a_machine_shows_the_line_to_paste_once(visitor: Client, isa: ISA):
    answer = visitor.post(reverse("machine-add"), {"name": "lab"}, headers={"host": "localhost:8001"})
    machine = Machine.objects.get(name="lab")
    line = answer.context["connection"].line
    token = re.search(r"echo (\S+) > pmweb-agent.token", line)
    assert token is not None
    assert machine_of(token.group(1)) == machine
    assert line.startswith(
        "curl -fsSO http://localhost:8001/agent/pmweb-agent.pyz && (umask 077; echo pmweb_"
    )
    assert line.endswith(
        " python3 pmweb-agent.pyz --server http://localhost:8001 --token-file pmweb-agent.token"
    )
    assert "no-store" in answer.headers["Cache-Control"]
    assert token.group(1) not in visitor.get(reverse("machine", args=[machine.pk])).text


def test_an_address_that_only_this_computer_has_is_warned_of(visitor: Client, isa: ISA, settings: Any):
    settings.ALLOWED_HOSTS = ["*"]
    for host, warns in (
        ("localhost:8000", True),
        ("127.0.0.1:8000", True),
        ("[::1]:8000", True),
        ("lab.example:8000", False),
        ("192.168.1.7", False),
    ):
        answer = visitor.post(reverse("machine-add"), {"name": host}, headers={"host": host})
        assert ("0.0.0.0" in answer.text) == warns, host
        assert ("ssh -R 8000:" in answer.text) == warns, host


def test_a_name_in_use_is_refused_with_a_free_one(visitor: Client, machine: Machine):
    answer = visitor.post(reverse("machine-add"), {"name": "lab"})
    assert answer.status_code == 400
    assert "lab (2)" in answer.text
    assert Machine.objects.count() == 1
    assert not AgentToken.objects.exists()


def test_the_waiting_ends_when_the_agent_connects(visitor: Client, machine: Machine):
    leave(machine)
    address = reverse("machine-arrival", args=[machine.pk])
    waiting = visitor.get(address).text
    assert "Waiting for it to connect" in waiting
    assert "data-poll=" in waiting
    Machine.objects.update(last_seen=timezone.now())
    arrived = visitor.get(address).text
    assert "Connected:" in arrived
    assert reverse("machine", args=[machine.pk]) in arrived
    assert "data-poll=" not in arrived


def test_the_agent_can_be_downloaded_without_logging_in(client: Client, db: None):
    answer = client.get(reverse("agent-download"))
    assert answer.status_code == 200
    assert answer.headers["Content-Disposition"] == 'attachment; filename="pmweb-agent.pyz"'
    assert "__main__.py" in zipfile.ZipFile(BytesIO(answer.content)).namelist()
    assert client.post(reverse("agent-download")).status_code == 405


def test_an_installation_that_cannot_pack_the_agent_says_what_it_lacks(
    client: Client, db: None, monkeypatch: pytest.MonkeyPatch
):
    def lacking() -> bytes:
        raise packing.PackingError("the library websockets is not installed")

    monkeypatch.setattr("inference.features.machines.machines.joining_pages.packed", lacking)
    answer = client.get(reverse("agent-download"))
    assert answer.status_code == 503
    assert "websockets" in answer.text


def test_a_machines_page_tells_everything_about_it(visitor: Client, machine: Machine, isa: ISA):
    MachineReading.objects.create(machine=machine, at=timezone.now(), state="idle", noise=0.004, ghz=3.1)
    run = Run.objects.create(name="a measuring", kind="measure", state="done", config={"machine": machine.pk})
    waits = Run.objects.create(name="waits", kind="measure", config={"machine": machine.pk})
    Batch.objects.create(machine=machine, run=waits, run_token=1, content={}, size=96)
    ExperimentSet.objects.create(name="its set", isa=isa, machine=machine, run=run, origin="run")
    page = visitor.get(reverse("machine", args=[machine.pk])).text
    for words in ("Zen 3", "core 15", "powersave", "a measuring", "its set", "96 experiments", "2 CPU flags"):
        assert words in page
    assert "echo performance | sudo tee" in page
    assert f"{reverse('infer')}?machine={machine.pk}" in page
    assert reverse("machine-measure", args=[machine.pk]) in page


def test_a_machines_page_stays_cheap(
    visitor: Client, machine: Machine, django_assert_max_num_queries: DjangoAssertNumQueries
):
    for number in range(20):
        ExperimentSet.objects.create(name=f"s{number}", isa=machine.isa, machine=machine, origin="run")
    with django_assert_max_num_queries(14):
        visitor.get(reverse("machine", args=[machine.pk]))
    with django_assert_max_num_queries(5):
        visitor.get(reverse("machine-state", args=[machine.pk]))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"state": "contended", "state_note": "known blocks take 38 % too long"},
            "Known blocks take 38 % too long",
        ),
        ({"last_seen": None}, "wait for its agent"),
        ({"state": "unfit", "state_note": "measuring needs Linux"}, "This computer cannot measure"),
    ],
)
def test_a_machine_in_trouble_says_so(visitor: Client, machine: Machine, changes: dict[str, Any], words: str):
    Machine.objects.update(**changes)
    assert words in visitor.get(reverse("machine", args=[machine.pk])).text
    assert words in visitor.get(reverse("machine-state", args=[machine.pk])).text


def test_what_cannot_measure_is_not_offered_to_be_measured(visitor: Client, machine: Machine):
    Machine.objects.update(state="unfit", state_note="forbidden", facts={**FACTS, "system": "Darwin"})
    page = visitor.get(reverse("machine", args=[machine.pk])).text
    assert reverse("machine-measure", args=[machine.pk]) not in page
    assert "Add a Linux computer" in page


def test_what_an_instruction_set_does_not_allow_is_not_offered(visitor: Client, machine: Machine):
    by_blocks = [
        reverse("front-end-measure", args=[machine.pk]),
        f"{reverse('blocks')}?machine={machine.pk}",
    ]
    page = visitor.get(reverse("machine", args=[machine.pk]))
    assert all(address in page.text for address in by_blocks)
    assert page.context["unsupported"] == []
    Machine.objects.update(isa=new_isa(AARCH64, [], "by hand"))
    page = visitor.get(reverse("machine", args=[machine.pk]))
    assert all(address in page.text for address in by_blocks)
    assert page.context["unsupported"] == []
    Machine.objects.update(isa=new_isa("Another", [], "by hand"))
    page = visitor.get(reverse("machine", args=[machine.pk]))
    assert not any(address in page.text for address in by_blocks)
    found = visitor.get(f"/api/v1/machines/{machine.pk}").json()["unsupported"]
    assert found == unsupported_runs(Machine.objects.get())
    assert found.keys() >= {"front-end", "block", "know"}
    assert found["block"] in {why for _, why in page.context["unsupported"]}


def test_the_noise_is_a_figure_for_the_time_that_is_asked_for(visitor: Client, machine: Machine):
    address = reverse("machine-noise", args=[machine.pk])
    assert visitor.get(address).json() is None
    at = timezone.now() - timedelta(hours=3)
    MachineReading.objects.create(machine=machine, at=at, state="contended", noise=0.3, ghz=3.0)
    assert visitor.get(f"{address}?hours=1").json() is None
    assert visitor.get(f"{address}?hours=24").json()["data"][0]["y"] == [30.0]
    assert visitor.get(f"{address}?hours=2").status_code == 400
    assert "disturbed 100 %" in visitor.get(reverse("machine", args=[machine.pk])).text


def test_a_token_can_be_taken_and_revoked(visitor: Client, machine: Machine):
    answer = visitor.post(reverse("machine-token", args=[machine.pk]))
    plain = answer.context["connection"].token
    assert machine_of(plain) == machine
    token = AgentToken.objects.get()
    page = visitor.get(reverse("machine", args=[machine.pk])).text
    address = reverse("machine-token-revoke", args=[machine.pk, token.pk])
    assert address in page
    visitor.post(address)
    assert machine_of(plain) is None
    page = visitor.get(reverse("machine", args=[machine.pk])).text
    assert address not in page
    assert "revoked" in page


def test_a_token_is_revoked_on_its_own_machines_page_only(visitor: Client, machine: Machine, isa: ISA):
    other = Machine.objects.create(name="other", kind="agent", isa=isa)
    plain = create_token(machine)
    address = reverse("machine-token-revoke", args=[other.pk, AgentToken.objects.get().pk])
    assert visitor.post(address).status_code == 404
    assert machine_of(plain) == machine


@pytest.mark.parametrize("name", ["machine-token", "measure-this-computer"])
def test_what_changes_something_is_not_done_by_a_link(visitor: Client, machine: Machine, name: str):
    address = reverse(name, args=[machine.pk] if name == "machine-token" else [])
    assert visitor.get(address).status_code == 405


def test_a_machine_without_an_agent_gets_no_token(visitor: Client, isa: ISA):
    simulated = Machine.objects.create(name="s", kind="simulated", isa=isa)
    assert visitor.post(reverse("machine-token", args=[simulated.pk])).status_code == 404


def test_a_machine_is_renamed_and_deleted_like_everything_with_a_name(visitor: Client, machine: Machine):
    visitor.post(reverse("machine-edit", args=[machine.pk]), {"name": "bench", "note": "noisy"})
    machine.refresh_from_db()
    assert (machine.name, machine.note) == ("bench", "noisy")
    delete = reverse("machine-delete", args=[machine.pk])
    assert visitor.post(delete).status_code == 409
    leave(machine)
    assert visitor.post(delete).headers["Location"] == reverse("machines")
    assert not Machine.objects.exists()


@pytest.mark.parametrize("odd", [None, True, -1, 2**80, float("nan"), "<script>alert(1)</script>", [{}], {}])
def test_no_agent_can_break_or_alter_its_machines_page(visitor: Client, machine: Machine, odd: Any):
    machine.facts = clean_facts({**dict.fromkeys(FACTS, odd), "hypervisor": odd, "smt": odd, "turbo": odd})
    machine.cpu = machine.facts.get("cpu") or ""
    machine.save()
    for name in ("machine", "machine-state", "machine-measure"):
        answer = visitor.get(reverse(name, args=[machine.pk]))
        assert answer.status_code == 200
        assert "<script>alert" not in answer.text


def test_very_many_flags_are_shown_all_the_same(visitor: Client, machine: Machine):
    machine.facts = clean_facts({**FACTS, "flags": [f"flag{k}<" for k in range(4000)]})
    machine.save()
    assert "flag3999&lt;" in visitor.get(reverse("machine", args=[machine.pk])).text


def test_the_noise_page_answers_also_when_nothing_is_known(visitor: Client, machine: Machine):
    page = visitor.get(reverse("machine-trust", args=[machine.pk])).text
    assert "Unknown: its agent" in page
    assert "No reading in this time" in page


def test_the_noise_page_draws_what_the_agent_told(visitor: Client, machine: Machine):
    now = timezone.now()
    for k in range(6):
        state = "contended" if k == 2 else "idle"
        MachineReading.objects.create(
            machine=machine, at=now - timedelta(minutes=k), state=state, noise=0.004, ghz=3.1, rate=80
        )
    Machine.objects.update(facts=FACTS | {"checks": {"additions": [0.2508, 0.25]}})
    address = reverse("machine-trust", args=[machine.pk])
    assert f'<a href="{address}">' in visitor.get(reverse("machine", args=[machine.pk])).text
    answer = visitor.get(address, {"hours": "168"})
    assert [strip.label for strip in answer.context["picture"].strips] == ["Noise", "Clock", "Settled"]
    assert "0.251" in answer.text
    assert 'class="contended"' in answer.text
    assert "Disturbed by hour of the day" in answer.text


def test_a_hybrid_machine_names_its_kind_and_says_how_to_add_the_other(visitor: Client, machine: Machine):
    kinds = {"core_type": "performance", "core_cpus": "0-15", "other_cores": {"efficient": "16-23"}}
    Machine.objects.update(facts=FACTS | kinds)
    page = visitor.get(reverse("machine", args=[machine.pk])).text
    assert "performance, processors 0-15" in page
    assert "To measure its efficient cores (processors 16-23)" in page
