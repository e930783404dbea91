"""Files that cannot be imported as they are: what is said of them, and what can be left out."""

from __future__ import annotations

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from inference.models import ISA, ExperimentSet, PortMapping, Upload
from tests.features.uploads.sent_files import BROKEN, CSV, imports, preview_url, send, shown
from tests.rows.library import ADD, IMUL
from tests.work import work_off


def test_unknown_names_are_listed_with_the_nearest_and_can_found_an_instruction_set(
    visitor: Client, isa: ISA
) -> None:
    text = f'experiment,cycles\n"{ADD}",1\n"{IMUL}",1\n"imull GPR[64]:RW, GPR[64]:R",1\n'
    (upload,) = send(visitor, ("odd.csv", text.encode()))
    answer = visitor.get(preview_url(upload))
    assert answer.context["form"] is None
    (problem,) = answer.context["seen"]["problems"]
    assert problem["row"] == 4
    assert IMUL in problem["right"]
    assert visitor.post(preview_url(upload), {"name": "odd", "note": ""}).status_code == 400
    assert not imports().exists()

    fresh = shown(visitor, upload, isa="new")
    assert fresh.context["form"].initial["new_isa"] == "odd"
    taken = visitor.post(preview_url(upload), {"name": "odd", "new_isa": isa.name, "note": ""})
    assert taken.status_code == 400
    assert not imports().exists()
    visitor.post(preview_url(upload), {"name": "odd", "new_isa": "Odd64", "note": ""})
    config = imports().get().config
    assert (config["isa"], config["new_isa"]) == ("", "Odd64")


BAD_FILES = {
    "empty": b"",
    "binary": bytes(range(256)) * 50,
    "utf-16": CSV.decode().encode("utf-16"),
    "latin-1": "experiment,cycles,note\nadd,1,größer\n".encode("latin-1"),
    "bad header": b"a,b,c\n1,2,3\n",
    "text for cycles": f'experiment,cycles\n"{ADD}",many\n'.encode(),
    "NaN": f'experiment,cycles\n"{ADD}",NaN\n'.encode(),
    "negative": f'experiment,cycles\n"{ADD}",-1\n'.encode(),
    "thousands of columns": b"experiment,cycles," + b",".join(b"c%d" % n for n in range(5000)) + b"\n",
    "unclosed quote": b'experiment,cycles\n"add,1\n',
    "broken JSON": b'{"kind": "ExperimentList", "exps": [',
    "deep JSON": b"[" * 100_000,
    "JSON of no known kind": b'{"kind": "Other"}',
    "JSON with odd values": b'{"kind": "ExperimentList", "exps": [1, {"iseq": {}, "result": []}, null]}',
    "huge number": f'experiment,cycles\n"{ADD}",1e999\n"999999999999*{ADD}",1\n'.encode(),
}


@pytest.mark.parametrize("content", BAD_FILES.values(), ids=BAD_FILES.keys())
def test_a_bad_file_gets_a_list_of_problems_and_no_import(visitor: Client, isa: ISA, content: bytes) -> None:
    upload = Upload.objects.create(file_name="bad <b>.csv", beginning=content, sha256="")
    assert "has not been read yet" in shown(visitor, upload).text
    for choices in ({"isa": ""}, {"isa": "new"}, {"unit": "ipc"}):
        answer = shown(visitor, upload, **choices)
        assert answer.status_code == 200
        assert answer.context["seen"]["problem_count"] > 0
        assert "What would be right" in answer.text
        assert "bad <b>" not in answer.text
    assert visitor.post(preview_url(upload), {"name": "x", "note": ""}).status_code == 400
    assert not imports().exists()


@pytest.mark.parametrize(
    ("choices", "status"),
    [
        ({"isa": "4711"}, 404),
        ({"isa": "x"}, 400),
        ({"isa": "\0"}, 400),
        ({"ports": "9" * 30}, 400),
        ({"taken": "no arrow"}, 400),
        ({"rejects": "some"}, 400),
    ],
)
def test_a_strange_choice_is_a_bad_request(
    visitor: Client, isa: ISA, choices: dict[str, str], status: int
) -> None:
    (upload,) = send(visitor, ("small.csv", CSV))
    assert visitor.post(reverse("upload-read", args=[upload.pk]), choices).status_code == status


