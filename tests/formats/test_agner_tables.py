"""Agner Fog's tables as CSV: what a row stands for, with its numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.mapping import uops_of
from inference.formats.import_formats import read
from inference.formats.measured_rows import LARGEST_OF_SOURCES
from inference.formats.parsing import AnyNames, Parsed, resolve

SHEET = (Path(__file__).parent / "golden" / "agner.csv").read_text()
INTEL = """\
Intel Core;;;;;;
Instruction;Operands;µops fused domain;µops each port;Latency;Reciprocal throughput;Comments
SHL SHR;r,i;1;p06;1;0,5;
"""
PORTS = """\
"A Core",,,,,,,
Instruction,Operands,µops,µops unfused domain,µops each port,Latency,Reciprocal throughput,Comments
"ADD","r,r",1,1,"p0156",1,0.25,
"ADD","r,m",1,2,"p0156 p23",,0.5,
"ADD","m,r",2,4,"2p0156 2p237 p4",5,1,
"SHL","r,cl",3,3,"3p06",2,2,
"MULPS","x,x",1,1,"P01",4,0.5,
"PSHUFB","x,x",1,1,"p1 p5",1,0.5,"either"
"DIVPS","x,x",1,1,"p0",11,3,
"NOP",,1,0,"none",,0.25,
"INC","r",1,1,"p0156",1,0.25,
"INC","r",1,1,"p06",1,0.5,"another"
"""


def parsed_of(content: str, part: str = "") -> Parsed:
    return resolve(read(content.encode(), "core.csv", part=part), AnyNames())


def cycles_of(parsed: Parsed) -> dict[str, float | None]:
    return {str(row.experiment): row.cycles for row in parsed.measured}


def test_a_row_stands_for_all_its_instructions_and_widths() -> None:
    parsed = parsed_of(SHEET)
    assert parsed.lines() == []
    assert parsed.facts["name"] == "A Core, throughputs"
    cycles = cycles_of(parsed)
    assert {text: cycles.pop(text) for text in list(cycles) if text.startswith(("cmov", "add", "sub"))} == {
        **{
            f"cmov{condition} GPR[{bits}]:RW, GPR[{bits}]:R": 0.5
            for condition in ("e", "ne", "s", "ns", "o", "no", "l", "ge")
            for bits in (32, 64)
        },
        **{
            f"{mnemonic} GPR[{bits}]:RW, {operand}": 0.25
            for mnemonic in ("add", "sub")
            for bits in (32, 64)
            for operand in (f"GPR[{bits}]:R", "IMM[8]:R", "IMM[32]:R")
        },
    }
    assert cycles == {
        "mov GPR[32]:W, MEM[32]:R": 0.5,
        "mov GPR[64]:W, MEM[64]:R": 0.5,
        "mulps XMM:RW, XMM:R": 0.5,
        "vmulps XMM:W, XMM:R, XMM:R": 0.5,
        "vmulps YMM:W, YMM:R, YMM:R": 0.5,
        "vpaddb YMM:W, YMM:R, YMM:R": 0.34,
        "vpaddw YMM:W, YMM:R, YMM:R": 0.34,
        "vextractf128 XMM:W, YMM:R, IMM[8]:R": 0.5,
    }


def test_semicolons_and_decimal_commas_are_read() -> None:
    shifts = {f"{name} GPR[{bits}]:RW, IMM[8]:R": 0.5 for name in ("shl", "shr") for bits in (32, 64)}
    assert cycles_of(parsed_of(INTEL)) == shifts


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("adc GPR[32]:RW, GPR[32]:R: ADC r,r (line 12)", "waits for the one before"),
        ("div GPR[32]:R: DIV r32 (line 13)", "fixed register rax"),
        ("PXOR x,same (line 17)", "no scheme for these"),
    ],
)
def test_other_rows_are_left_out_with_the_reason(row: str, why: str) -> None:
    assert why in parsed_of(SHEET).left_out[row]


def test_latencies_are_of_registers_alone() -> None:
    latencies = parsed_of(SHEET, "latencies").latencies
    assert "mov GPR[64]:W, MEM[64]:R" not in latencies
    (pair,) = latencies["vextractf128 XMM:W, YMM:R, IMM[8]:R"].pairs
    assert (pair.source, pair.least, pair.most) == ("2", 2.0, 2.0)
    assert {(pair.at_most, pair.why) for pair in latencies["mulps XMM:RW, XMM:R"].pairs} == {
        (3.0, LARGEST_OF_SOURCES)
    }


def test_ports_are_those_of_as_many_uops_as_the_row_has() -> None:
    parsed = parsed_of(PORTS, "ports")
    assert parsed.lines() == []
    mapping = parsed.mapping
    assert mapping is not None
    assert mapping.ports == ("0", "1", "2", "3", "5", "6")
    mask = {name: 1 << bit for bit, name in enumerate(mapping.ports)}
    alu, loads = sum(mask[name] for name in "0156"), mask["2"] | mask["3"]
    assert dict(mapping.usage.items()) == {
        **{f"add GPR[{bits}]:RW, GPR[{bits}]:R": uops_of([(alu, 1)]) for bits in (32, 64)},
        **{f"add GPR[{bits}]:RW, MEM[{bits}]:R": uops_of([(alu, 1), (loads, 1)]) for bits in (32, 64)},
        **{f"shl GPR[{bits}]:RW, cl:R": uops_of([(mask["0"] | mask["6"], 3)]) for bits in (32, 64)},
        "mulps XMM:RW, XMM:R": uops_of([(mask["0"] | mask["1"], 1)]),
        "vmulps XMM:W, XMM:R, XMM:R": uops_of([(mask["0"] | mask["1"], 1)]),
    }
    reasons = set(parsed.left_out.values())
    assert reasons == {
        "its ports are '2p0156 2p237 p4' of '4' µops",
        "its ports are 'p1 p5' of '1' µops",
        "the table has no port for its divider",
        "its ports are 'none'",
        "rows of it differ in their ports",
    }


@given(st.lists(st.sampled_from(SHEET.splitlines() + PORTS.splitlines()) | st.text(max_size=40), max_size=8))
def test_lines_in_any_order_never_raise(lines: list[str]) -> None:
    for part in ("throughputs", "latencies", "ports"):
        parsed_of("\n".join(["Instruction,Operands,Reciprocal throughput,Latency", *lines]), part)
