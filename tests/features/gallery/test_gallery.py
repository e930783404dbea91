"""The gallery of recorded cores: its files, its page, opening a core, and adding one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from inference.core.core_model import CoreModel
from inference.core.mapping import PortMapping
from inference.core.protocols import Json
from inference.features.library.gallery import query
from inference.features.library.gallery.query import (
    CORES,
    PartSource,
    RecordedCore,
    RecordedFigure,
    recorded_cores,
    store_recording,
)
from inference.isa.blocks import read_blocks
from inference.isa.targets import AARCH64, DEFAULT
from inference.models import Machine, StoredCoreModel
from inference.models import PortMapping as PortMappingRow
from inference.storage.core_models import core_model_of
from inference.storage.instruction_sets import store_isa
from inference.storage.judging import KEY
from inference.storage.mappings import store_mapping
from tests.rows.library import visitor

__all__ = ["visitor"]


def test_the_gallery_is_small_and_each_core_says_where_it_comes_from() -> None:
    assert sum(file.stat().st_size for file in CORES.iterdir()) <= 5 * 2**20
    cores = recorded_cores()
    assert cores
    assert len({core.name for core in cores}) == len(cores)
    for core in cores:
        assert core.processor
        assert core.measured
        assert core.figures
        assert {"ports and slots"} <= {source.part for source in core.sources}
        assert core.judgement.reasons


def test_lists_of_cores_read_no_document(visitor: Client, db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    store_isa(DEFAULT, [], "a test")
    monkeypatch.setattr(query, "read_core_model", lambda _content: pytest.fail("a document was read"))
    recorded_cores.cache_clear()
    for page in ("gallery", "start", "core-models"):
        assert visitor.get(reverse(page)).status_code == 200


@pytest.mark.parametrize("core", recorded_cores(), ids=lambda core: core.slug)
def test_a_recorded_core_describes_usual_instructions(core: query.RecordedCore) -> None:
    model = core_model_of(core.row)
    (block,) = read_blocks("add rax, rbx\nimul rcx, rdx\nmov rsi, [rdi]", 1)
    assert model.mapping is not None
    schemes = {scheme for scheme, _ in block.terms}
    # The published set of Skylake has additions of constants alone.
    assert (schemes if model.latencies else {LOAD}) <= model.mapping.usage.keys()
    assert core.described == len(model.mapping.usage)
    assert core.with_latencies == len(model.latencies)
    assert set(core.lacks.split("; ")) >= {part for part in ("front end",) if model.front_end is None}


def test_a_core_is_opened_once(visitor: Client, db: None) -> None:
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


Origin = PortMappingRow.Origin
PORTS = PartSource("ports and slots", "measured by pmweb")
LOOPS = RecordedFigure("loops", 40, 38, 3.25, 1.5, 0.9, 1.0, {"llvm-mca 99": 40.5})


@pytest.fixture
def empty_gallery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(query, "CORES", tmp_path)
    recorded_cores.cache_clear()
    yield tmp_path
    recorded_cores.cache_clear()


def recorded(**changes: object) -> RecordedCore:
    core = RecordedCore(
        *("zen-9", "Recorded Zen 9", "Zen 9", 'a "CPU"', date(2026, 11, 30), "all of it"), (LOOPS,), (PORTS,)
    )
    return replace(core, **changes)  # type: ignore[arg-type]


def test_what_is_stored_is_read_back(empty_gallery: Path) -> None:
    mapping = PortMapping(("0", "1"), {"mov": ((0b11, 1),), "add": ((0b01, 2),)})
    store_recording(recorded(), CoreModel(mapping), {"0": "ALU0"})
    (core,) = recorded_cores()
    lacks = "latencies; front end; scheduler"
    assert core == recorded(lacks=lacks, described=2)
    assert core.document.model().mapping == mapping
    assert core.row.port_names == {"0": "ALU0"}
    assert core.judgement.grade == "good"
    assert "llvm-mca 99: 40.5 %" in core.accuracy
    assert core.label == "Zen 9, as recorded"


def test_a_part_that_has_a_source_is_not_missing(empty_gallery: Path) -> None:
    sources = (PORTS, PartSource("scheduler", "none explains more than ports"))
    store_recording(recorded(sources=sources), CoreModel(PortMapping(("0",), {"add": ((1, 1),)})))
    (core,) = recorded_cores()
    assert core.lacks == "latencies; front end"


def test_the_worst_figure_judges() -> None:
    worse = replace(LOOPS, on="straight code", mape=25.0)
    assert recorded(figures=(LOOPS, worse)).grade == "doubtful"
    assert "straight code" in recorded(figures=(LOOPS, worse)).judgement.text
    few = replace(LOOPS, items=400)
    assert recorded(figures=(LOOPS, few)).grade == "doubtful"
    better_tool = replace(LOOPS, compared={"llvm-mca 99": 0.5})
    assert recorded(figures=(better_tool,)).grade == "doubtful"


def core_model_row() -> StoredCoreModel:
    isa = store_isa(DEFAULT, [], "a test")
    machine = Machine.objects.create(name="lab", kind="agent", isa=isa, cpu="EPYC of the lab")
    report: Json = {KEY: {"n": 100, "off": 3, "error": 4.5, "repeats": None, "schemes": {}}}
    mapping = store_mapping(
        "ports of the lab", isa, PortMapping(("0",), {}), origin=Origin.RUN, source="PMEvo", report=report
    )
    return StoredCoreModel.objects.create(name="mine", isa=isa, machine=machine, mapping=mapping)


def test_a_profiled_core_is_added(db: None, empty_gallery: Path) -> None:
    core_model_row()
    call_command("record-core", "mine", core="Zen 9")
    (core,) = recorded_cores()
    assert (core.slug, core.name, core.processor) == ("zen-9", "Recorded Zen 9", "EPYC of the lab")
    assert [(figure.items, figure.mape) for figure in core.figures] == [(100, 4.5)]
    assert [source.text for source in core.sources] == ["measured by pmweb; inferred by PMEvo"]
    assert "lab" not in core.row.note


def test_a_core_of_unknown_accuracy_is_refused(db: None, empty_gallery: Path) -> None:
    row = core_model_row()
    assert row.mapping is not None
    row.mapping.report = {}
    row.mapping.save()
    with pytest.raises(CommandError, match="check it first"):
        call_command("record-core", "mine")
    assert recorded_cores() == ()


LOAD = "mov GPR[64]:W, MEM[64]:R"
ADD, BLOCK = "add GPR[64]:RW, GPR[64]:R", "add rax, rbx\nimul rcx, rdx"
ARM_ADD = "add GPR[64]:W, GPR[64]:R, GPR[64]:R"


@pytest.fixture
def ports_alone(visitor: Client, db: None, empty_gallery: Path) -> Client:
    """A site whose gallery has an x86-64 and an AArch64 core of nothing but ports."""
    for isa in (DEFAULT, AARCH64):
        store_isa(isa, [], "a test")
    for slug, isa, scheme in (("narrow", DEFAULT, ADD), ("arm", AARCH64, ARM_ADD)):
        core = recorded(slug=slug, name=f"Recorded {slug}", core=slug, isa=isa)
        store_recording(core, CoreModel(PortMapping(("0", "1"), {scheme: ((0b11, 1),)})))
    return visitor


@pytest.mark.parametrize("slug", ["narrow", "arm"])
def test_a_core_of_ports_alone_has_its_pages(ports_alone: Client, slug: str) -> None:
    assert slug in ports_alone.get(reverse("gallery")).text
    assert "narrow, as recorded" in ports_alone.get(reverse("start")).text
    for page in ("recorded-core", "recorded-core-compare"):
        assert ports_alone.get(reverse(page, args=[slug])).status_code == 200
    opened = ports_alone.post(reverse("gallery-open", args=[slug]))
    assert ports_alone.get(opened["Location"]).status_code == 200


def test_a_loop_is_explained_by_ports_alone_and_by_cores_of_its_instruction_set(ports_alone: Client) -> None:
    page = ports_alone.get(reverse("loop"), {"code": BLOCK, "cpu": "Recorded narrow"})
    assert page.status_code == 200
    assert [cpu.name for cpu in page.context["cpus"]] == ["Recorded narrow", "Recorded arm"]
    assert page.context["answer"].analysis.cycles.low > 0
    for address in (reverse("search") + "?q=imul+r64", reverse("search") + "?q=what+runs+on+port+0"):
        assert ports_alone.get(address, follow=True).status_code == 200
