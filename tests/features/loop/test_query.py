"""Analyses by stored core models: cached, and new as soon as a part of the row changes."""

from __future__ import annotations

import pytest

from inference.core.core_model import Assumptions
from inference.core.loop.values import Changes
from inference.features.asking.loop.query import analysis_of
from inference.features.library.gallery.query import recorded_cores
from inference.isa.blocks import block_of_text
from inference.models import StoredCoreModel
from inference.storage.instruction_sets import store_isa

RECORDED = next(core.row for core in recorded_cores() if core.core == "Zen 4")
BLOCK = block_of_text("imul rax, rbx\nimul eax, ecx")


@pytest.fixture
def row(db: None) -> StoredCoreModel:
    isa = store_isa("x86-64", [], "a test")
    return StoredCoreModel.objects.create(name="lab", isa=isa, document=RECORDED.document)


def test_a_row_that_is_not_stored_answers_without_the_database() -> None:
    assert analysis_of(BLOCK, RECORDED).usual == pytest.approx(6.0, abs=0.1)


def test_ports_have_names_and_a_persons_names_take_precedence(row: StoredCoreModel) -> None:
    before = analysis_of(BLOCK, row)
    labels = dict(zip(before.mapping_ports, before.ports, strict=True))
    (renamed, first), (other, second) = [pair for pair in labels.items() if pair[1].startswith("ALU")][:2]
    row.port_names = {renamed: second}
    names = dict(zip(before.mapping_ports, analysis_of(BLOCK, row).ports, strict=True))
    assert first != second
    assert names[renamed] == second
    assert names[other] == other, "its usual name belongs to another port now"


def test_assumptions_do_not_change_later_answers(row: StoredCoreModel) -> None:
    block = block_of_text("cpuid\nimul eax, ecx")
    unknown = Assumptions(in_loop=True)
    before = analysis_of(block, row, unknown)
    assert before.cycles.high is None
    assert analysis_of(BLOCK, row).cycles.is_exact
    assert analysis_of(block, row, unknown) == before
    analysis_of(block, row, unknown, Changes(frozenset({"0-1-rax"}), latencies={0: 9.0}))
    assert analysis_of(block, row, unknown) == before


def test_a_row_with_other_parts_is_another_model(row: StoredCoreModel) -> None:
    known = analysis_of(BLOCK, row)
    row.document = None  # as if its parts were other rows
    row.latencies_id = row.mapping_id = row.front_end_id = None
    row.created = row.created.replace(year=2001)
    assert analysis_of(BLOCK, row) != known
