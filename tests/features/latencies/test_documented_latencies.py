"""Measured latencies beside documented ones: on pages, for programs and in the shell."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse

from inference.core.latency import LatencyResult, PairLatency
from inference.isa.chains import ChainLink
from inference.isa.x86.scheme_set import scheme_and_form
from inference.models import LatencySet, Machine
from inference.storage.instruction_sets import core_name, store_isa
from inference.storage.latencies import documented_share, store_latencies
from tests.doors import printed
from tests.rows.library import visitor

__all__ = ["visitor"]

ADD, IMUL, DIVISION = (
    "add GPR[64]:RW, GPR[64]:R",
    "imul GPR[64]:RW, GPR[64]:R",
    "vdivsd XMM:W, XMM:R, XMM:R",
)
ZEN4 = {"vendor": "AuthenticAMD", "family": 0x19, "model": 0x11}


def pair(
    text: str, source: str, least: float | None, most: float | None = None, destination: str = "1"
) -> PairLatency:
    why = "no chain has settled" if least is None else ""
    link = ChainLink(text, source, destination)
    return PairLatency(link, least, least if most is None else most, None, why, ())


@pytest.fixture
def measured(db: None) -> LatencySet:
    found = [scheme_and_form(text) for text in (ADD, IMUL, DIVISION)]
    isa = store_isa("x86-64", [one[0] for one in found if one is not None], "a test")
    machine = Machine.objects.create(name="here", kind=Machine.Kind.AGENT, isa=isa, facts=ZEN4)
    pairs = (
        pair(ADD, "1", 1.09),
        pair(ADD, "2", 0.2, 0.89),
        pair(ADD, "2", 7.0, destination="flags"),
        pair(IMUL, "1", None),
        pair(IMUL, "2", 3.11, 4.0),
        pair(DIVISION, "2", 12.0, 12.95),
        pair(DIVISION, "3", 13.55, 15.0),
    )
    return store_latencies("measured", machine, LatencyResult(pairs, {}), {})


def test_ranges_agree_that_overlap_within_a_tenth(measured: LatencySet) -> None:
    found = documented_share(measured)
    assert found is not None
    assert (found.core, found.pairs, found.within) == ("Zen 4", 6, 3)
    assert "AMD" in found.according_to
    off = [(one.scheme, one.source, one.least, one.most, one.documented_most) for one in found.off]
    assert off == [(ADD, "2", 0.2, 0.89, 1), (IMUL, "1", None, None, 3), (IMUL, "2", 3.11, 4.0, 3)]
    assert found.off[1].why == "no chain has settled"


@pytest.mark.parametrize(
    "facts", [{}, {"vendor": "AuthenticAMD", "family": 0x17, "model": 1}, {**ZEN4, "family": None}]
)
def test_a_core_of_which_nothing_is_documented_has_no_share(
    visitor: Client, measured: LatencySet, facts: dict[str, object]
) -> None:
    Machine.objects.update(facts=facts)
    assert documented_share(LatencySet.objects.get()) is None
    assert visitor.get(f"/api/v1/latencies/{measured.pk}").json()["documented"] is None
    assert "Documented pairs" not in visitor.get(reverse("latency-set", args=[measured.pk])).text
    with pytest.raises(CommandError, match="has no documented latencies"):
        call_command("latencies", "--show", "measured", "--documented", stdout=StringIO())
    assert json.loads(printed("latencies", "--show", "measured", "--documented", "--json")) is None


def test_the_page_of_a_set_counts_those_that_agree_and_lists_the_others(
    visitor: Client, measured: LatencySet
) -> None:
    page = visitor.get(reverse("latency-set", args=[measured.pk])).text
    assert "3 of 6" in page
    assert "3 documented pairs of a Zen 4 measured otherwise" in page
    section = page[page.index('<details class="more"') :].partition("</details>")[0]
    assert section.count("<tr>") == 4
    assert "0.20–0.89" in section
    assert "Agner Fog" in section
    imul = measured.schemes.get(scheme__text=IMUL)
    assert reverse("latency-scheme", args=[measured.pk, imul.scheme_id]) in section


def test_the_page_of_a_scheme_has_the_documented_number_beside_the_measured_one(
    visitor: Client, measured: LatencySet
) -> None:
    division = measured.schemes.get(scheme__text=DIVISION)
    page = visitor.get(reverse("latency-scheme", args=[measured.pk, division.scheme_id])).text
    assert page.count("13.00–13.50") == 2
    add = measured.schemes.get(scheme__text=ADD)
    page = visitor.get(reverse("latency-scheme", args=[measured.pk, add.scheme_id])).text
    assert page.count("documented:") == 2  # of the flags nothing is documented


def test_programs_and_the_shell_are_told_the_same(visitor: Client, measured: LatencySet) -> None:
    document = json.loads(printed("latencies", "--show", "measured", "--documented", "--json"))
    assert visitor.get(f"/api/v1/latencies/{measured.pk}").json()["documented"] == document
    assert [one["source"] for one in document["off"]] == ["2", "1", "2"]
    head, *lines = printed("latencies", "--show", "measured", "--documented").splitlines()
    assert head.startswith("documented pairs within 0.1 cycles: 3 of 6 (AMD")
    assert lines[1] == f"  {IMUL}: 1 → 1: measured no chain has settled, documented 3.00"


def test_latencies_of_a_file_keep_the_core_that_it_states(measured: LatencySet, tmp_path: Path) -> None:
    dump = tmp_path / "dump.txt"
    dump.write_text(
        "CPUID Manufacturer   : AuthenticAMD\n"
        "CPUID CPU Name       : AMD Ryzen 9\n"
        "CPUID Revision       : 00A60F12h\n"
        "Inst   72 X86   : ADD r64, r64        L:   0.22ns=   1.0c  T:   0.06ns=   0.26c\n"
        "Inst   73 X86   : IMUL r64, r64       L:   0.66ns=   3.0c  T:   0.22ns=   1.00c\n"
    )
    call_command("import", str(dump), "--microarchitecture", "latencies", "--name", "dump", stdout=StringIO())
    row = LatencySet.objects.get(name="dump")
    assert core_name(row.machine) == "Zen 4"
    share = documented_share(row)
    assert share is not None
    assert share.pairs > 0
