"""What is pasted as a block, or comes in a column of a file, reaches no program that knows directives."""

from __future__ import annotations

import io

from django.test import Client
from django.urls import reverse

from anica_app.models import BasicBlockSet
from inference.models import PortMapping, Run, Upload
from tests.anica.views.test_basic_blocks import FIELDS, MAPPED, tool
from tests.directives import SPELLINGS, watching, written
from tests.views.conftest import isa, mapping, visitor
from tests.work import read_uploads

__all__ = ["isa", "mapping", "tool", "visitor"]


def test_the_page_of_basic_blocks_refuses_directives(visitor: Client, mapping: PortMapping, tmp_path):
    address = reverse("blocks")
    with watching(tmp_path) as watch:
        for spelling in SPELLINGS:
            code = written(spelling, watch.file)
            shown = [visitor.get(address, {"code": code})]
            for press in ("decode", "ask", "measure"):
                fields = {**FIELDS, "code": code, "press": press, "predictors": [MAPPED]}
                shown.append(visitor.post(address, fields))
            for page in shown:
                assert page.status_code == 400, spelling
                assert "Nothing was decoded" in page.text, spelling
                watch.expect_silence(page.text)
    assert not Run.objects.exists()


def test_a_file_with_a_column_of_assembly_is_refused(visitor: Client, mapping: PortMapping, tmp_path):
    with watching(tmp_path) as watch:
        for spelling in SPELLINGS:
            cell = written(spelling, watch.file).replace('"', '""')
            content = io.BytesIO(f'bb,a tool\n4801d8,1\n"{cell}",1.5\n'.encode())
            content.name = "blocks.csv"
            Upload.objects.all().delete()
            told = visitor.post(reverse("upload"), {"files": [content]})
            assert told.status_code < 500, spelling
            upload = Upload.objects.first()
            assert upload is not None, spelling
            read_uploads()
            page = visitor.get(reverse("anica-import", args=[upload.pk]))
            assert page.status_code == 200, spelling
            assert page.context["seen"]["problem_count"] >= 1, spelling
            watch.expect_silence(page.text.replace(upload.file_name, ""))
    assert not BasicBlockSet.objects.exists()
