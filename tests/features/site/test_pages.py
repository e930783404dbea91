"""Publishing: static sites of one thing and of several, with nothing private in them."""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from inference.core.experiment import Unit
from inference.core.mapping import PortMapping as Mapping
from inference.core.mapping import uops_of
from inference.features.learning.core_model.storing import store_parts
from inference.features.publishing.site.request import PublishedItem
from inference.features.publishing.site.static_site import pages_of, private_words, site_of
from inference.formats.parsing import parse
from inference.isa.names import SchemeNames
from inference.models import ISA, ExperimentSet, Machine, PortMapping, StoredCoreModel
from inference.storage.evaluations import evaluate
from inference.storage.instruction_sets import store_isa
from inference.storage.mappings import store_mapping
from inference.web.published_page import PublishedKind
from pmweb.accounts.api_tokens import issue
from pmweb.models import AuditEntry, Scope
from tests.rows.lab import machine
from tests.rows.library import ADD, IMUL, scheme
from tests.rows.programs import front_end, latencies

__all__ = ["machine"]


def members(content: bytes) -> dict[str, bytes]:
    """The files of a zip."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def site(*items: tuple[str, int], title: str = "") -> dict[str, bytes]:
    """The site of things by kind and number."""
    return dict(site_of(pages_of([PublishedItem(PublishedKind(kind), pk) for kind, pk in items]), title))


@pytest.fixture
def core(machine: Machine, mapping: PortMapping) -> StoredCoreModel:
    """A core model with all its parts."""
    mapping.machine = machine
    mapping.save()
    return store_parts("lab: core", mapping, latencies(machine), front_end(machine))


def test_a_mapping_is_a_page_with_its_data_and_pictures(mapping: PortMapping) -> None:
    files = site(("mapping", mapping.pk))
    page = files["index.html"].decode()
    assert {"data/mapping.json", "data/schemes.csv", "pictures/ports.svg", "pictures/graph.svg"} <= set(files)
    assert page.count("<tr>") == 3  # a head, and two schemes
    assert ADD in page
    assert "<script src" not in page
    assert '<link rel="stylesheet"' not in page
    assert 'type="module"' not in page
    assert "fetch(" not in page
    header, first, second = files["data/schemes.csv"].decode().splitlines()
    assert header.split(",")[:3] == ["Scheme", "Ports", "µops"]
    assert "1×[p0,p1,p5]" in first
    assert "1×[p1]" in second
    for path in ("pictures/ports.svg", "pictures/graph.svg"):
        assert ElementTree.fromstring(files[path]).tag.endswith("svg")
    assert files["card.png"].startswith(b"\x89PNG\r\n")


def test_the_published_mapping_imports_again(mapping: PortMapping) -> None:
    content = site(("mapping", mapping.pk))["data/mapping.json"]
    parsed = parse(content, "mapping.json", SchemeNames([ADD, IMUL]), Unit.CYCLES)
    assert parsed.lines() == []
    assert parsed.mapping is not None
    assert parsed.mapping.usage[IMUL] == ((0b010, 1),)


def test_every_link_of_a_page_leads_to_a_file_of_the_site(
    core: StoredCoreModel, mapping: PortMapping
) -> None:
    files = site(("core", core.pk), ("mapping", mapping.pk), title="Two cores")
    folders = {path.partition("/")[0] for path in files if "/" in path}
    assert len(folders) == 2
    for path, content in files.items():
        if not path.endswith(".html"):
            continue
        here = path.rpartition("/")[0]
        for address in re.findall(r'(?:href|src)="([^"#:]+)"', content.decode()):
            target = str(Path("/", here, address).resolve())[1:]
            assert target in files, (path, address)


def test_a_core_has_ports_latencies_and_front_end(core: StoredCoreModel) -> None:
    files = site(("core", core.pk))
    header = files["data/schemes.csv"].decode().splitlines()[0]
    assert "Latency (cycles)" in header
    assert "Predicted cycles" in header
    assert b"Slots per cycle" in files["data/front-end.csv"]
    assert b"Load latency" in files["data/memory.csv"]


def test_an_imported_core_model_has_the_same_page(core: StoredCoreModel, isa: ISA) -> None:
    document = json.loads(site(("core", core.pk))["data/core-model.json"])
    assert document["sources"] == {}
    other = StoredCoreModel.objects.create(name="imported", isa=isa, document=document)
    again = site(("core", other.pk))
    assert json.loads(again["data/core-model.json"]) == document
    assert again["data/schemes.csv"].count(b"\n") == site(("core", core.pk))["data/schemes.csv"].count(b"\n")
    assert b"Slots in loops" in again["data/front-end.csv"]


def test_a_gallery_puts_cores_side_by_side(core: StoredCoreModel, mapping: PortMapping, isa: ISA) -> None:
    value = Mapping(ports=("a", "b"), usage={ADD: ((0b01, 1),)})
    other = store_mapping("two ports", isa, value, origin=PortMapping.Origin.IMPORT)
    page = site(("core", core.pk), ("mapping", other.pk))["index.html"].decode()
    assert page.count("<li data-found>") == 2
    rows = re.findall(r"<tr><th scope=\"row\".*?</tr>", page)
    assert len(rows) == 2
    assert rows[0].count("<i ") == 4  # three ports of the one, one of the other


def test_what_is_published_says_nothing_private(
    core: StoredCoreModel,
    machine: Machine,
    mapping: PortMapping,
    experiment_set: ExperimentSet,
    administrator: User,
) -> None:
    ada = User.objects.create(username="adalovelace")
    token = issue(administrator, "a program", Scope.READ, None)[1]
    machine.name, machine.facts = "buildhost17", {**machine.facts, "host": "node17.example.net"}
    machine.state_note, machine.note = "secret note", "rack 4"
    machine.save()
    machine.tokens.create(digest="f" * 64)
    core.name, core.note = "buildhost17: core", "rack 5"
    core.save()
    for part in (core.latencies, core.front_end):
        part.name = f"buildhost17: part {part.pk}"
        part.save()
    mapping.name = f"buildhost17: ports by {ada.username}, see node17.example.net {token}"
    mapping.note = "the password is swordfish"
    mapping.source = "/home/ada/mapping.json"
    mapping.save()
    evaluate(mapping, experiment_set, Unit.CYCLES)
    experiment_set.name = "buildhost17, overnight"
    experiment_set.save()
    files = site(("core", core.pk), ("mapping", mapping.pk))
    private = (
        "buildhost17",
        "adalovelace",
        "node17",
        token,
        "swordfish",
        "/home/ada",
        "f" * 64,
        "secret note",
    )
    private += ("rack 4", "rack 5", "testserver")
    for path, content in files.items():
        for secret in private:
            assert secret.encode() not in content, (path, secret)
            assert secret not in path
    assert b"AMD EPYC: ports by" in files["index.html"]


def test_a_processor_keeps_its_words_whatever_a_machine_is_called(machine: Machine) -> None:
    machine.name, machine.cpu = "simulated", "simulated processor: Zen"
    machine.save()
    clean = private_words().removed_from
    assert clean("core model · simulated processor: Zen") == "core model · simulated processor: Zen"
    assert clean("simulated: ports") == "simulated processor: Zen: ports"


def test_nothing_on_a_page_breaks_out_of_its_text(isa: ISA) -> None:
    evil = "<script>alert(1)</script>\"'&"
    store_isa("x86-64", [scheme(f"{evil} GPR[64]:R")], "a test")
    value = Mapping(ports=('p<b>"', "p1"), usage={f"{evil} GPR[64]:R": ((0b11, 1),)})
    row = store_mapping(f"evil {evil}", isa, value, origin=PortMapping.Origin.IMPORT)
    files = site(("mapping", row.pk))
    assert b"<script>alert" not in files["index.html"]
    assert b"<b>" not in files["index.html"]
    for path in ("pictures/ports.svg", "pictures/graph.svg"):
        ElementTree.fromstring(files[path])


def test_two_thousand_schemes_take_less_than_two_megabytes(db: None) -> None:
    texts = [f"op{k} GPR[64]:RW, XMM:R, MEM[128]:R, IMM[8]" for k in range(2000)]
    isa = store_isa(
        "x86-64", [scheme(text, extension=f"EXT{number % 30}") for number, text in enumerate(texts)], "a test"
    )
    ports = tuple(str(port) for port in range(10))
    usage = {text: uops_of([(1 + k % 1000, 1 + k % 3), (1 << k % 10, 1)]) for k, text in enumerate(texts)}
    value = Mapping(ports=ports, usage=usage, issue_width=6)
    row = store_mapping("large", isa, value, origin=PortMapping.Origin.IMPORT)
    files = site(("mapping", row.pk))
    assert files["index.html"].count(b"<tr>") == 2001
    total = sum(map(len, files.values()))
    assert total <= 2 * 2**20


def test_the_page_offers_what_there_is_and_gives_a_zip(
    visitor: Client, core: StoredCoreModel, mapping: PortMapping
) -> None:
    page = visitor.get(f"/publish/?item=mapping:{mapping.pk}")
    assert page.status_code == 200
    assert page.content.count(b" checked") == 1
    answer = visitor.get(f"/publish/site.zip?item=mapping:{mapping.pk}&item=core:{core.pk}&title=Mine")
    assert answer["Content-Type"] == "application/zip"
    assert answer["Content-Disposition"] == 'attachment; filename="mine.zip"'
    assert b"<h1>Mine</h1>" in members(answer.content)["index.html"]
    assert AuditEntry.objects.filter(action="exported", detail="publish-zip").count() == 1


@pytest.mark.parametrize("query", ["", "item=mapping:999999", "item=mapping:x", "item=run:1"])
def test_what_cannot_be_published_is_said_and_leads_back(
    visitor: Client, mapping: PortMapping, query: str
) -> None:
    answer = visitor.get(f"/publish/site.zip?{query}", follow=True)
    assert answer.redirect_chain
    assert b"The site was not published" in answer.content


def test_the_command_writes_a_folder_once_and_nothing_over_other_files(
    mapping: PortMapping, tmp_path: Path
) -> None:
    target = tmp_path / "site"
    call_command("publish", "--mapping", mapping.name, str(target), "--title", "A title", verbosity=0)
    assert "<h1>A title</h1>" in (target / "index.html").read_text()
    call_command("publish", "--mapping", mapping.name, str(target), verbosity=0)
    assert f"<h1>{mapping.name}</h1>" in (target / "index.html").read_text()
    other = tmp_path / "other"
    other.mkdir()
    (other / "precious.txt").write_text("mine")
    with pytest.raises(CommandError, match="has other content"):
        call_command("publish", "--mapping", mapping.name, str(other))
    assert [path.name for path in other.iterdir()] == ["precious.txt"]
    with pytest.raises(CommandError, match="there is no mapping 'nothing'"):
        call_command("publish", "--mapping", "nothing", str(tmp_path / "third"))
    zipped = tmp_path / "site.zip"
    call_command("publish", "--mapping", mapping.name, str(zipped), verbosity=0)
    assert members(zipped.read_bytes())["index.html"] == (target / "index.html").read_bytes()


def test_an_unknown_core_is_told(machine: Machine, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="there is no core 'lab'"):
        call_command("publish", "--core", "lab", str(tmp_path / "somewhere"))
    assert not (tmp_path / "somewhere").exists()
