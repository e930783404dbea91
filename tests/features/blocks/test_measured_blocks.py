"""Basic blocks that a run has measured, on its page."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from inference.agent.protocol import Result
from inference.models import ISA, Machine, PortMapping, Run
from inference.runs.journal import write
from inference.runs.lifecycle import submit


@pytest.fixture
def machine(isa: ISA) -> Machine:
    return Machine.objects.create(name="lab", kind="agent", isa=isa, facts={"blocks": True}, state="idle")


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