@pytest.mark.parametrize(
    "choices", [{"unit": "seconds"}, {"broken": "mend"}, {"rejects": "99"}, {"names": "99"}]
)
def test_a_file_is_not_read_in_a_way_that_there_is_not(
    visitor: Client, isa: ISA, choices: dict[str, str]
) -> None:
    (upload,) = send(visitor, ("small.csv", CSV))
    answer = visitor.post(reverse("upload-read", args=[upload.pk]), choices, follow=True)
    assert "small.csv was not read again" in answer.text
    assert answer.context["seen"]["rows"] == 2


def test_texts_from_a_file_are_escaped(visitor: Client, isa: ISA) -> None:
    evil = "<script>alert(1)</script>"
    text = f'experiment,cycles,note,tool:{evil}\n"{ADD}",1,{evil},2\n"{evil} x",1,,\n'
    (upload,) = send(visitor, (f"{evil}.csv".replace("/", ""), text.encode()))
    for chosen in ("", "new"):
        page = shown(visitor, upload, isa=chosen).text
        assert "alert(1)" in page
        assert "<script>alert" not in page
    assert "<script>alert" not in visitor.get(reverse("upload")).text


def test_a_list_of_rejects_alone_brings_nothing(visitor: Client, isa: ISA) -> None:
    (found,) = send(visitor, ("run1.json", json.dumps([[ADD, "why"]]).encode()))
    assert "brings nothing by itself" in visitor.get(preview_url(found)).text


def test_what_is_no_xml_is_refused_before_anything_is_stored(visitor: Client, isa: ISA) -> None:
    files = [SimpleUploadedFile("a.csv", CSV), SimpleUploadedFile("b.xml", b"<root><instruction></root>")]
    answer = visitor.post(reverse("upload"), {"files": files})
    assert answer.status_code == 400
    assert "b.xml, line 1, column 21: this is not well-formed XML" in answer.text
    assert not Upload.objects.exists()


def test_broken_rows_stop_an_import_unless_their_owner_leaves_them_out(visitor: Client, isa: ISA) -> None:
    (upload,) = send(visitor, ("broken.csv", BROKEN))
    stopped = visitor.get(preview_url(upload))
    assert stopped.context["form"] is None
    assert "Skip the 2 rows with problems" in stopped.text
    left = shown(visitor, upload, broken="leave out")
    assert "2 rows with problems are skipped, 2 are imported" in left.text
    visitor.post(preview_url(upload), {"name": "rest", "note": ""})
    run = imports().get()
    assert run.config["broken"] == "leave out"
    work_off(run)
    made = ExperimentSet.objects.get(name="rest")
    assert (made.measurements.count(), made.making["rows_left_out"]) == (2, 2)
    page = visitor.get(reverse("set", args=[made.pk])).text
    assert "2 rows of the file were left out" in page
    assert "row 3, column cycles" in page


def test_unknown_names_are_taken_one_by_one_or_all(visitor: Client, isa: ISA) -> None:
    (upload,) = send(visitor, ("broken.csv", BROKEN))
    (offer,) = shown(visitor, upload).context["seen"]["offers"]
    assert offer["choices"][0] == IMUL
    value = f"{offer['name']} → {IMUL}"
    taken = shown(visitor, upload, taken=value, broken="leave out")
    assert taken.context["seen"]["taken"] == {offer["name"]: IMUL}
    assert taken.context["seen"]["left"] == 3
    assert f'value="{value}" selected' in taken.text.replace("&#x27;", "'")
    every = shown(visitor, upload, take="nearest", broken="leave out")
    assert every.context["seen"]["taken"] == taken.context["seen"]["taken"]
    assert not shown(visitor, upload, take="none", taken=value).context["seen"]["taken"]


def test_a_file_that_cannot_be_read_at_all_says_why(visitor: Client, db: None) -> None:
    (upload,) = send(visitor, ("a.csv", CSV))
    page = shown(visitor, upload).text
    assert "There is no instruction set yet" in page
    assert "Read the file again" in page


def test_numbers_that_are_hard_to_believe_are_shown_before_the_import(
    visitor: Client, isa: ISA, mapping: PortMapping
) -> None:
    content = f'experiment,cycles\n"40*{ADD}",0.1\n"4*{IMUL}",1\n'.encode()
    (upload,) = send(visitor, ("odd.csv", content))
    page = shown(visitor, upload, ports=mapping.pk)
    labels = [kind["label"] for kind in page.context["seen"]["doubts"]]
    assert labels == [
        "with more than 12 instructions per cycle",
        "quicker than the ports of the mapping allow",
    ]
    assert "400.0 instructions per cycle" in page.text
    assert "the ports need 4.00 cycles" in page.text
    assert page.context["form"] is not None
