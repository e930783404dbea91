"""Rows with texts from anywhere, and every file that pages and the API make of them.

Each file is compared with the one of rows with harmless texts: see `tests.hostile_texts`.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

from django.apps import apps
from django.contrib.auth.models import User
from django.db import models
from django.test import Client

from inference.models import PortMapping, Run
from inference.web.api.document import FILE
from tests.api.test_operations import OPERATIONS, filled, query
from tests.hostile.test_texts_on_pages import opened, pages_about, spoil
from tests.hostile_texts import (
    HARMLESS,
    MARK,
    Shape,
    shape_of_csv,
    shape_of_html,
    shape_of_json,
    shape_of_lines,
    shape_of_markdown,
    shape_of_value,
    shape_of_xml,
    shape_of_yaml,
)
from tests.rows.programs import Program

FOREIGN_FILES = {"get_campaign_file"}
"""What came with a campaign, as it was."""
SPOILED_KEYS = {
    *("name", "tool", "version", "head", "doubts", "evidence", "command", "cpu", "detail", "program"),
}
"""Keys in columns of JSON whose texts are from elsewhere, and of no effect."""
OWN_NAMES = {"MeasuredFrontEnd"}
"""Models in whose columns of JSON names are the program's own."""
TEXTS = (
    f"x\r{MARK}\r=1+1,\r\n+{MARK}\n@",
    f'\u2028{MARK}\x85- {MARK}: "x\n---\n',
    f"]]><script>{MARK}</script>\n-->\x00",
    f"\n```\n# {MARK}\n[x](y:{MARK}) `$(z)`'",
    f"LLVM-MCA-BEGIN {MARK}\n--- a/x\n+++ b/x\x1b",
)
"""Short enough for every column, so that a number behind them tells rows apart."""


def spoil_everything(text: str) -> None:
    """Put the text into the fields that people and files fill, and into texts inside columns of JSON."""
    assert spoil(text) > 10
    for model in apps.get_models():
        fields = [
            field
            for field in model._meta.get_fields()
            if isinstance(field, models.JSONField) and model._meta.app_label in ("inference", "anica_app")
        ]
        if not fields or model.__name__ in OWN_NAMES:
            continue
        for row in model._default_manager.all():
            changed = {field.name: spoiled(getattr(row, field.name), text) for field in fields}
            model._default_manager.filter(pk=row.pk).update(**changed)
    for mapping in PortMapping.objects.all():
        PortMapping.objects.filter(pk=mapping.pk).update(
            ports=[f"{text}{number}" for number, _ in enumerate(mapping.ports)]
        )


def spoiled(value: Any, text: str, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: spoiled(entry, text, name) for name, entry in value.items()}
    if isinstance(value, list):
        return [spoiled(entry, text, key) for entry in value]
    return text if isinstance(value, str) and key in SPOILED_KEYS else value


def answers(
    program: Program, client: Client, world: dict[str, int], pages: Iterable[str]
) -> Iterator[tuple[str, Any]]:
    """(where it is from, answer) of each operation that answers with a file, and of the pages."""
    for name, (method, path, operation) in OPERATIONS.items():
        if FILE not in operation or name in FOREIGN_FILES:
            continue
        if method == "POST":
            items = [f"mapping:{world['mapping_id']}", f"core:{world['core_model_id']}"]
            items += [f"comparison:{world['comparison_id']}", f"campaign:{world['campaign_id']}"]
            assert name == "publish_site", "say what is to be asked of it"
            yield name, program.raw(method, path, {"items": items})
            continue
        chosen = [
            [(each["name"], one) for one in each["schema"]["enum"]]
            for each in operation.get("parameters", ())
            if each["in"] == "path" and each["schema"].get("enum")
        ]
        for choice in product(*chosen):
            here = path
            for parameter, one in choice:
                here = here.replace(f"{{{parameter}}}", one)
            here = here.replace("{check_id}", str(Run.objects.get(kind="check-model").pk))
            yield f"{name} {dict(choice)}", program.raw("GET", filled(here, world) + query(name, world))
    yield from opened(client, pages)


def shapes(program: Program, client: Client, world: dict[str, int], pages: Iterable[str]) -> dict[str, Shape]:
    """{where it is from: what it consists of} of each answer that is a file."""
    found = {}
    for where, answer in answers(program, client, world, pages):
        kind = answer["Content-Type"].partition(";")[0] if answer.status_code == 200 else ""
        is_file = "attachment" in answer.get("Content-Disposition", "")
        if kind and (is_file or kind not in ("text/html", "application/json")):
            content = b"".join(answer) if answer.streaming else answer.content
            found[where] = shape_of_file(kind, content)
            if "audit" in where:  # each export adds a row
                found[where] = {str(part) for part in found[where][1]}
    return found


def shape_of_file(kind: str, content: bytes) -> Shape:
    if kind == "application/zip":
        return shape_of_zip(content)
    return READERS[kind](content.decode())


READERS = {
    "text/csv": shape_of_csv,
    "application/json": shape_of_json,
    "application/xml": shape_of_xml,
    "image/svg+xml": shape_of_xml,
    "application/yaml": shape_of_yaml,
    "text/markdown": shape_of_markdown,
    "text/plain": shape_of_lines,
    "text/html": shape_of_html,
    "text/x-python": lambda text: text,
    "application/octet-stream": lambda text: text,  # what came with a campaign, as it was
}
ENDINGS = {
    "csv": "text/csv",
    "json": "application/json",
    "svg": "image/svg+xml",
    "html": "text/html",
    "jsonl": "application/json",
}


def shape_of_zip(content: bytes) -> Shape:
    """Of its texts; lines of JSON one by one."""
    found: list[Shape] = []
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in sorted(archive.namelist()):
            ending = name.rpartition(".")[2]
            inner = archive.read(name)
            if ending == "jsonl":
                found.append([shape_of_value(json.loads(line)) for line in inner.splitlines()])
            elif ending in ENDINGS:
                found.append(shape_of_file(ENDINGS[ending], inner))
    return sorted(found, key=repr)  # folders are called by the texts


def test_a_text_is_nothing_but_a_text_in_every_file(
    program: Program, client: Client, administrator: User, world: dict[str, int]
) -> None:
    client.force_login(administrator)
    Run.objects.filter(pk=world["run_id"]).update(state="done")  # only such a run has an archive
    spoil_everything(HARMLESS)
    pages = pages_about(world["mapping_id"])
    expected = shapes(program, client, world, pages)
    kinds = {where.partition(" ")[0] for where in expected}
    lacking = [
        name for name, (_, _, operation) in OPERATIONS.items() if FILE in operation and name not in kinds
    ]
    assert set(lacking) <= FOREIGN_FILES, "these operations gave no file"
    different = set()
    for number, text in enumerate(TEXTS):
        spoil_everything(text)
        # Files are made of each text; a page that is none must not break, and has its turn with one of them.
        some = [page for k, page in enumerate(pages) if page in expected or k % len(TEXTS) == number]
        made = shapes(program, client, world, some)
        assert set(made) == set(expected), ascii(text)
        different |= {(where, ascii(text)) for where, shape in made.items() if shape != expected[where]}
    assert not different, sorted({where for where, _ in different})
