"""Latencies of a simulated AArch64 processor, from the run to pages, API, shell and XML."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from inference.core.mapping import PortMapping as Mapping
from inference.isa import llvm_mc
from inference.isa.aarch64 import NAME, by_text
from inference.isa.aarch64.chains import links_of
from inference.measuring.simulated_chains import sampled_latencies
from inference.models import LatencySet, Run
from inference.models.scheme_search import latency_schemes
from inference.runs import lifecycle
from inference.storage.instruction_sets import store_isa
from tests.doors import printed
from tests.rows.library import visitor
from tests.simulated import simulated_machine
from tests.work import work_off

__all__ = ["visitor"]

pytestmark = pytest.mark.skipif(llvm_mc.program() is None, reason="llvm-mc is not installed")

ADD, LOAD = "add GPR[64]:W, GPR[64]:R, GPR[64]:R", "ldr FPR[64]:W, MEM[64,pre]:R"
SEED = 5


@pytest.fixture
def measured(db: None) -> LatencySet:
    isa = store_isa(NAME, [by_text()[text] for text in (ADD, LOAD)], "a test")
    machine = simulated_machine(isa, Mapping(("0",), dict.fromkeys((ADD, LOAD), ((1, 1),))), seed=SEED)
    run = lifecycle.submit("latencies", {"machine": machine.pk, "schemes": "all"}, "of Arm")
    assert work_off(run).state == Run.State.DONE, run.error
    return LatencySet.objects.get()


def test_latencies_of_aarch64_are_measured_and_shown(visitor: Client, measured: LatencySet) -> None:
    truth = sampled_latencies(SEED, NAME)
    row = measured.schemes.get(scheme__text=ADD)
    for pair, link in zip(row.pairs, links_of(ADD), strict=True):
        assert (pair["source"], pair["destination"]) == (link.source, link.destination)
        assert pair["least"] == pair["most"] == truth(link)
    assert measured.memory
    page = visitor.get(reverse("latency-set", args=[measured.pk]))
    assert reverse("latency-memory", args=[measured.pk]) in page.text
    shown = visitor.get(reverse("latency-scheme", args=[measured.pk, row.scheme_id])).text
    assert "add x1, x0, x2; sxtw x0, w1" in shown
    assert f"{reverse('blocks')}?code=" not in shown  # blocks are of x86-64
    found = visitor.get(f"/api/v1/latencies/{measured.pk}/schemes", {"q": "add"}).json()["items"]
    assert found[0]["pairs"][0]["chains"][0]["listing"] == ["add x0, x0, x1"]
    assert "add x1, x0, x2; sxtw x0, w1" in printed("latencies", "--show", measured.name, "--scheme", ADD)


def test_latencies_of_aarch64_are_read_again_and_written_as_xml(
    visitor: Client, measured: LatencySet, tmp_path: Path
) -> None:
    visitor.post(reverse("latency-set-again", args=[measured.pk]))
    assert work_off(Run.objects.get(config__recorded=measured.pk)).state == Run.State.DONE
    again = LatencySet.objects.exclude(pk=measured.pk).get()
    assert [row.pairs_with_chains() for row in again.schemes.order_by("scheme_id")] == [
        row.pairs_with_chains() for row in measured.schemes.order_by("scheme_id")
    ]
    written = tmp_path / "arm.xml"
    call_command("latencies", "--show", measured.name, "--xml", str(written), stdout=StringIO())
    assert f'scheme="{LOAD}"' in written.read_text()


def test_the_default_set_has_divisions_and_no_exclusive_accesses(db: None) -> None:
    division, exclusive = "sdiv GPR[64]:W, GPR[64]:R, GPR[64]:R", "ldxr GPR[64]:W, MEM[64,base]:R"
    isa = store_isa(NAME, [by_text()[text] for text in (ADD, division, exclusive)], "a test")
    for selection in ("default", "starter"):
        found = set(latency_schemes(isa.schemes.all(), selection).values_list("text", flat=True))
        assert division in found
        assert exclusive not in found
