"""A loop tried on the page of a mapping."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from inference.core.mapping import PortMapping as Value
from inference.models import PortMapping
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import store_mapping

LOOP = "add rax, rbx\nimul rcx, rdx\nimul rsi, rdi"


def tried(visitor: Client, row: PortMapping, code: str):
    return visitor.get(reverse("mapping", args=[row.pk]), {"tab": "loop", "code": code})


def test_a_pasted_loop_has_its_cycles_and_its_load_at_once(visitor: Client, mapping: PortMapping):
    page = tried(visitor, mapping, LOOP)
    assert page.status_code == 200
    load = page.context["load"]
    assert load.schedule.cycles == pytest.approx(2.0)
    assert [name for name, _ in page.context["full_ports"]] == ["p1"]
    assert page.context["ipc"] == pytest.approx(1.5)
    rows = page.context["load_rows"]
    texts = [(text, [cycles for cycles, _ in ports]) for _, text, _, ports, _ in rows]
    assert texts[1] == ("imul rcx, rdx", pytest.approx([0.0, 1.0, 0.0]))
    assert "Bucket picture" in page.text


def test_instructions_that_the_mapping_lacks_are_named(visitor: Client, mapping: PortMapping):
    page = tried(visitor, mapping, "add rax, rbx\nmov rax, [rsi]")
    assert "does not describe all of these instructions" in page.text
    assert "not described" in page.text
    assert "describes none of these" in tried(visitor, mapping, "popcnt rax, rbx").text


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("frobnicate rax", "line 1"),
        ("call f", "no instruction but jumps"),
        ("x" * 3001, "up to 3,000 are read"),
    ],
)
def test_what_is_no_loop_is_refused_with_the_reason(visitor: Client, mapping: PortMapping, code, says):
    page = tried(visitor, mapping, code)
    assert page.status_code == 400
    assert says in page.text


def test_of_code_with_jumps_the_first_loop_is_taken_and_others_can_be_chosen(
    visitor: Client, mapping: PortMapping
):
    code = "f:\nadd rcx, rdx\nadd rcx, rdx\n.L2:\nadd rax, rbx\njne .L2\nret"
    page = tried(visitor, mapping, code)
    assert page.context["piece"].name == ".L2"
    assert [row[:2] for row in page.context["load_rows"]] == [("A", "add rax, rbx"), ("B", "jne .loop")]
    assert "piece=f" in page.text
    asked = {"tab": "loop", "code": code, "piece": "f"}
    page = visitor.get(reverse("mapping", args=[mapping.pk]), asked)
    assert len(page.context["load_rows"]) == 2
    missing = visitor.get(reverse("mapping", args=[mapping.pk]), {**asked, "piece": "nowhere"})
    assert missing.status_code == 400
    assert "there are f, .L2 (a loop)" in missing.text


def test_mappings_of_other_instruction_sets_have_no_such_view(visitor: Client, db: None):
    isa = new_isa("toy", ["add"], "by hand")
    row = store_mapping("toy", isa, Value(("a",), {"add": ((1, 1),)}), origin=PortMapping.Origin.IMPORT)
    assert tried(visitor, row, LOOP).status_code == 400
    assert "tab=loop" not in visitor.get(reverse("mapping", args=[row.pk])).text
