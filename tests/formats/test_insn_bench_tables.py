"""Tables of insn_bench_aarch64: forms with one scheme, and those that are left out."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.formats.import_formats import read
from inference.formats.parsing import AnyNames, Parsed, resolve

TABLE = (Path(__file__).parent / "golden" / "insn-bench.md").read_text()
EXPERIMENTS = {
    "ldr GPR[64]:W, MEM[64]:R": 0.5,
    "ldr GPR[64]:W, MEM[64,base+index*8]:R": 0.5,
    "ldr GPR[64]:W, MEM[64,post]:R": 0.5,
    "add GPR[64]:W, GPR[64]:R, GPR[64]:R": 0.25,
    "add GPR[64]:W, GPR[64]:R, IMM[12]:R": 0.25,
    "adds GPR[64]:W, GPR[64]:R, GPR[64]:R": 0.5,
    "add VEC[16B]:W, VEC[16B]:R, VEC[16B]:R": 0.5,
    "smull VEC[8H]:W, VEC[8B]:R, VEC[8B]:R": 0.5,
    "saddw VEC[8H]:W, VEC[8H]:R, VEC[8B]:R": 0.5,
    "sshr VEC[16B]:W, VEC[16B]:R, IMM[3]:R": 1.0,
    "cmeq VEC[4S]:W, VEC[4S]:R, 0": 0.5,
    "fadd FPR[32]:W, FPR[32]:R, FPR[32]:R": 0.5,
    "and GPR[64]:W, GPR[64]:R, IMM[mask,64]:R": 0.25,
    "ccmp GPR[64]:R, IMM[5]:R, IMM[nzcv]:R, COND": 0.5,
}


def parsed_of(content: str, part: str = "") -> Parsed:
    return resolve(read(content.encode(), "report.md", part=part), AnyNames())


def test_instructions_per_cycle_become_cycles() -> None:
    parsed = parsed_of(TABLE)
    assert parsed.lines() == []
    assert {str(measured.experiment): measured.cycles for measured in parsed.measured} == EXPERIMENTS


def test_a_tab_separated_report_reads_the_same() -> None:
    rows = [line for line in TABLE.splitlines() if not line.startswith("|---")]
    text = "\n".join(line.strip("| ").replace(" | ", "\t") for line in rows)
    assert {str(row.experiment): row.cycles for row in parsed_of(text).measured} == EXPERIMENTS


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("ldr (imm; ofs = 0; unaligned)", "unaligned"),
        ("str -> ldr (ofs = 0 -> ofs = 0)", "several instructions"),
        ("eor (reg; clearing idiom)", "clearing idiom"),
        ("sm4e", "no scheme fits"),
        ("bic.h (imm; <<8)", "not understood"),
    ],
)
def test_other_forms_are_left_out_with_the_reason(name: str, why: str) -> None:
    assert why in parsed_of(TABLE).left_out[name]


def test_latencies_are_exact_for_one_source_and_bounds_for_several() -> None:
    latencies = parsed_of(TABLE, "latencies").latencies
    pairs = {
        text: [(pair.source, pair.most, pair.at_most) for pair in entry.pairs]
        for text, entry in latencies.items()
    }
    assert pairs["ldr GPR[64]:W, MEM[64]:R"] == [("2 address", 4.0, None)]
    assert pairs["add GPR[64]:W, GPR[64]:R, IMM[12]:R"] == [("2", 1.0, None)]
    assert pairs["smull VEC[8H]:W, VEC[8B]:R, VEC[8B]:R"] == [("2", None, 3.0), ("3", None, 3.0)]
    assert "adds GPR[64]:W, GPR[64]:R, GPR[64]:R" not in pairs  # through flags
    assert "ldr GPR[64]:W, MEM[64,base+index*8]:R" not in pairs  # base or index


@given(st.lists(st.sampled_from(TABLE.splitlines()) | st.text(max_size=40), max_size=8))
def test_lines_in_any_order_never_raise(lines: list[str]) -> None:
    for part in ("throughputs", "latencies"):
        parsed_of("\n".join(["| instruction | latency | throughput |", *lines]), part)
