"""Instruction sets from documents in the public format: what becomes of one, and what is wrong in others."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from inference.formats.problems import ExchangeError
from inference.isa import aarch64
from inference.isa.document import InstructionSetError, read_instruction_set
from inference.isa.targets import AARCH64
from inference.models import ISA
from inference.storage.instruction_sets import load_document, load_supplied

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "golden" / "instruction-set.json"
ADD = "add GPR[64]:W, GPR[64]:R, GPR[64]:R"


def changed(**changes: Any) -> bytes:
    return json.dumps({**json.loads(GOLDEN.read_text()), **changes}).encode()


def test_the_golden_document_reads_as_it_says():
    found = read_instruction_set(GOLDEN.read_bytes())
    assert (found.name, len(found.schemes)) == ("RV64", 4)
    add, adds, load, call = found.schemes
    assert [operand.text for operand in add.operands] == ["GPR[64]:W", "GPR[64]:R", "GPR[64]:R"]
    assert (add.mnemonic, add.width, add.starter, add.memory, add.encoding) == ("add", 64, True, "", "A32")
    assert [(one.text, one.implicit, one.registers) for one in adds.operands[3:]] == [
        ("flags:W", True, ("z", "n"))
    ]
    assert (load.memory, call.exclusion) == ("R", "changes the control flow")


def test_the_documentation_shows_the_golden_document():
    assert GOLDEN.read_text().strip() in (ROOT / "docs" / "formats.md").read_text()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "not JSON"),
        (b"[]", "an object is expected"),
        (changed(format="other"), '"format": "pmweb-instruction-set"'),
        (changed(version=3), '"version": 1 or 2'),
        (changed(name=""), "name must be text of 1 to 100"),
        (changed(colour="red"), "unknown field 'colour'"),
        (changed(schemes=[]), "1 to 50,000"),
        (changed(schemes=[{"text": ADD}, {"text": ADD}]), "scheme 2: .* occurs twice"),
        (changed(schemes=[{"text": "add XMM:R"}]), "scheme 1: the operand 'XMM' is not described"),
        (changed(schemes=[{"text": ADD, "starter": 1}]), "scheme 1: starter must be true or false"),
        (changed(schemes=[{"text": ADD, "implicit": "flags"}]), "scheme 1: implicit must be a list"),
        (changed(schemes=[{"text": "x" * 201}]), "scheme 1: text must be text of 1 to 200"),
        (changed(operands={"GPR[64]": {"kind": "register", "width": -1}}), "operand 'GPR.64.': width"),
        (changed(operands={"GPR[64]": {"kind": "thing"}}), "kind must be one of register"),
        (
            changed(schemes=[{"text": ADD, "match": "8b"}]),
            "scheme 1: a word has four or eight hexadecimal digits",
        ),
        (changed(schemes=[{"text": ADD, "fields": ["1 @ 0:5"]}]), "scheme 1: a field is written like"),
        (changed(schemes=[{"text": ADD, "flow": "away"}]), "scheme 1: flow must be one of next, jump"),
        (changed(forms=[{"text": ADD}]), "form 1: .* occurs twice"),
        (changed(forms=[{"text": "sub GPR[64]:W", "scheme": "neg"}]), "form 1: there is no scheme 'neg'"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(content: bytes, message: str):
    with pytest.raises(InstructionSetError, match=message):
        read_instruction_set(content)


KEYS = st.sampled_from(["text", "kind", "implicit", "schemes", "operands", "x"])
SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=9)
JSON = st.recursive(SCALARS, lambda one: st.lists(one, max_size=3) | st.dictionaries(KEYS, one, max_size=3))


@given(JSON)
def test_any_json_is_read_or_refused(part: Any):
    for field in ("name", "operands", "schemes"):
        try:
            read_instruction_set(changed(**{field: part}))
        except InstructionSetError:
            continue


def test_a_document_makes_an_instruction_set_or_brings_one_up_to_date(db: None):
    said = StringIO()
    call_command("load-isa", str(GOLDEN), stdout=said)
    assert said.getvalue() == "RV64: 4 schemes loaded (where it is from)\n"
    before = ISA.objects.get(name="RV64").schemes.get(text=ADD).pk
    again = load_document(changed(schemes=[{"text": ADD, "category": "other"}]))
    assert list(again.schemes.values_list("pk", "category")) == [(before, "other")]


def test_a_document_that_cannot_be_loaded_changes_nothing(db: None, tmp_path: Path):
    with pytest.raises(ExchangeError, match="comes with this software"):
        load_document(changed(name="x86-64"))
    bad = tmp_path / "bad.json"
    bad.write_bytes(changed(schemes=[{"text": "add R"}]))
    for wanted, message in ((str(bad), "'R' is not described"), ("nothing", "nor a readable file")):
        with pytest.raises(CommandError, match=message):
            call_command("load-isa", wanted)
    assert not ISA.objects.exists()


def test_aarch64_is_loaded_once_and_searched_like_x86(db: None):
    isa, changed_it = load_supplied(AARCH64)
    assert (isa.name, changed_it) == (AARCH64, True)
    assert load_supplied(AARCH64) == (isa, False)
    assert isa.schemes.count() == len(aarch64.instruction_set().schemes)
    assert isa.schemes.filter(exclusion="", starter=True, category="multiply").exists()


def test_version_2_has_encodings_and_further_forms():
    content = changed(
        version=2,
        schemes=[
            {"text": ADD, "match": "8b000000", "mask": "ffe0fc00", "fields": ["1: zero 5 @ 0:5"]},
            {"text": "ecall", "match": "d4000001", "mask": "ffffffff", "flow": "call"},
        ],
        forms=[
            {"text": "mov GPR[64]:W, GPR[64]:R", "scheme": ADD, "exclusion": "is another spelling"},
            {"text": "ebreak", "exclusion": "stops the program", "match": "d4200000", "mask": "ffffffff"},
        ],
    )
    instructions = read_instruction_set(content)
    assert [scheme.text for scheme in instructions.schemes] == [ADD, "ecall"]
    assert [(form.form.text, form.instance_of) for form in instructions.further] == [
        ("mov GPR[64]:W, GPR[64]:R", ADD),
        ("ebreak", ""),
    ]
    assert instructions.encodings[ADD].fields[0].pieces == ((0, 5),)
    assert {text: encoding.flow for text, encoding in instructions.encodings.items()} == {
        ADD: "next",
        "ecall": "call",
        "ebreak": "next",
    }
