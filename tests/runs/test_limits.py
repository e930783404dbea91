"""How much a user may have at a time: runs that are not over, and files that wait."""

from __future__ import annotations

import io
from typing import BinaryIO

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.urls import reverse

from inference.formats import uops_info_xml
from inference.formats.uops_info_xml import condense
from inference.models import ExperimentSet, Run, Upload
from inference.runs import lifecycle
from inference.runs.errors import LimitError
from tests.rows.library import experiment_set, isa, visitor

__all__ = ["experiment_set", "isa", "visitor"]


@pytest.fixture
def config(experiment_set: ExperimentSet) -> dict:
    return {"algorithm": "pmevo", "source": {"datasets": [experiment_set.pk]}}


def test_a_user_can_have_so_many_unfinished_runs(config: dict, administrator: User, settings):
    settings.RUNS_PER_USER = 2
    first = lifecycle.submit("infer", config, "one", administrator)
    lifecycle.submit("infer", config, "two", administrator)
    with pytest.raises(LimitError, match="2 unfinished runs"):
        lifecycle.submit("infer", config, "three", administrator)
    assert Run.objects.count() == 2
    lifecycle.submit("infer", config, "another user's", User.objects.create_user("ada"))
    lifecycle.submit("infer", config, "the shell's")
    lifecycle.cancel(first)
    lifecycle.submit("infer", config, "three", administrator)


def test_no_limit_is_none(config: dict, administrator: User, settings):
    settings.RUNS_PER_USER = 0
    for number in range(3):
        lifecycle.submit("infer", config, str(number), administrator)


def test_the_page_says_what_is_the_matter(visitor: Client, experiment_set: ExperimentSet, settings):
    settings.RUNS_PER_USER = 1
    address = reverse("set-learn", args=[experiment_set.pk])
    visitor.post(address)
    assert "1 unfinished run" in visitor.post(address, follow=True).text
    assert Run.objects.count() == 1


def upload(visitor: Client, *contents: bytes):
    files = [SimpleUploadedFile(f"{number}.csv", content) for number, content in enumerate(contents)]
    return visitor.post(reverse("upload"), {"files": files})


def test_a_user_can_have_so_many_files_that_wait(visitor: Client, settings):
    settings.UPLOADS_PER_USER = 2
    page = upload(visitor, b"a", b"b", b"c")
    assert page.status_code == 400
    assert "2 waiting files" in page.text
    assert not Upload.objects.exists()
    assert upload(visitor, b"a", b"b").status_code == 302
    assert upload(visitor, b"a").status_code == 302  # the same file, which waits already
    assert upload(visitor, b"c").status_code == 400


def test_and_so_many_bytes(visitor: Client, settings):
    settings.UPLOADED_BYTES_PER_USER = 2**20
    assert upload(visitor, b"a" * 2**19).status_code == 302
    page = upload(visitor, b"b" * (2**19 + 1))
    assert "maximum of 1 MiB" in page.text
    assert Upload.objects.count() == 1


def test_what_no_view_catches_has_a_page(visitor: Client, monkeypatch):
    def refuse(*_: object) -> None:
        raise LimitError("you have too much")

    monkeypatch.setattr("inference.features.running.runs.pages.list_page", refuse)
    page = visitor.get(reverse("runs"))
    assert page.status_code == 429
    assert "You have too much." in page.text


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("address", ["/sets/upload/", "/api/v1/uploads"])
def test_nobody_waits_while_a_file_is_read(visitor: Client, address: str, monkeypatch, settings):
    """On SQLite whoever has begun to write is the only one who can."""
    seen: list[bool] = []

    def slowly(file: BinaryIO, file_name: str, *progress: object) -> bytes:
        seen.append(connection.in_atomic_block)
        return condense(file, file_name)

    monkeypatch.setattr(uops_info_xml, "condense", slowly)
    measured = '<architecture name="X"><measurement ports="1*p0"/></architecture>'
    table = f'<root><instruction asm="NOP" string="NOP">{measured}</instruction></root>'.encode()
    files = [SimpleUploadedFile("a.xml", table), SimpleUploadedFile("b.csv", b"c")]
    answer = visitor.post(address, {"files": files}, headers={"X-PMWeb": "1"})
    assert answer.status_code in {201, 302}, answer.text
    assert seen == [False]
    stored = dict(Upload.objects.values_list("file_name", "beginning"))
    assert bytes(stored["a.xml"]) == condense(io.BytesIO(table), "a.xml")
    assert bytes(stored["b.csv"]) == b"c"
