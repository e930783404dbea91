"""Latencies for tools that read uops.info's table: the file itself, and our own reader of such XML."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from inference.core.protocols import Json
from inference.formats.exports import ExportedLatencies
from inference.formats.provenance import PRODUCT, Provenance
from inference.formats.uops_info_xml import condense
from inference.formats.uops_info_xml_writing import write_latencies_xml
from inference.isa import x86
from inference.isa.uops_info import numbered_element
from inference.isa.x86.chains import links_of
from inference.isa.x86.scheme_set import scheme_and_form

GOLDEN = Path(__file__).parent / "golden_exports" / "latencies.xml"
XOR, IMUL = "xor GPR[64]:RW, GPR[64]:R", "imul GPR[64]:W, GPR[64]:R, IMM[8]:R"
LOAD, ADD_TO = "mov GPR[64]:W, MEM[64]:R", "add MEM[64]:RW, GPR[64]:R"
LEA, MUL, SHIFT = "lea GPR[64]:W, ADDR[B+S*I+D8]", "mul GPR[64]:R", "shld GPR[64]:RW, GPR[64]:R, IMM[8]:R"
POPCNT, STRING = "popcnt GPR[64]:W, GPR[64]:R", "lodsb al:W, MEM[8,rsi]:R"


def pair(source: str, destination: str, least: float | None = None, **others: Any) -> Json:
    given = {"most": least, "at_most": None, "breaks": False, **others}
    return {"source": source, "destination": destination, "least": least, **given}


def idiom(kind: str, latency: float | None) -> Json:
    return {"kind": kind, "destination": "1", "latency": latency, "needs_port": None}


def exported(text: str, pairs: Sequence[Json], idioms: Sequence[Json] = ()) -> ExportedLatencies:
    found = scheme_and_form(text)
    assert found is not None, text
    scheme = found[0]
    operands = [operand.as_json() for operand in scheme.operands]
    names = scheme.mnemonic, scheme.extension, scheme.category
    return ExportedLatencies(text, *names, operands, pairs, idioms)


SCHEMES = [
    exported(
        XOR,
        [
            pair("1", "1", 1.004), pair("1", "flags", at_most=1.98), pair("2", "1", 0.97),
            pair("2", "flags", breaks=True),
        ],
        [idiom("zero idiom", None)],
    ),
    exported(IMUL, [pair("2", "1", 3.0), pair("2", "flags", at_most=2.97)]),
    exported(LOAD, [pair("2 address", "1", 4.0, most=5.212), pair("2 data", "1", at_most=4.5)]),
    exported(
        ADD_TO,
        [pair("1 address", "1 data", 1.3), pair("1 data", "1 data", 6.0), pair("2", "1 data", 0.9)],
    ),
    exported(LEA, [pair("2 base", "1", 1.0), pair("2 index", "1", 2.0)]),
    exported(MUL, [pair("1", "rax", 3.0), pair("1", "rdx", 4.0), pair("rax", "rdx", 4.0)]),
    exported(SHIFT, [pair("1", "1", 3.0), pair("2", "1", 3.0)], [idiom("quicker with one register", 1.0)]),
    exported(POPCNT, [pair("2", "1", 3.0)], [idiom("false dependency", 3.02)]),
    exported(STRING, [pair("rsi", "rsi", -0.02)]),
    exported("nop", []),
]  # fmt: skip
PROVENANCE = Provenance((("latencies", "of <Zen> & more"), ("machine", "lab")))


@pytest.fixture(scope="module")
def text() -> str:
    return write_latencies_xml("ZEN4", SCHEMES, PROVENANCE)


@pytest.fixture(scope="module")
def latencies(text: str) -> dict[str, dict[tuple[str, str], dict[str, str]]]:
    """{scheme: {(start, target): the other attributes}}, by an independent reader."""
    root = ElementTree.fromstring(text)
    return {
        each.attrib["scheme"]: {
            (found.pop("start_op"), found.pop("target_op")): found
            for found in (dict(latency.attrib) for latency in each.iter("latency"))
        }
        for each in root.iter("instruction")
    }


def test_the_file_is_what_it_was(text: str) -> None:
    assert text.replace(PRODUCT, "pmweb VERSION") == GOLDEN.read_text(encoding="utf-8")


def test_values_ranges_and_bounds_come_back(latencies: Any) -> None:
    assert latencies[IMUL] == {
        ("2", "1"): {"cycles": "3"},
        ("2", "4"): {"cycles": "3", "cycles_is_upper_bound": "1"},
    }
    assert latencies[ADD_TO]["2", "1"] == {"cycles": "0.9"}
    assert latencies[STRING] == {("3", "3"): {"cycles": "0"}}
    assert "nop" not in latencies


def test_parts_of_memory_stand_in_one_element(latencies: Any) -> None:
    assert latencies[LOAD]["2", "1"] == {
        "min_cycles_addr": "4", "max_cycles_addr": "5.21", "cycles_mem": "4.5",
        "cycles_mem_is_upper_bound": "1",
    }  # fmt: skip
    assert latencies[ADD_TO]["1", "1"] == {"cycles_addr": "1.3", "cycles_mem": "6"}
    assert latencies[LEA]["2", "1"] == {"cycles_addr": "1", "cycles_addr_index": "2"}


def test_idioms_stand_beside_the_latency_between_different_registers(latencies: Any) -> None:
    assert latencies[XOR] == {
        ("1", "1"): {"cycles": "1", "cycles_same_reg": "0"},
        ("1", "3"): {"cycles": "2", "cycles_is_upper_bound": "1"},
        ("2", "1"): {"cycles": "1", "cycles_same_reg": "0"},
    }
    assert latencies[SHIFT]["2", "1"] == {"cycles": "3", "cycles_same_reg": "1"}
    assert latencies[POPCNT] == {("2", "1"): {"cycles": "3"}, ("1", "1"): {"cycles": "3"}}


def test_implicit_operands_have_numbers_too(text: str, latencies: Any) -> None:
    assert set(latencies[MUL]) == {("1", "2"), ("1", "3"), ("2", "3")}
    (mul,) = (one for one in ElementTree.fromstring(text).iter("instruction") if one.get("scheme") == MUL)
    assert [one.text for one in mul.iter("operand")][1:] == ["RAX", "RDX", None]
    flags = mul.findall("operand")[3]
    assert (flags.get("type"), flags.get("suppressed"), flags.get("flag_CF")) == ("flags", "1", "w")


def test_our_own_reader_finds_schemes_and_latencies(text: str) -> None:
    digest = json.loads(condense(io.BytesIO(text.encode()), "a.xml"))
    found = {line[1]: line[5]["ZEN4"] for line in digest["instructions"]}
    written = {each.text for each in SCHEMES} - {"nop"}
    assert set(found) == written - {STRING} | {STRING.lower()}  # its notation has no operands for that
    assert found[LOAD] == [{"l": [4, 5.21]}]
    assert found[MUL] == [{"l": [3, 4]}]


def test_an_instruction_set_without_implicit_operands_has_them_added() -> None:
    whole = exported(XOR, [pair("2", "flags", 1.0)])
    bare = replace(whole, operands=[each for each in whole.operands if not each["implicit"]])
    read = ElementTree.fromstring(write_latencies_xml("ZEN4", [bare], PROVENANCE))
    assert [each.get("type") for each in read.iter("operand")] == ["reg", "reg", "flags"]
    assert [each.get("target_op") for each in read.iter("latency")] == ["3"]


def test_every_operand_that_a_latency_can_have_has_a_number() -> None:
    for scheme in x86.schemes():
        operands = [operand.as_json() for operand in scheme.operands]
        _, numbers = numbered_element(scheme.text, scheme.mnemonic, operands, ())
        for link in links_of(scheme.text):
            for name in (link.source, link.destination):
                assert name.partition(" ")[0] in numbers, (scheme.text, name)
