"""Latencies from the form to the chains behind each number, and the same for programs and in the shell."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse

from inference.agent.protocol import Frame
from inference.core.mapping import PortMapping as Mapping
from inference.core.protocols import Json
from inference.features.learning.core_model.storing import store_parts
from inference.isa.chains import QUICK, SLOW
from inference.isa.x86.chains import links_of
from inference.isa.x86.scheme_set import scheme_and_form
from inference.measuring.blocks import BlockOptions
from inference.measuring.simulated_chains import sampled_latencies
from inference.measuring.simulated_memory import sampled_memory_unit
from inference.models import ISA, LatencySet, Machine, Run, SchemeLatencies
from inference.runs import lifecycle
from inference.runs.errors import ConfigError
from inference.storage.core_models import core_model_of_parts
from inference.storage.instruction_sets import new_isa, store_isa
from tests.doors import agreed, printed
from tests.rows.library import visitor
from tests.simulated import simulated_machine
from tests.work import work_off

__all__ = ["visitor"]

SCHEMES = (
    "add GPR[64]:RW, GPR[64]:R",
    "imul GPR[64]:W, GPR[64]:R, IMM[8]:R",
    "vcomisd XMM:R, XMM:R",
    "div GPR[32]:R",
)
DIVISION = SCHEMES[3]
SEED = 3


@pytest.fixture
def isa(db: None) -> ISA:
    found = [scheme_and_form(text) for text in SCHEMES]
    return store_isa("x86-64", [one[0] for one in found if one is not None], "a test")


@pytest.fixture
def machine(isa: ISA) -> Machine:
    truth = Mapping(("0", "1"), dict.fromkeys(SCHEMES, ((0b11, 1),)))
    return simulated_machine(isa, truth, seed=SEED)


@pytest.fixture
def measured(machine: Machine) -> LatencySet:
    run = lifecycle.submit("latencies", {"machine": machine.pk, "schemes": "all"}, "of all")
    assert work_off(run).state == Run.State.DONE, run.error
    return LatencySet.objects.get()


def test_a_run_finds_the_latencies_of_the_machine(measured: LatencySet) -> None:
    truth = sampled_latencies(SEED)
    (imul,) = measured.schemes.filter(scheme__text=SCHEMES[1])
    by_name = {(pair["source"], pair["destination"]): pair for pair in imul.pairs}
    pair = by_name["2", "1"]
    link = next(link for link in links_of(SCHEMES[1]) if (link.source, link.destination) == ("2", "1"))
    assert pair["least"] == pair["most"] == truth(link)
    assert (imul.least, imul.most, imul.isolated) == (truth(link), truth(link), 1)
    assert by_name["2", "flags"]["least"] is None
    assert "only in sum" in by_name["2", "flags"]["why"]
    assert measured.run is not None
    assert measured.run.result["pairs"] == sum(len(row.pairs) for row in measured.schemes.all())


@pytest.mark.parametrize("selection", ["starter", "default"])
def test_divisions_are_in_each_set_of_latencies(visitor: Client, machine: Machine, selection: str) -> None:
    expected = set(SCHEMES) - {SCHEMES[1], SCHEMES[2]} if selection == "starter" else set(SCHEMES)
    page = visitor.post(
        reverse("latencies-measure", args=[machine.pk]), {"selection": selection, "press": "estimate"}
    )
    assert page.context["estimate"].schemes == len(expected)
    run = lifecycle.submit("latencies", {"machine": machine.pk, "schemes": selection}, "by program")
    assert work_off(run).state == Run.State.DONE, run.error
    row = LatencySet.objects.get()
    assert set(row.schemes.values_list("scheme__text", flat=True)) == expected
    values = row.schemes.get(scheme__text=DIVISION).pairs[0]["values"]
    assert {one["values"] for one in values} == {QUICK, SLOW}


def test_a_division_has_latencies_of_quick_and_of_slow_values(visitor: Client, measured: LatencySet) -> None:
    truth = sampled_latencies(SEED)
    links = {(link.source, link.destination): link for link in links_of(DIVISION)}
    row = measured.schemes.get(scheme__text=DIVISION)
    quick, slow = (truth(replace(links["rax", "rdx"], values=name)) for name in (QUICK, SLOW))
    (pair,) = [
        one for one in row.pairs_with_chains() if (one["source"], one["destination"]) == ("rax", "rdx")
    ]
    assert (pair["least"], pair["most"]) == (quick, slow)
    assert [(one["values"], one["least"]) for one in pair["values"]] == [(QUICK, quick), (SLOW, slow)]
    assert {chain["values"] for chain in pair["chains"]} == {QUICK, SLOW}
    page = visitor.get(reverse("latency-scheme", args=[measured.pk, row.scheme_id])).text
    assert "Slow values: 0x343a9ed700000085 / 0x75e6e44f" in page
    found = visitor.get(f"/api/v1/latencies/{measured.pk}/schemes", {"q": "div"}).json()["items"]
    told = [one for one in found[0]["pairs"] if (one["source"], one["destination"]) == ("rax", "rdx")]
    assert told[0]["values"] == pair["values"]
    shown = printed("latencies", "--show", measured.name, "--scheme", DIVISION)
    assert f"    slow values, 0x343a9ed700000085 / 0x75e6e44f: {slow:.2f}" in shown
    bounds = [one for one in row.pairs if one["at_most"] is not None]
    assert bounds
    for one in bounds:
        assert one["at_most"] == max(each["at_most"] for each in one["values"])


def test_core_models_have_the_latencies_of_quick_values(measured: LatencySet) -> None:
    model = core_model_of_parts(store_parts("with divisions", None, measured, None))
    pairs = {
        (one["source"], one["destination"]): one for one in measured.schemes.get(scheme__text=DIVISION).pairs
    }
    for ends, cycles in model.latencies[DIVISION].items():
        quick = pairs[ends]["values"][0]
        assert cycles == pytest.approx(quick["at_most"] if quick["least"] is None else quick["least"])


def test_an_instruction_set_without_machine_code_is_refused(db: None) -> None:
    toy = new_isa("toy", ["a"], "a test")
    other = simulated_machine(toy, Mapping(("0",), {"a": ((1, 1),)}))
    with pytest.raises(ConfigError):
        lifecycle.submit("latencies", {"machine": other.pk}, "of nothing")


def test_the_form_estimates_and_starts_a_run(visitor: Client, machine: Machine) -> None:
    address = reverse("latencies-measure", args=[machine.pk])
    page = visitor.get(address)
    assert page.status_code == 200
    shown = {field.split('"')[0] for field in page.text.split(' name="')[1:]}
    assert set(page.context["form"].fields) <= shown  # what the form wants, people can fill in
    assert visitor.post(address, {"selection": "filter", "filter": "", "press": "start"}).status_code == 400
    answer = visitor.post(address, {"selection": "filter", "filter": "imul", "press": "start"})
    run = Run.objects.get(kind="latencies")
    assert answer["Location"] == reverse("run", args=[run.pk])
    assert run.config["scheme_filter"] == "imul"
    divisions = visitor.post(address, {"selection": "filter", "filter": "div", "press": "estimate"})
    assert "1 scheme" in divisions.text  # chains break its dependencies
    assert work_off(run).state == Run.State.DONE
    made = LatencySet.objects.get()
    assert reverse("latency-set", args=[made.pk]) in visitor.get(reverse("run", args=[run.pk])).text
    Run.objects.filter(pk=run.pk).update(busy_seconds=77.0)
    again = visitor.post(address, {"selection": "filter", "filter": "imul", "press": "estimate"})
    assert round(again.context["estimate"].effort.seconds) == 77
    assert "As the last such run on this computer took." in again.context["estimate"].note


def test_pages_show_values_bounds_and_chains(visitor: Client, measured: LatencySet) -> None:
    assert measured.name in visitor.get(reverse("latencies")).text
    address = reverse("latency-set", args=[measured.pk])
    page = visitor.get(address)
    assert "≤" in page.text
    assert {row.scheme.text for row in page.context["page"].rows} == set(SCHEMES)
    found = visitor.get(address, {"q": "imul", "sort": "-most"}).context["page"].rows
    assert [row.scheme.text for row in found] == [SCHEMES[1]]
    assert visitor.get(address, {"q": "width:x"}).status_code == 400
    row = SchemeLatencies.objects.get(scheme__text=SCHEMES[0])
    chains = visitor.get(reverse("latency-scheme", args=[measured.pk, row.scheme_id])).text
    assert "add rbx, r8; movsxd rbx, ebx" in chains
    assert visitor.get(reverse("latency-scheme", args=[measured.pk, 10**9])).status_code == 404


def test_a_set_is_renamed_and_deleted_and_keeps_its_machine(visitor: Client, measured: LatencySet) -> None:
    visitor.post(reverse("latency-set-edit", args=[measured.pk]), {"name": "Zen", "note": "at night"})
    measured.refresh_from_db()
    assert (measured.name, measured.note) == ("Zen", "at night")
    kept = visitor.post(reverse("machine-delete", args=[measured.machine_id]))
    assert kept.status_code == 409
    assert "1 latency set" in kept.text
    visitor.post(reverse("latency-set-delete", args=[measured.pk]))
    assert not LatencySet.objects.exists()


def test_the_shell_shows_what_was_measured(measured: LatencySet) -> None:
    told = printed("latencies", "--show", measured.name, "--scheme", SCHEMES[0])
    assert "  1 → 1: " in told
    assert "add rbx, r8; movsxd rbx, ebx" in told
    told = printed("latencies", "--show", measured.name, "--json")
    assert [json.loads(line)["scheme"] for line in told.splitlines()] == sorted(SCHEMES)
    with pytest.raises(CommandError, match="has no latencies of"):
        call_command("latencies", "--show", measured.name, "--scheme", "nop", stdout=StringIO())


def test_programs_read_sets_and_chains(visitor: Client, measured: LatencySet) -> None:
    (listed,) = visitor.get("/api/v1/latencies").json()["items"]
    assert (listed["name"], listed["schemes"]) == (measured.name, len(SCHEMES))
    assert visitor.get(f"/api/v1/latencies/{measured.pk}").json() == {**listed, "documented": None}
    found = visitor.get(f"/api/v1/latencies/{measured.pk}/schemes", {"q": "imul"}).json()["items"]
    assert [one["scheme"] for one in found] == [SCHEMES[1]]
    assert found[0]["pairs"][0]["chains"][0]["cycles"] > 0
    assert visitor.get(f"/api/v1/latencies/{measured.pk}/schemes", {"q": "width:x"}).status_code == 422


X86_IDENTITY = {"block": BlockOptions().as_json()}
AARCH64_IDENTITY = {"frame": Frame(isa="AArch64", registers={"x1": 7, "x2": 7}, memory=5).as_json()}


@pytest.mark.parametrize(
    ("identity", "said"),
    [
        (X86_IDENTITY, "chains begin with 0x62345600 in general-purpose registers, 0x3f8ccccd3f8ccccd in"),
        (AARCH64_IDENTITY, "begin with 0x7 in general-purpose registers, 0x3f8ccccd3f8ccccd in each half"),
        ({"simulated": "sim"}, "Simulated: latencies do not depend on values."),
        ({}, "The initial values of its chains are not recorded."),
    ],
)
def test_whatever_shows_latencies_says_with_which_values(
    visitor: Client, measured: LatencySet, identity: Json, said: str
) -> None:
    LatencySet.objects.update(identity=identity)
    scheme = measured.schemes.get(scheme__text=SCHEMES[0]).scheme
    out = printed("latencies", "--show", measured.name)
    places = {
        "set": visitor.get(reverse("latency-set", args=[measured.pk])),
        "chains": visitor.get(reverse("latency-scheme", args=[measured.pk, scheme.pk])),
        "scheme": visitor.get(reverse("scheme", args=[scheme.pk])),
        "instruction": visitor.get(reverse("instruction", args=["x86-64", "add"])),
        "API": visitor.get(f"/api/v1/latencies/{measured.pk}"),
        "XML": visitor.get(reverse("latency-set-export", args=[measured.pk])),
    }
    texts = {name: answer.content.decode() for name, answer in places.items()} | {"shell": out}
    assert [name for name, text in texts.items() if said not in text] == []


def test_a_set_is_read_again_from_its_recorded_chains(visitor: Client, measured: LatencySet) -> None:
    address = reverse("latency-set-again", args=[measured.pk])
    assert address in visitor.get(reverse("latency-set", args=[measured.pk])).text
    visitor.post(address)
    run = Run.objects.get(config__recorded=measured.pk)
    assert work_off(run).state == Run.State.DONE, run.error
    again = LatencySet.objects.exclude(pk=measured.pk).get()
    assert [row.pairs_with_chains() for row in again.schemes.order_by("scheme_id")] == [
        row.pairs_with_chains() for row in measured.schemes.order_by("scheme_id")
    ]


def test_the_conditions_of_renamed_memory_are_shown_alike_everywhere(
    visitor: Client, measured: LatencySet
) -> None:
    unit = sampled_memory_unit(SEED)  # what the machine is
    page = visitor.get(reverse("latency-memory", args=[measured.pk]))
    command = ("latencies", "--show", measured.name, "--memory")
    told = agreed(visitor, f"/latencies/{measured.pk}/memory/conditions", *command)
    out = printed("latencies", "--show", measured.name, "--memory")
    assert out.splitlines() == told["words"] == page.context["sentences"]
    assert unit.renames
    assert f"More than {unit.other_stores} other stores in between end that." in told["words"]
    assert told["renaming"]["stores_between"] == unit.other_stores
    usual = next(curve for curve in told["stores"] if curve["bits"] == 64)
    assert len(usual["in_turn"]) == 32
    assert {cycles for lines, cycles in usual["in_turn"] if lines > unit.lines} == {float(unit.far)}
    assert len(page.context["store_figure"]["data"]) == 8  # widths, and two stores to each line
    LatencySet.objects.update(memory=[])
    assert visitor.get(f"/api/v1/latencies/{measured.pk}/memory/conditions").json()["words"] == []
    assert "measure latencies again" in printed("latencies", "--show", measured.name, "--memory")


def test_memory_is_shown_case_by_case(visitor: Client, measured: LatencySet) -> None:
    page = visitor.get(reverse("latency-memory", args=[measured.pk]))
    assert page.context["between"] == [1, 10]
    assert all(len(found) == 2 for _, found in page.context["forwarding"])
    loads = visitor.get(f"/api/v1/latencies/{measured.pk}/memory").json()
    assert len(loads) == len(measured.memory)
    LatencySet.objects.update(memory=[])
    assert "Memory was not measured" in visitor.get(reverse("latency-memory", args=[measured.pk])).text
