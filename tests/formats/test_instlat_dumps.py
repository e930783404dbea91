"""Dumps of InstLatX64: rows of all generations, what they measure, and what they do not."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.formats.document import PairEntry
from inference.formats.import_formats import read
from inference.formats.measured_rows import LARGEST_OF_SOURCES
from inference.formats.parsing import AnyNames, Parsed, resolve
from inference.formats.printed_instructions import InstructionReader, UnmatchedInstructionError
from inference.formats.printed_sequences import ROUND_TRIP, read_sequence
from inference.isa.targets import X86

NEW = (Path(__file__).parent / "golden" / "instlat.txt").read_text()
OLD = """\
Copyright (C) 2003, 2007 Lavalys Consulting Group, Inc. All rights reserved.
InstLat.x64.exe build: 0.6.8.0 Jun  8 2008 20:34:56
CPU#0 Family: 6 Model: 0f Stepping: 4 Type: "An  old CPU @ 2.66GHz"
   0 X86   :NOP                         L: [no true dep.]   T:   0.12ns=  0.33c
  17 X86   :MOV r16, imm16              L:   0.66ns=  1.8c  T:   0.66ns=  1.75c
 463 L/SAHF:LAHF                        L:   0.12ns=  0.3c  T:   0.12ns=  0.33c
 520 X87   :FMUL + FADD st, st(i)       L:   4.21ns=  8.0c  T: [not enough reg]
 794 SSE   :MOVLPS xmm, [m64]           L:   5.00ns= 12.0c  T: -52.11ns=-125.00c
