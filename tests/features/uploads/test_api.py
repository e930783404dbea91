"""Files by the API: kept, looked at, imported by a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from inference.models import ISA, ExperimentSet, Upload
from tests.features.runs.test_api import done
from tests.rows.programs import ADD, Program

GOOD = f'experiment,cycles\n"{ADD}",0.25\n"2*{ADD}",0.5\n'
BAD = f'experiment,cycles\n"{ADD}",fast\n"ad GPR[64]",1\n'


def send(program: Program, *files: tuple[str, str]) -> Any:
    """Upload files."""
    found = [SimpleUploadedFile(name, content.encode()) for name, content in files]
    return program.client.post(
        "/api/v1/uploads", {"files": found}, headers={"Authorization": f"Bearer {program.token}"}
    )


def test_a_file_is_kept_previewed_and_imported(program: Program, isa: ISA) -> None:
    (kept,) = send(program, ("pairs.csv", GOOD)).json()
    seen = program.get(f"/uploads/{kept['id']}")
    assert (seen["acceptable"], seen["rows"], seen["name"]) == (True, 2, "pairs")
    assert seen["isa"]["name"] == "x86-64"
    again = send(program, ("pairs.csv", GOOD)).json()
    assert [each["id"] for each in again] == [kept["id"]], "the same file is not kept twice"
    run = program("POST", "/runs", {"kind": "import", "config": {"upload": kept["id"], "name": "mine"}})[1]
    done(run["id"])
    made = ExperimentSet.objects.get(name="mine")
    assert program.get(f"/runs/{run['id']}")["result"]["experiment_set"] == made.pk
    rows = program.get(f"/sets/{made.pk}/measurements?sort=-cycles&limit=1")
    assert rows["items"][0]["terms"] == {ADD: 2}
    assert (rows["total"], rows["previous"]) == (2, None)
    (rest,) = program.get(f"/sets/{made.pk}/measurements?sort=-cycles&limit=1&cursor={rows['next']}")["items"]
    assert rest["cycles"] == 0.25
    exported = program.raw("GET", f"/sets/{made.pk}/exports/csv")
    assert exported["Content-Disposition"] == 'attachment; filename="mine.csv"'
    assert f'"2*{ADD}",0.5,cycles' in exported.content.decode()


def test_previews_are_for_whoever_may_import(
    program: Program, reader: Program, isa: ISA, settings: Any
) -> None:
    """As on the pages: to parse a file is work, which a reader could ask for again and again."""
    settings.PUBLIC_READING = True
    (kept,) = send(program, ("pairs.csv", GOOD)).json()
    assert reader("GET", f"/uploads/{kept['id']}")[0] == 403
    assert Client().get(f"/api/v1/uploads/{kept['id']}").status_code == 403
    assert program.get(f"/uploads/{kept['id']}")["acceptable"]


def test_a_preview_tells_every_problem_with_its_place(program: Program, isa: ISA) -> None:
    (kept,) = send(program, ("bad.csv", BAD)).json()
    seen = program.get(f"/uploads/{kept['id']}")
    assert not seen["acceptable"]
    assert [(each["row"], each["column"]) for each in seen["problems"]] == [(2, "cycles"), (3, "experiment")]
    assert program("DELETE", f"/uploads/{kept['id']}")[0] == 204
    assert not Upload.objects.exists()


def test_what_is_no_upload_is_a_problem(program: Program, isa: ISA) -> None:
    headers = {"Authorization": f"Bearer {program.token}"}
    for body in ({}, {"files": "text"}):
        response = program.client.post("/api/v1/uploads", body, headers=headers)
        assert response.status_code == 422
        assert response.json()["problems"][0]["where"] == "file files"


def test_latencies_of_a_machine_model_are_imported(program: Program, isa: ISA) -> None:
    golden = Path(__file__).parents[2] / "formats" / "golden" / "osaca.yml"
    (kept,) = send(program, ("toy.yml", golden.read_text())).json()
    seen = program.get(f"/uploads/{kept['id']}?microarchitecture=latencies")
    assert (seen["makes"], seen["acceptable"]) == ("latency set", True)
    assert seen["microarchitectures"] == ["ports", "latencies"]
    config = {"upload": kept["id"], "name": "told", "microarchitecture": "latencies"}
    run = program("POST", "/runs", {"kind": "import", "config": config})[1]
    done(run["id"])
    (made,) = program.get("/latencies")["items"]
    assert program.get(f"/runs/{run['id']}")["result"]["latency_set"] == made["id"]
    assert made["machine"]["name"] == "Toy core"
