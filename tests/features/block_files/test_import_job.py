"""Tables of basic blocks come in through a durable run, as their preview showed them."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from inference.features.library.uploads.query import waiting_uploads
from inference.models import BasicBlockSet, Run, Upload, UploadPart
from inference.runs import lifecycle
from inference.runs.errors import ConfigError
from inference.runs.kinds import job
from tests.work import read_uploads, work_off

pytestmark = pytest.mark.django_db

BLOCKS = b"bb,mca\n4801d8,1.0\nzz,1.0\n4829d8,-1\n"


def uploaded(content: bytes, name: str = "blocks.csv") -> Upload:
    return Upload.objects.create(file_name=name, beginning=content, sha256="0" * 64)


def done(upload: Upload, **config: Any) -> Run:
    run = lifecycle.submit("import-anica", {"upload": upload.pk, **config}, f"import {Run.objects.count()}")
    return work_off(run)


def test_a_set_with_a_broken_row_is_refused_or_comes_in_without_it() -> None:
    upload = uploaded(BLOCKS)
    refused = done(upload)
    assert refused.state == "failed"
    assert "row 3, column bb" in refused.error
    assert not BasicBlockSet.objects.exists()
    run = done(upload, broken="skip", name="mine", note="why")
    assert run.state == "done", run.error
    made = BasicBlockSet.objects.get()
    assert (made.name, made.note, made.size, made.run) == ("mine", "why", 2, run)
    assert run.result == {"block_set": made.pk, "name": "mine", "rows": 2}
    assert not Upload.objects.exists()


def test_what_the_numbers_mean_can_be_told() -> None:
    run = done(uploaded(b"4801d8,126.00\n"), numbers="cycles")
    assert run.state == "done", run.error
    assert BasicBlockSet.objects.get().blocks.get().predictions.get().cycles == 126.0


def test_an_upload_is_imported_by_one_run_at_a_time() -> None:
    upload = uploaded(BLOCKS)
    complete = job("import-anica").check({"upload": upload.pk})  # as of somebody who submits at the same time
    lifecycle.submit("import-anica", {"upload": upload.pk}, "first")
    with pytest.raises(ConfigError, match="imported already, by the run 'first'"):
        lifecycle.submit("import-anica", {"upload": upload.pk}, "second")
    late = Run.objects.create(kind="import-anica", config=complete, name="third")
    with pytest.raises(ConfigError, match="imported already, by the run 'first'"):
        job("import-anica").submitted(late)


@pytest.mark.parametrize("field", ["name", "note", "bounds"])
def test_what_is_no_text_where_one_belongs_is_refused(field: str) -> None:
    upload = uploaded(BLOCKS)
    with pytest.raises(ConfigError, match=f"{field} must be a text, not 5"):
        lifecycle.submit("import-anica", {"upload": upload.pk, field: 5}, "import")


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"broken": "mend"}, "broken"),
        ({"numbers": "seconds"}, "numbers"),
        ({"issue_width": 0}, "issue_width"),
        ({"upload": 77}, "no uploaded file"),
        ({"colour": 1}, "no field 'colour'"),
    ],
)
def test_a_description_that_makes_no_sense_is_refused(config: dict[str, Any], says: str) -> None:
    upload = uploaded(BLOCKS)
    with pytest.raises(ConfigError, match=says):
        lifecycle.submit("import-anica", {"upload": upload.pk, **config}, "import")


def test_each_column_may_have_numbers_of_its_own(client: Client, administrator: Any) -> None:
    upload = uploaded(b"bb,one,two,ran\n4801d8,126.0,1.5,0.25\n")
    run = done(upload, numbers=["hundredths", "", "weight"], name="mixed")
    assert run.state == "done", run.error
    made = BasicBlockSet.objects.get()
    told = dict(made.blocks.get().predictions.values_list("column__name", "cycles"))
    assert (told, made.blocks.get().weight) == ({"one": 1.26, "two": 1.5}, 0.25)
    client.force_login(administrator)
    page = client.get(reverse("run", args=[run.pk])).content.decode()
    assert "hundredths, detected, weight" in page
    assert reverse("block-set", args=[made.pk]) in page
    for wrong in (["miles"], 7):
        with pytest.raises(ConfigError, match="numbers"):
            done(uploaded(BLOCKS, "other.csv"), numbers=wrong)


def test_a_refused_import_leads_back_to_the_choice(client: Client, administrator: Any) -> None:
    upload = uploaded(BLOCKS)
    run = done(upload)
    client.force_login(administrator)
    page = client.get(reverse("run", args=[run.pk])).content.decode()
    assert "row 3, column bb" in page
    assert reverse("upload-preview", args=[upload.pk]) in page


def test_an_upload_is_previewed_and_imported(client: Client, administrator: Any) -> None:
    client.force_login(administrator)
    upload = uploaded(BLOCKS)
    read_uploads()
    address = reverse("anica-import", args=[upload.pk])
    assert client.get(reverse("upload-preview", args=[upload.pk])).url == address  # type: ignore[attr-defined]
    page = client.get(address).content.decode()
    assert "1 row" in page
    assert "&#x27;zz&#x27;" in page
    answer = client.post(address, {"name": "mine", "broken": "skip"})
    assert answer.status_code == 302
    run = Run.objects.get(kind="import-anica")
    assert run.config["broken"] == "skip"
    assert client.get(reverse("run", args=[run.pk])).status_code == 200


@pytest.mark.parametrize("part", [7, 17, 1000])
def test_a_large_file_is_stored_and_read_in_parts(
    part: int, client: Client, administrator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(UploadPart, "SIZE", part)
    client.force_login(administrator)
    content = b"bb,mca\n" + b"".join(b"4883c0%02x,1.5\n" % number for number in range(1, 21))
    client.post(reverse("upload"), {"files": SimpleUploadedFile("blocks.csv", content)})
    upload = Upload.objects.get()
    assert len(bytes(upload.beginning)) == min(part, len(content))
    assert upload.content == content
    assert vars(waiting_uploads().get())["size"] == len(content)
    with upload.open() as file:
        assert file.seek(-5, 2) == len(content) - 5
        assert file.read() == content[-5:]
        assert file.seek(3) == 3
        assert file.read(30) == content[3:33]
    read_uploads()
    run = done(upload, name="large")
    assert run.state == "done", run.error
    assert BasicBlockSet.objects.get().size == 20
    assert not UploadPart.objects.exists()