"""
WIDE = "  18 X86   :MOV r64, imm32              L:   0.66ns=  1.8c  T:   0.12ns=  0.33c\n"
CORRECTED = (
    "RENORMALISED!!!\n"
    "Inst 1793 AVX             : VMULPS ymm, ymm, ymm       L:   2.36ns=  6.0c  T:   0.74ns=  1.25c"
    " (1.7GHz L:  4.0 1.3GHz T:  0.96)\n"
    "Inst 1794 AVX512VL        : VPCMPD k1, xmm, xmm, imm8  L: [diff. reg. set] T:   0.79ns=  1.33c"
    " (               1.3GHz T:  1.02)\n"
)
SEQUENCES = """\
Inst  1 SSE      : CVTSI2SS xmm, r32              L: [diff. reg. set]  T:   0.30ns=   1.50c
Inst  2 SSE      : CVTSS2SI r32, xmm              L: [diff. reg. set]  T:   0.20ns=   1.00c
Inst  3 SSE      : CVTSS2SI + CVTSI2SS r32        L:   2.20ns=  11.0c  T:   0.30ns=   1.60c
Inst  4 AVX      : VCVTDQ2PD ymm, xmm             L:   0.80ns=   4.0c  T:   0.12ns=   0.60c
Inst  5 AVX      : VCVTDQ2PD xmm, xmm             L: [no true dep.]    T:   0.12ns=   0.60c
Inst  6 AVX      : VCVTPD2DQ xmm, ymm             L: [no true dep.]    T:   0.12ns=   0.60c
Inst  7 AVX      : VCVTPD2DQ + VCVTDQ2PD          L:   2.20ns=   9.0c  T:   0.20ns=   1.10c
Inst  8 AVX      : VMOVAPS xmm, [m128]            L: [memory dep.]     T:   0.10ns=   0.50c
Inst  9 AVX      : VMOVAPS [m128], xmm            L: [memory dep.]     T:   0.20ns=   1.00c
Inst 10 AVX      : VMOVAPS ymm, [m256]            L: [memory dep.]     T:   0.10ns=   0.60c
Inst 11 AVX      : VMOVAPS [m256], ymm            L: [memory dep.]     T:   0.20ns=   1.00c
Inst 12 AVX      : VMOVAPS LS pair                L:   2.20ns=  10.0c  T:   0.20ns=   1.00c
Inst 13 AVX      : VMOVAPS xmm LS pair            L:   2.00ns=   9.0c  T:   0.20ns=   1.00c
Inst 14 SSE      : MULSS+ADDSS xmm, xmm           L:   1.30ns=   6.0c  T:   0.12ns=   0.53c
Inst 15 SSE      : MULSS xmm, xmm                 L:   0.60ns=   3.0c  T:   0.12ns=   0.50c
Inst 16 SSE      : ADDSS xmm, xmm                 L:   0.60ns=   3.0c  T:   0.12ns=   0.50c
Inst 17 SSE      : MULSS xm1,xm1 ADDSS xm2,xm2    L:   0.70ns=   3.0c  T:   0.11ns=   0.49c
Inst 18 AVX512   : {EVEX} VMOVD r32, xmm + xmm, r32  L:   1.30ns=   6.0c  T:   0.20ns=   1.00c
Inst 19 AVX512   : VCVTPD2DQ + VCVTPD2DQ ymm      L:   2.20ns=   9.0c  T:   0.20ns=   1.10c
Inst 20 AVX      : VMOVAPS+VINSERTF128 ym, [m128], im8  L:   2.20ns=   9.0c  T:   0.20ns=   1.10c
Inst 21 LAHF     : LAHF + SAHF                    L:   0.20ns=   1.0c  T:   0.20ns=   1.00c
"""


def parsed_of(content: str, part: str = "") -> Parsed:
    return resolve(read(content.encode(), "dump.txt", part=part), AnyNames())


def cycles_of(parsed: Parsed) -> dict[str, float | None]:
    return {str(measured.experiment): measured.cycles for measured in parsed.measured}


def pairs_of(parsed: Parsed) -> dict[str, list[tuple[str, float | None, float | None]]]:
    return {
        text: [(pair.source, pair.most, pair.at_most) for pair in entry.pairs]
        for text, entry in parsed.latencies.items()
    }


def test_throughputs_are_those_of_instructions_that_do_not_wait() -> None:
    parsed = parsed_of(NEW)
    assert parsed.lines() == []
    assert cycles_of(parsed) == {
        "nop": 0.20,
        "mov GPR[32]:W, IMM[32]:R": 0.251,
        "mov GPR[64]:W, MEM[64]:R": 0.50,
        "add GPR[64]:RW, MEM[64]:R": 0.50,
        "add MEM[64]:RW, GPR[64]:R": 1.00,
        "vaddps XMM:W, XMM:R, XMM:R": 0.51,
        "vpxor XMM:W, XMM:R, XMM:R": 0.34,
        "vmpsadbw YMM:W, YMM:R, YMM:R, IMM[8]:R": 1.00,
        "divps XMM:RW, XMM:R": 3.00,
        "vpaddd YMM{k}:RW, YMM:R, YMM:R": 0.50,
    }
    assert parsed.facts["arch"] == "A Processor"
    assert (parsed.facts["matched"], parsed.facts["instructions"]) == (18, 19)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("2x 0x66 NOP (row 1)", "prefixes"),
        ("MOV r8,[m8]+MOV [m8],r8 (row 29)", "several instructions"),
        ("MOV r8, imm8 (row 16)", "wait for each other"),
        ("SUB r32, r32 (row 30)", "one register"),
        ("SUB r1_32, r2_32 (row 31)", "wait for each other"),
        ("ADC r32, r32 (row 32)", "waits for the one before"),
        ("VMOVAPS [m128 + 4], xmm (row 36)", "not aligned"),
        ("DIVPS xmm, xmm (row 37)", "with other values it takes 3 cycles"),
        ("VMOVUPS aligned LS pair (row 40)", "several instructions"),
    ],
)
def test_other_rows_are_left_out_with_the_reason(row: str, why: str) -> None:
    assert why in parsed_of(NEW).left_out[row]


def test_latencies_are_of_operands_that_share_a_register_with_the_result() -> None:
    parsed = parsed_of(NEW, "latencies")
    assert pairs_of(parsed) == {
        "mov GPR[64]:W, MEM[64]:R": [("2 address", 4.0, None)],
        "add GPR[64]:RW, MEM[64]:R": [("1", None, 5.0), ("2 address", None, 5.0)],
        "sub GPR[32]:RW, GPR[32]:R": [("1", 1.0, None)],
        "adc GPR[32]:RW, GPR[32]:R": [("1", None, 1.0), ("2", None, 1.0)],
        "vaddps XMM:W, XMM:R, XMM:R": [("2", None, 3.0), ("3", None, 3.0)],
        "vpxor XMM:W, XMM:R, XMM:R": [("2", 1.0, None)],
        "vmpsadbw YMM:W, YMM:R, YMM:R, IMM[8]:R": [("2", None, 5.0), ("3", None, 5.0)],
        "divps XMM:RW, XMM:R": [("1", None, 11.0), ("2", None, 11.0)],
        "vpaddd YMM{k}:RW, YMM:R, YMM:R": [("1", None, 1.0), ("2", None, 1.0), ("3", None, 1.0)],
    }
    assert parsed.latencies["vaddps XMM:W, XMM:R, XMM:R"].pairs[0].why == LARGEST_OF_SOURCES


def test_dumps_of_2008_have_rows_without_a_word_before_them() -> None:
    parsed = parsed_of(OLD)
    assert cycles_of(parsed) == {"nop": 0.33, "mov GPR[16]:W, IMM[16]:R": 1.75, "lahf": 0.33}
    assert parsed.facts["arch"] == "An old CPU @ 2.66GHz, 32-bit program"
    assert "-125" in parsed.left_out["MOVLPS xmm, [m64] (row 794)"]


def test_cycles_of_a_changed_frequency_are_those_that_the_dump_corrects() -> None:
    cycles = {"vmulps YMM:W, YMM:R, YMM:R": 0.96, "vpcmpd K:W, XMM:R, XMM:R, IMM[8]:R": 1.02}
    assert cycles_of(parsed_of(CORRECTED)) == cycles
    (pair, _) = parsed_of(CORRECTED, "latencies").latencies["vmulps YMM:W, YMM:R, YMM:R"].pairs
    assert pair.at_most == 4.0


@pytest.mark.parametrize("part", ["throughputs", "latencies"])
def test_line_ends_and_columns_do_not_matter(part: str) -> None:
    spread = NEW.replace("\n", "\r\n").replace(" : ", "   :   ").replace("T:   ", "T: ")
    here, there = parsed_of(NEW, part), parsed_of(spread, part)
    assert (cycles_of(here), pairs_of(here)) == (cycles_of(there), pairs_of(there))


def schemes_of(sequence: str) -> list[str]:
    """The schemes of one of the rows of `SEQUENCES`, after the rows before it."""
    rows = [line.partition(":")[2].partition(" L:")[0].strip() for line in SEQUENCES.splitlines()]
    reader = InstructionReader(X86)
    for row in rows[: rows.index(sequence)]:
        with suppress(UnmatchedInstructionError):
            reader.read(row)
    return [instruction.scheme.text for instruction in read_sequence(reader, sequence)]


@pytest.mark.parametrize(
    ("sequence", "schemes"),
    [
        ("CVTSS2SI + CVTSI2SS r32", ["cvtss2si GPR[32]:W, XMM:R", "cvtsi2ss XMM:RW, GPR[32]:R"]),
        ("VCVTPD2DQ + VCVTDQ2PD", ["vcvtpd2dq XMM:W, YMM:R", "vcvtdq2pd YMM:W, XMM:R"]),
        ("VMOVAPS LS pair", ["vmovaps MEM[256]:W, YMM:R", "vmovaps YMM:W, MEM[256]:R"]),
        ("VMOVAPS xmm LS pair", ["vmovaps MEM[128]:W, XMM:R", "vmovaps XMM:W, MEM[128]:R"]),
        ("MULSS+ADDSS xmm, xmm", ["mulss XMM:RW, XMM:R", "addss XMM:RW, XMM:R"]),
        ("MULSS xm1,xm1 ADDSS xm2,xm2", ["mulss XMM:RW, XMM:R", "addss XMM:RW, XMM:R"]),
        (
            "{EVEX} VMOVD r32, xmm + xmm, r32",
            ["{evex} vmovd GPR[32]:W, XMM:R", "{evex} vmovd XMM:W, GPR[32]:R"],
        ),
        ("LAHF + SAHF", ["lahf", "sahf"]),
        ("VCVTPD2DQ + VCVTPD2DQ ymm", []),  # a slip: it cannot wait for itself through two widths
        ("VMOVAPS+VINSERTF128 ym, [m128], im8", []),  # which of its moves is not told
    ],
)
def test_parts_without_operands_are_rows_before_them(sequence: str, schemes: list[str]) -> None:
    assert schemes_of(sequence) == schemes


def test_two_instructions_that_wait_for_each_other_bound_the_latencies_of_both() -> None:
    parsed = parsed_of(SEQUENCES, "latencies")
    bounds = {text: pairs for text, pairs in pairs_of(parsed).items() if pairs[0][2] in (11.0, 9.0, 6.0)}
    assert bounds == {
        "cvtss2si GPR[32]:W, XMM:R": [("2", None, 11.0)],
        "cvtsi2ss XMM:RW, GPR[32]:R": [("2", None, 11.0)],
        "vcvtpd2dq XMM:W, YMM:R": [("2", None, 9.0)],
        "{evex} vmovd GPR[32]:W, XMM:R": [("2", None, 6.0)],
        "{evex} vmovd XMM:W, GPR[32]:R": [("2", None, 6.0)],
    }
    assert pairs_of(parsed)["vcvtdq2pd YMM:W, XMM:R"] == [("2", 4.0, None)]  # of its own row
    assert parsed.latencies["cvtss2si GPR[32]:W, XMM:R"].pairs[0].why == ROUND_TRIP
    assert parsed.facts["matched"] == 19


def test_throughputs_of_several_instructions_are_left_out() -> None:
    parsed = parsed_of(SEQUENCES)
    assert all(measured.experiment.length == 1 for measured in parsed.measured)
    assert "several instructions" in parsed.left_out["MULSS xm1,xm1 ADDSS xm2,xm2 (row 17)"]


_WORDS = (
    "add vaddps {evex} lock asp lea lahf r32 r1_64 xmm xmm{k} [m64 [m32+8] , + ls pair imm8_0 1 (x/1) st(i)"
)
WORDS = st.sampled_from(_WORDS.split())


@given(st.lists(WORDS, max_size=6).map(" ".join) | st.text(max_size=30))
def test_any_text_is_an_instruction_or_refused_with_a_reason(text: str) -> None:
    reason = ""
    pairs: tuple[PairEntry, ...] = ()
    try:
        pairs = InstructionReader(X86).read(text).chained_pairs(X86, 1.0)
    except UnmatchedInstructionError as error:
        reason = str(error)
    assert bool(reason) <= (not pairs)
    assert all(pair.destination == "1" for pair in pairs)


@given(
    st.lists(st.sampled_from(NEW.splitlines() + SEQUENCES.splitlines()) | st.text(max_size=40), max_size=8)
)
def test_lines_in_any_order_never_raise(lines: list[str]) -> None:
    for part in ("throughputs", "latencies"):
        parsed_of("\n".join([*lines, NEW.splitlines()[2]]), part)


@pytest.mark.parametrize(
    ("head", "core"),
    [
        ("CPUID Manufacturer: AuthenticAMD\nCPUID Revision    : 00A60F12h", "Zen 4"),
        ("CPUID Manufacturer: GenuineIntel\nCPUID Revision    : 000506E3h", "Skylake"),
        ("CPU#000 Vendor: AuthenticAMD Family: 8f Model: 31 Stepping: 0 CoreType:0x10830f10", "Zen 2"),
        ("CPU#000 Vendor: AuthenticAMD Family: f Model: 2b Stepping: 1 CoreType:0x10020fb1", None),
    ],
)
def test_the_core_is_the_one_with_the_cpuid_of_the_dump(head: str, core: str | None) -> None:
    assert parsed_of(f"{head}\n{NEW}").facts.get("core") == core


def test_only_a_dump_of_a_32_bit_program_is_called_so() -> None:
    assert parsed_of(OLD + WIDE).facts["arch"] == "An old CPU @ 2.66GHz"
