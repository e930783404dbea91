"""Names and notes from anywhere: HTML is shown as text on every page, formulas are text in every table."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import models
from django.test import Client
from django.urls import reverse

from inference.formats.provenance import head_of
from inference.formats.quoting import safe_comment
from tests.pmweb.test_permissions import ADDRESSES, NOWHERE

HTML = "<script>evil()</script>\"'><img src=x onerror=evil()>{{ 7 }}"
FORMULA = f'=1+1,=1|"{HTML}'
"""A formula, and another behind the comma, with HTML in it: pages and tables are read in one go."""

DANGEROUS = ("=", "+", "@", "\t", "\r")
SIGNS = re.compile(r"[=+\-@]")
FIELDS = ("name", "note", "source", "file_name", "cpu", "label", "remark", "detail", "category", "extension")
UNNAMED = {"ISA": "name"}
"""Fields by which the program itself finds a row."""


def spoil(text: str) -> int:
    """Put the text into every field that a person or a file fills; how many rows have one now."""
    rows = 0
    for model in apps.get_models():
        if model._meta.app_label not in ("inference", "anica_app"):
            continue
        for field in model._meta.get_fields():
            if not isinstance(field, (models.CharField, models.TextField)) or field.name not in FIELDS:
                continue
            if field.choices or UNNAMED.get(model.__name__) == field.name:
                continue
            for number, row in enumerate(model._default_manager.all()):
                fitting = f"{text} {number}"[: field.max_length] if field.max_length else f"{text} {number}"
                model._default_manager.filter(pk=row.pk).update(**{field.name: fitting})
                rows += 1
    return rows


def pages_about(pk: int) -> list[str]:
    """Addresses of all pages about the rows of this number, and of those about none."""
    return [
        path.replace(NOWHERE, str(pk))
        for name, path in ADDRESSES
        if not path.startswith(("/static", "/api/", "/accounts/log"))
        and "out" not in name
        and (pk <= 1 or NOWHERE in path)
    ]


def opened(client: Client, pages: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """(address, answer) of each page."""
    for page in pages:
        answer = client.get(page)
        assert answer.status_code < 500, page
        yield page, answer


def test_no_page_takes_a_text_for_html_and_no_table_for_a_formula(
    client: Client, administrator: User, world: dict[str, int]
) -> None:
    assert spoil(FORMULA) > 10
    client.force_login(administrator)
    shown = tables = 0
    for pk in sorted({world["set_id"], world["mapping_id"], world["run_id"], world["matrix_id"]}):
        for where, answer in opened(client, pages_about(pk)):
            kind = answer["Content-Type"] if answer.status_code == 200 else ""
            if kind.startswith("text/html"):
                text = answer.content.decode()
                assert "<script>evil" not in text, where
                assert "<img src=x" not in text, where
                shown += "&lt;script&gt;evil" in text
            elif kind.startswith("text/csv"):
                content = b"".join(answer) if answer.streaming else answer.content
                check_cells(where, content.decode())
                tables += 1
    # How many show one depends on which rows share a number, and so on the tests that ran before.
    assert shown > 10, "the pages show what was put there"
    assert tables > 2


def check_cells(where: str, table: str) -> None:
    for row in csv.reader(io.StringIO(table)):
        for cell in row:
            assert not cell.lstrip(" ").startswith(DANGEROUS), (where, cell)
            assert not (cell.startswith("-") and not _is_number(cell)), (where, cell)


def test_a_name_with_commas_above_a_table_is_no_formula() -> None:
    head = head_of(run='x,=1+1, +2,"@y",\t-3;=z', name="a, b - c")
    for separator in ",;\t":
        for row in csv.reader(io.StringIO(head), delimiter=separator):
            assert not any(SIGNS.match(cell.lstrip()) for cell in row[1:]), row
    assert "a, b - c" in head, "what is harmless stays as it is"
    assert safe_comment("# x") == "# x"


@pytest.mark.parametrize("name", ["upload", "sets", "runs"])
def test_file_names_are_texts_as_well(name: str, client: Client, administrator: User, upload: object) -> None:
    client.force_login(administrator)
    spoil(HTML)
    assert "<script>evil" not in client.get(reverse(name)).content.decode()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
