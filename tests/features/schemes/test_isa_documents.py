"""Instruction sets that are loaded, and the page about Arm boards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from inference.features.library.schemes import pages
from inference.isa import llvm_mc
from inference.models import ISA

GOLDEN = Path(__file__).parents[2] / "formats" / "golden" / "instruction-set.json"


def upload(visitor: Client, content: bytes):
    return visitor.post(reverse("isa-load"), {"document": SimpleUploadedFile("set.json", content)})


def test_a_document_is_loaded_and_its_schemes_shown(visitor: Client) -> None:
    assert visitor.get(reverse("isa-load")).status_code == 200
    answer = upload(visitor, GOLDEN.read_bytes())
    isa = ISA.objects.get(name="RV64")
    assert answer.url == reverse("isa", args=[isa.pk])
    assert "changes the control flow" in visitor.get(answer.url).text


def test_what_is_wrong_with_a_document_is_said_and_nothing_loaded(
    visitor: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = ISA.objects.count()
    content = json.dumps(json.loads(GOLDEN.read_text()) | {"operands": {}}).encode()
    answer = upload(visitor, content)
    assert answer.status_code == 400
    assert "scheme 1: the operand &#x27;GPR[64]&#x27; is not described" in answer.text
    monkeypatch.setattr(pages, "BYTES_AT_ONCE", 100)
    assert "manage.py load-isa FILE" in upload(visitor, content).text
    assert visitor.post(reverse("isa-load")).status_code == 400
    assert ISA.objects.count() == before


@pytest.mark.parametrize(
    ("program", "said"), [(None, "is not installed"), ("/usr/bin/llvm-mc-99", "llvm-mc-99")]
)
def test_the_page_about_arm_boards_tells_what_this_site_has(
    visitor: Client, monkeypatch: pytest.MonkeyPatch, program: str | None, said: str
) -> None:
    monkeypatch.setattr(llvm_mc, "program", lambda: program)
    answer = visitor.get(reverse("machines-arm"))
    assert said in answer.text
    assert reverse("machines-arm") in visitor.get(reverse("machine-add")).text
