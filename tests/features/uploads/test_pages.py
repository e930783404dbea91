"""Upload, preview, import: nothing is stored before it was seen, and a bad file never breaks the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from inference.models import ISA, ExperimentSet, LatencySet, PortMapping, Run, Upload
from inference.storage.instruction_sets import core_name
from tests.features.uploads.sent_files import BROKEN, CSV, imports, preview_url, send, shown
from tests.rows.library import ADD, IMUL
from tests.work import read_uploads, work_off

MAPPING = json.dumps(
    {
        "kind": "Mapping3",
        "arch": {"kind": "Architecture", "name": "toy", "insns": [ADD], "ports": ["0", "1"]},
        "assignment": {ADD: [["0", "1"]]},
    }
).encode()


def test_one_file_leads_to_its_preview_and_stores_nothing_else(visitor: Client, isa: ISA) -> None:
    answer = visitor.post(reverse("upload"), {"files": [SimpleUploadedFile("small.csv", CSV)]}, follow=True)
    upload = Upload.objects.get()
    assert answer.redirect_chain == [(preview_url(upload), 302)]
    assert "data-poll" in answer.text
    read_uploads()
    answer = shown(visitor, upload)
    assert bytes(upload.content) == CSV
    assert not ExperimentSet.objects.exists()
    facts = {fact["label"]: fact["value"] for fact in answer.context["seen"]["facts"]}
    assert facts["Experiments"] == "2"
    assert facts["Schemes"] == "2"
    assert facts["Cycles"] == "0.25–1.02"
    assert facts["Columns"] == "experiment, cycles, note"
    assert 'value="small"' in answer.text


def test_several_files_wait_side_by_side(visitor: Client, isa: ISA) -> None:
    answer = visitor.post(
        reverse("upload"),
        {"files": [SimpleUploadedFile("a.csv", CSV), SimpleUploadedFile("b.json", MAPPING)]},
        follow=True,
    )
    assert answer.redirect_chain == [(reverse("upload"), 302)]
    assert [row.file_name for row in answer.context["waiting"]] == ["a.csv", "b.json"]
    assert "Import all" in answer.text
    assert "up to 64 MiB each" in answer.text


def test_the_same_file_sent_again_waits_once(visitor: Client, isa: ISA) -> None:
    assert len(send(visitor, ("a.csv", CSV))) == 1
    assert send(visitor, ("a.csv", CSV)) == []


def test_a_form_without_a_file_says_so(visitor: Client, db: None) -> None:
    answer = visitor.post(reverse("upload"))
    assert answer.status_code == 400
    assert "Choose one or more files" in answer.text


def test_a_file_beyond_the_limit_is_refused(visitor: Client, db: None, settings: object) -> None:
    settings.UPLOAD_LIMIT_BYTES = 3 << 20  # type: ignore[attr-defined]
    answer = visitor.post(reverse("upload"), {"files": [SimpleUploadedFile("big.csv", b"x" * (4 << 20))]})
    assert answer.status_code == 400
    assert "at most 3 MiB" in answer.text
    assert not Upload.objects.exists()


def test_accepting_a_preview_submits_an_import(visitor: Client, isa: ISA) -> None:
    (upload,) = send(visitor, ("small.csv", CSV))
    answer = visitor.post(preview_url(upload), {"name": "Skylake", "note": "by hand"})
    run = imports().get()
    assert answer["Location"] == reverse("run", args=[run.pk])
    assert run.kind == "import"
    assert run.config == {
        "upload": upload.pk,
        "name": "Skylake",
        "note": "by hand",
        "isa": isa.name,
        "new_isa": "",
        "unit": "cycles",
    }
    upload.refresh_from_db()
    assert upload.run == run
    assert visitor.get(preview_url(upload)).status_code == 404


def test_an_import_leads_to_its_run_which_links_the_files_that_still_wait(visitor: Client, isa: ISA) -> None:
    _, second = send(visitor, ("a.csv", CSV), ("b.json", MAPPING))
    answer = visitor.post(preview_url(second), {"name": "b", "note": ""}, follow=True)
    run = imports().get()
    assert answer.redirect_chain == [(reverse("run", args=[run.pk]), 302)]
    assert f'<a href="{reverse("upload")}">1 more file waits</a>' in answer.text


def test_a_file_whose_import_failed_waits_again(visitor: Client, isa: ISA) -> None:
    (upload,) = send(visitor, ("a.csv", CSV))
    visitor.post(preview_url(upload), {"name": "a", "note": ""})
    imports().update(state=Run.State.FAILED)
    assert visitor.get(preview_url(upload)).status_code == 200


def test_the_unit_is_asked_where_the_file_names_none_and_changes_the_numbers(
    visitor: Client, isa: ISA
) -> None:
    (upload,) = send(visitor, ("small.csv", CSV))
    answer = shown(visitor, upload, unit="cpi")
    assert "The file names no unit" in answer.text
    assert [row["cycles"] for row in answer.context["seen"]["sample"]] == pytest.approx([3.06, 0.25])
    visitor.post(preview_url(upload), {"name": "per instruction", "note": ""})
    assert imports().get().config["unit"] == "cpi"
    (named,) = send(visitor, ("named.csv", f'experiment,cycles,unit\n"{ADD}",1,ipc\n'.encode()))
    assert "The file names no unit" not in visitor.get(preview_url(named)).text


def test_a_mapping_is_recognised_and_shown_with_its_ports(visitor: Client, isa: ISA) -> None:
    (upload,) = send(visitor, ("toy.json", MAPPING))
    answer = visitor.get(preview_url(upload))
    assert "PMEvo Mapping3" in answer.text
    assert "Import 1 scheme<" in answer.text
    assert '<span class="port port-1">1</span>' in answer.text


def test_a_name_in_use_is_refused(visitor: Client, experiment_set: ExperimentSet) -> None:
    (upload,) = send(visitor, ("small.csv", CSV))
    assert visitor.get(preview_url(upload)).context["form"].initial["name"] == "small (2)"
    answer = visitor.post(preview_url(upload), {"name": "small", "note": ""})
    assert answer.status_code == 400
    assert "small (2)" in answer.text
    assert not imports().exists()


def test_all_files_without_problems_are_imported_at_once(visitor: Client, isa: ISA) -> None:
    send(visitor, ("a.csv", CSV), ("broken.csv", b"experiment,cycles\nx,y\n"), ("b.json", MAPPING))
    answer = visitor.post(reverse("upload-import-all"), follow=True)
    assert sorted(run.config["name"] for run in imports()) == ["a", "b"]
    assert "2 imports queued" in answer.text
    for run in imports():
        assert reverse("run", args=[run.pk]) in answer.text
    assert [row.file_name for row in answer.context["waiting"]] == ["broken.csv"]


def test_files_of_the_same_name_do_not_collide_when_all_are_imported(visitor: Client, isa: ISA) -> None:
    send(visitor, ("a.csv", CSV))
    send(visitor, ("a.csv", CSV + b"\n"))
    visitor.post(reverse("upload-import-all"))
    assert [run.config["name"] for run in imports()] == ["a"]
    assert Upload.objects.filter(run=None).count() == 1


def test_discarding_forgets_the_file(visitor: Client, isa: ISA) -> None:
    (upload,) = send(visitor, ("a.csv", CSV))
    url = reverse("upload-discard", args=[upload.pk])
    assert visitor.get(url).status_code == 405
    assert "a.csv was discarded" in visitor.post(url, follow=True).text
    assert not Upload.objects.exists()
    assert visitor.post(url).status_code == 404


def test_a_file_that_is_being_imported_cannot_be_discarded(visitor: Client, isa: ISA) -> None:
    (upload,) = send(visitor, ("a.csv", CSV))
    visitor.post(preview_url(upload), {"name": "a", "note": ""})
    assert visitor.post(reverse("upload-discard", args=[upload.pk])).status_code == 404
    assert Upload.objects.exists()
    assert not PortMapping.objects.exists()


EXPLAINED = {
    "uarchname": "Zen+",
    "peakipc": 5,
    "ports": [0, 1],
    "data": {
        ADD: {"portusage": [[[0, 1], 1]], "itp": 0.5, "numuops": 1},
        IMUL: {"portusage": [], "itp": 3.0, "numuops": 2},
    },
}


def test_explained_results_take_what_waits_of_their_runs(
    visitor: Client, experiment_set: ExperimentSet
) -> None:
    files = [
        ("zen.json", json.dumps(EXPLAINED).encode()),
        ("run1.json", json.dumps([[IMUL, "surplus uops do not add up"]]).encode()),
        ("run2.json", json.dumps([[IMUL, "never heard of"]]).encode()),
    ]
    mapping, *rejects = send(visitor, *files)
    seen = shown(visitor, mapping, isa="")
    assert {fact["label"]: fact["value"] for fact in seen.context["seen"]["facts"]}["Excluded"] == "1"
    assert "all 2 files that wait" in seen.text
    assert "Measured by the same runs" in seen.text

    def used(chosen: object) -> list[int] | None:
        return shown(visitor, mapping, rejects=chosen).context["seen"]["import"].get("rejects")

    assert used("none") is None
    assert used(rejects[1].pk) == [rejects[1].pk]
    assert used("all") == [each.pk for each in rejects]
    visitor.post(preview_url(mapping), {"name": "zen", "note": "", "evidence": [experiment_set.pk]})
    config = imports().get().config
    assert config["rejects"] == [each.pk for each in rejects]
    assert config["evidence"] == ["small"]


def test_a_table_of_several_microarchitectures_asks_for_one(visitor: Client, isa: ISA) -> None:
    table = {ADD: [{"measurements": {"SKL": "1*p01", "ICL": "1*p0156"}}]}
    (found,) = send(visitor, ("table.json", json.dumps(table).encode()))
    asked = visitor.get(preview_url(found))
    assert asked.context["form"] is None
    assert "<option>ICL</option>" in asked.text
    seen = shown(visitor, found, microarchitecture="ICL")
    assert seen.context["form"].initial["name"] == "uops.info, Ice Lake"
    visitor.post(preview_url(found), {"name": "ICL", "note": ""})
    assert imports().get().config["microarchitecture"] == "ICL"


def test_xml_is_condensed_on_arrival_and_several_parts_are_imported(visitor: Client, isa: ISA) -> None:
    golden = Path(__file__).parents[2] / "formats" / "golden" / "uops-info-xml.xml"
    (found,) = send(visitor, ("instructions.xml", golden.read_bytes()))
    assert len(bytes(found.content)) < golden.stat().st_size / 2
    assert "choose one" in visitor.get(preview_url(found)).text
    seen = shown(visitor, found, microarchitecture="SKL")
    assert seen.context["seen"]["format"] == "instructions.xml of uops.info"
    assert [row["scheme"] for row in seen.context["seen"]["sample"]] == [ADD]
    assert "the instruction set has no such scheme; the nearest is" in seen.text
    visitor.post(preview_url(found), {"name": "SKL", "note": "", "others": ["ICL", "SKL measured"]})
    config = imports().get().config
    assert (config["microarchitecture"], config["others"]) == ("SKL", ["ICL", "SKL measured"])


def test_a_file_is_parsed_once_however_often_it_is_looked_up(
    visitor: Client, isa: ISA, monkeypatch: pytest.MonkeyPatch
) -> None:
    (upload,) = send(visitor, ("broken.csv", BROKEN))

    def parsed_again(*_: object) -> None:
        raise AssertionError("the file is parsed again")

    monkeypatch.setattr("inference.formats.import_formats.read_source", parsed_again)
    shown(visitor, upload, broken="leave out")
    shown(visitor, upload, isa="new")
    shown(visitor, upload, take="nearest", broken="leave out")
    visitor.post(preview_url(upload), {"name": "all but one", "note": ""})
    assert work_off(imports().get()).state == Run.State.DONE
    assert ExperimentSet.objects.get(name="all but one").measurements.count() == 3


def test_the_run_that_reads_a_file_leads_to_its_preview(visitor: Client, isa: ISA) -> None:
    (upload,) = send(visitor, ("a.csv", CSV))
    first = Run.objects.get()
    page = visitor.get(reverse("run", args=[first.pk])).text
    assert f'<a href="{preview_url(upload)}">Awaiting confirmation</a>' in page
    shown(visitor, upload, unit="cpi")
    assert not Run.objects.filter(pk=first.pk).exists()
    visitor.post(reverse("upload-discard", args=[upload.pk]))
    assert "Awaiting confirmation" not in visitor.get(reverse("runs")).text


def test_both_parts_of_a_machine_model_are_shown_and_imported(visitor: Client, isa: ISA) -> None:
    golden = Path(__file__).parents[2] / "formats" / "golden" / "osaca.yml"
    (found,) = send(visitor, ("toy.yml", golden.read_bytes()))
    seen = visitor.get(preview_url(found))
    assert (seen.context["seen"]["kind"], seen.context["seen"]["microarchitecture"]) == ("mapping", "ports")
    seen = shown(visitor, found, microarchitecture="latencies")
    assert seen.context["seen"]["kind"] == "latency_set"
    assert seen.context["seen"]["sample"][0]["scheme"] == ADD
    assert "2 → 1" in seen.text
    visitor.post(preview_url(found), {"name": "told", "note": "", "others": ["ports"]})
    run = imports().get()
    work_off(run)
    run.refresh_from_db()
    made = LatencySet.objects.get(name="told")
    assert run.result["latency_set"] == made.pk
    assert PortMapping.objects.filter(name="Toy core").exists()
    page = visitor.get(reverse("run", args=[run.pk]))
    assert reverse("latency-set", args=[made.pk]) in page.text
    assert visitor.get(reverse("latency-set", args=[made.pk])).status_code == 200
    assert (
        visitor.get(reverse("latency-scheme", args=[made.pk, made.schemes.first().scheme_id])).status_code
        == 200
    )


def test_an_import_states_the_core_that_was_measured(visitor: Client, isa: ISA) -> None:
    (upload,) = send(visitor, ("small.csv", CSV))
    visitor.post(preview_url(upload), {"name": "data", "note": "", "core": "Zen 5"})
    assert work_off(imports().get()).state == "done"
    stored = ExperimentSet.objects.get(name="data")
    assert core_name(stored) == "Zen 5"
    page = visitor.get(reverse("set", args=[stored.pk])).text
    assert "Zen 5" in page
    assert "as its import states" in page


def test_an_unknown_core_is_refused_beside_its_field(visitor: Client, isa: ISA) -> None:
    (upload,) = send(visitor, ("small.csv", CSV))
    answer = visitor.post(preview_url(upload), {"name": "data", "note": "", "core": "Zen 50"})
    assert answer.status_code == 400
    assert "core" in answer.context["form"].errors
    assert not imports().exists()
