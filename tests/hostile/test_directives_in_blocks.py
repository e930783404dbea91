"""What is pasted as a block, or comes in a column of a file, reaches no program that knows directives."""

from __future__ import annotations

import io
from itertools import cycle

from django.test import Client
from django.urls import reverse

from inference.models import BasicBlockSet, PortMapping, Run, Upload
from tests.directives import SPELLINGS, watching, written
from tests.features.blocks.test_pages import FIELDS, MAPPED, tool
from tests.rows.library import isa, mapping, visitor
from tests.work import read_uploads

__all__ = ["isa", "mapping", "tool", "visitor"]


def test_the_page_of_basic_blocks_refuses_directives(visitor: Client, mapping: PortMapping, tmp_path):
    """By a link and by each button in turn: all read by what `tests.isa` gives every spelling."""
    address = reverse("blocks")
    with watching(tmp_path) as watch:
        for spelling, press in zip(SPELLINGS, cycle((None, "decode", "ask", "measure")), strict=False):
            code = written(spelling, watch.file)
            fields = {**FIELDS, "code": code, "press": press, "predictors": [MAPPED]}
            page = (
                visitor.post(address, fields)
                if press
                else visitor.get(address, {"isa": "x86-64", "code": code})
            )
            assert page.status_code == 400, (press, spelling)
            assert "The code was not decoded" in page.text, (press, spelling)
            watch.expect_silence(page.text)
    assert not Run.objects.exists()


def test_a_file_with_a_column_of_assembly_is_refused(visitor: Client, mapping: PortMapping, tmp_path):
    with watching(tmp_path) as watch:
        cells = [written(spelling, watch.file).replace('"', '""') for spelling in SPELLINGS]
        rows = "".join(f'"{cell}",1.5\n' for cell in cells)
        content = io.BytesIO(f"bb,a tool\n4801d8,1\n{rows}".encode())
        content.name = "blocks.csv"
        told = visitor.post(reverse("upload"), {"files": [content]})
        assert told.status_code < 500
        upload = Upload.objects.get()
        read_uploads()
        page = visitor.get(reverse("anica-import", args=[upload.pk]))
        assert page.status_code == 200
        assert page.context["reading"]["problem_count"] == len(SPELLINGS)
        watch.expect_silence(page.text.replace(upload.file_name, ""))
    assert not BasicBlockSet.objects.exists()
