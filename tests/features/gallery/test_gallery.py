"""The gallery of recorded cores: its files, its page, opening a core, and adding one."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from inference.features.learning.core_model.storing import store_document
from inference.features.library.gallery import query
from inference.features.library.gallery.query import CORES, recorded_cores
from inference.isa.blocks import read_blocks
from inference.isa.targets import DEFAULT
from inference.models import StoredCoreModel
from inference.storage.core_models import core_model_of
from inference.storage.instruction_sets import store_isa
from tests.rows.library import visitor

__all__ = ["visitor"]


def test_the_gallery_is_small_and_each_core_says_where_it_comes_from():
    assert sum(file.stat().st_size for file in CORES.iterdir()) <= 5 * 2**20
    cores = recorded_cores()
    assert cores
    assert len({core.name for core in cores}) == len(cores)
    for core in cores:
        assert core.processor
        assert core.measured
        assert core.accuracy


@pytest.mark.parametrize("core", recorded_cores(), ids=lambda core: core.slug)
def test_a_recorded_core_describes_usual_instructions(core: query.RecordedCore):
    model = core_model_of(core.row)
    (block,) = read_blocks("add rax, rbx\nimul rcx, rdx\nmov rsi, [rdi]", 1)
    assert model.mapping is not None
    assert {scheme for scheme, _ in block.terms} <= model.mapping.usage.keys()
    assert model.front_end is not None
    assert model.latencies


def test_a_core_is_opened_once(visitor: Client, db: None):
    store_isa(DEFAULT, [], "a test")
    core = recorded_cores()[0]
    assert core.core in visitor.get(reverse("gallery")).text
    first = visitor.post(reverse("gallery-open", args=[core.slug]))
    row = StoredCoreModel.objects.get()
    assert first["Location"] == reverse("core-model", args=[row.pk])
    assert visitor.get(first["Location"]).status_code == 200
    assert core.accuracy in row.note
    visitor.post(reverse("gallery-open", args=[core.slug]))
    assert StoredCoreModel.objects.count() == 1
    assert visitor.post(reverse("gallery-open", args=["zen-17"])).status_code == 404


def test_a_profiled_core_is_added_and_read_back(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store_isa(DEFAULT, [], "a test")
    monkeypatch.setattr(query, "CORES", tmp_path)
    source = next(core for core in recorded_cores() if core.core == "Zen 4")
    store_document(source.document, "mine")
    facts = {"measured": 'a "default" set', "accuracy": "3 % of 100 mixes", "core": "Zen 9"}
    call_command("record-core", "mine", **facts)
    query.recorded_cores.cache_clear()
    (core,) = recorded_cores()
    query.recorded_cores.cache_clear()
    assert (core.slug, core.name, core.measured) == ("zen-9", "Recorded Zen 9", facts["measured"])
    assert core.document.mapping == source.document.mapping
    assert core.document.sources == {}
    assert 'isa = "x86-64"' in (tmp_path / "zen-9.toml").read_text()
