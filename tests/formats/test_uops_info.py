"""The table of port usages of many microarchitectures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.conf import settings

from inference.formats.import_formats import read
from inference.formats.parsing import AnyNames, Parsed, resolve
from inference.formats.uops_info_digest import DIFFERENT_USAGES
from inference.isa.targets import X86
from inference.storage.importing import commit, preview
from inference.storage.instruction_sets import load_supplied, new_isa

GOLDEN = Path(__file__).parent / "golden" / "uops-info.json"
TABLE = {
    "add R, R": [{"measurements": {"SKL": "1*p0156", "ZEN+": "1*FP0123"}}],
    "mul R, R": [{"measurements": {"SKL": "2*p1+1*p5", "ADL": "1*p0AB"}}],
}


def parsed(table: object, wanted: str) -> Parsed:
    return resolve(read(json.dumps(table).encode(), "table.json", part=wanted), AnyNames())


def test_the_only_microarchitecture_is_read_and_variants_that_differ_are_left_out(db: None) -> None:
    new_isa("toy", ["add GPR[64]:RW, GPR[64]:R", "add GPR[64]:RW, MEM[64]:R", "leave"], "by hand")
    seen = preview(GOLDEN.read_bytes(), "uops-info.json")
    assert (seen.parsed.lines(), seen.own_name) == ([], "uops.info, Skylake")
    assert seen.parsed.mapping.ports == ("0", "1", "2", "3", "5", "6")
    assert seen.parsed.mapping.usage == {
        "add GPR[64]:RW, GPR[64]:R": ((0b110011, 1),),
        "add GPR[64]:RW, MEM[64]:R": ((0b001100, 1), (0b110011, 1)),
    }
    assert seen.parsed.left_out == {"leave": DIFFERENT_USAGES}


def test_each_microarchitecture_has_its_ports(db: None) -> None:
    assert parsed(TABLE, "SKL").mapping.usage == {
        "add R, R": ((0b1111, 1),),
        "mul R, R": ((0b10, 2), (0b100, 1)),
    }
    assert parsed(TABLE, "ZEN+").mapping.ports == ("FP0", "FP1", "FP2", "FP3")
    assert parsed(TABLE, "ADL").mapping.ports == ("0", "A", "B")


@pytest.mark.parametrize(
    ("wanted", "told"), [("", "has port usages of 3 micro"), ("Zen", "no microarchitecture 'Zen'")]
)
def test_the_microarchitecture_has_to_be_chosen_among_those_there(wanted: str, told: str) -> None:
    found = parsed(TABLE, wanted)
    assert found.mapping is None
    assert told in found.lines()[0]
    assert "choose one (--microarchitecture in the shell): SKL, ZEN+, ADL" in found.lines()[0]
    assert found.facts["microarchitectures"] == ["SKL", "ZEN+", "ADL"]


@pytest.mark.parametrize(
    "text", ["p0156", "1*p", "1*p01+", "0*p01", "99999*p0", "1*q01", "", "1*p01 + 1*p5", 7]
)
def test_what_is_no_port_usage_is_told(text: object) -> None:
    found = parsed({**TABLE, "bad R": [{"measurements": {"SKL": text}}]}, "SKL")
    assert found.lines()[0].startswith("table.json, row 3, column SKL: ")
    assert "is no port usage" in found.lines()[0]


@pytest.mark.shared
@pytest.mark.parametrize(
    ("wanted", "schemes", "left_out"), [("SKL", 3233, 4), ("SKX", 3233, 4), ("ZEN+", 968, 0)]
)
def test_every_scheme_of_the_real_table_is_known(db: None, wanted: str, schemes: int, left_out: int) -> None:
    load_supplied(X86)
    content = (settings.SHARED / "data" / "iwho" / "x86_uops_info_features.json").read_bytes()
    seen = preview(content, "table.json", microarchitecture=wanted)
    assert seen.parsed.lines() == []
    assert len(seen.parsed.mapping.usage) == schemes
    assert list(seen.parsed.left_out.values()) == [DIFFERENT_USAGES] * left_out
    assert commit(seen, wanted).rows == schemes
