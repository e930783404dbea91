"""Files of other tools about RISC-V: names of LLVM, and the modes of vectors."""

from __future__ import annotations

import pytest

from inference.formats.import_formats import read
from inference.formats.parsing import AnyNames, Parsed, resolve
from inference.isa import llvm_mc
from inference.isa.facets import LlvmMeaning
from inference.isa.llvm_schemes import llvm_instructions
from inference.isa.riscv64.tools import NAMES
from inference.isa.targets import RISCV, target_of

pytestmark = pytest.mark.skipif(llvm_mc.program() is None, reason="llvm-mc is not installed")

ADD = "add GPR[64]:W, GPR[64]:R, GPR[64]:R"
ADD_IMMEDIATE = "addi GPR[64]:W, GPR[64]:R, IMM[12]:R"
WINIC = """---
- llvmName:        ADD
  operandLatencies:
    - {sourceOperand: '1', targetOperand: '0', latencyMin: 1, latencyMax: 1}
  throughput:      0.5
  throughputMax:   0.5
- llvmName:        ADDI
  operandLatencies:
  throughput:      0.5
- llvmName:        C_ADD
  operandLatencies:
  throughput:      0.5
- llvmName:        REM
  operandLatencies:
  throughput:      20
- llvmName:        VADD_VV
  operandLatencies:
  throughput:      2
"""
BENCHMARK = """---
mode: {mode}
key:
  instructions:
    - '{line}'
  config: '{setting}'
cpu_name: sifive-x280
llvm_triple: riscv64
measurements:
  - {{ key: {mode}, value: {value}, per_snippet_value: {value} }}
error: ''
...
"""
E32 = "vtype = {AVL: VLMAX, SEW: e32, Policy: ta/mu}"


def parsed_of(content: str, part: str = "") -> Parsed:
    return resolve(read(content.encode(), "file.yaml", part=part), AnyNames())


def test_scalar_rows_of_winic_have_schemes_and_vectors_without_a_mode_do_not() -> None:
    parsed = parsed_of(WINIC)
    assert parsed.lines() == []
    cycles = {str(row.experiment): row.cycles for row in parsed.measured}
    assert cycles == {ADD: 0.5, ADD_IMMEDIATE: 0.5, "rem GPR[64]:W, GPR[64]:R, GPR[64]:R": 20.0}
    assert "was measured as ADD" in parsed.left_out["C_ADD"]
    assert "mode" in parsed.left_out["VADD_VV"]
    latencies = parsed_of(WINIC, "latencies").latencies
    assert [(pair.source, pair.most) for pair in latencies[ADD].pairs] == [("2", 1.0)]


@pytest.mark.parametrize(
    ("line", "setting", "scheme"),
    [
        ("PseudoVADD_VV_M2 V8M2 V8M2 V10M2 V12M2 i_0xffffffffffffffff i_0x5 i_0x0", E32, "e32,m2"),
        ("PseudoVADD_VV_M1_MASK V8 V8 V9 V10 V0 i_0xffffffffffffffff i_0x5 i_0x0", E32, "v0.t"),
        ("PseudoVREDSUM_VS_M4_E16 V8 V8 V12M4 V9 i_0xffffffffffffffff i_0x4 i_0x0", "", "VR[e16,m4]"),
        ("PseudoVFMUL_VFPR64_M1_E64 V8 V8 V9 F10_D i_0x7 i_0x0 i_0x6 i_0x0", "", "FPR[64]"),
        ("PseudoVMXOR_MM_B8 V8 V9 V10 i_0xffffffffffffffff i_0x0", "", "vmxor.mm"),
        ("ADD X10 X10 X11", "", ADD),
    ],
)
def test_benchmarks_of_pseudo_instructions_have_the_scheme_of_their_mode(
    line: str, setting: str, scheme: str
) -> None:
    text = BENCHMARK.format(mode="inverse_throughput", line=line, setting=setting, value=2.0)
    (row,) = parsed_of(text).measured
    assert scheme in str(row.experiment)
    assert row.cycles == 2.0


@pytest.mark.parametrize(
    ("line", "setting", "why"),
    [
        ("PseudoVADD_VV_M2 V8M2 V8M2 V10M2 V12M2 i_0x0 i_0x5 i_0x0", "", "a mode that the file does not say"),
        ("PseudoVADD_VV_MF2 V8 V8 V9 V10 i_0x0 i_0x5 i_0x0", E32, "in the mode e32,mf2"),
        ("PseudoNOTHING_VV_M1 V8 V8", E32, "no scheme here has this opcode"),
    ],
)
def test_benchmarks_without_a_scheme_say_why(line: str, setting: str, why: str) -> None:
    text = BENCHMARK.format(mode="inverse_throughput", line=line, setting=setting, value=2.0)
    known = BENCHMARK.format(mode="inverse_throughput", line="ADD X1 X2 X3", setting="", value=0.5)
    (reason,) = parsed_of(known + text).left_out.values()
    assert why in reason


def test_a_latency_of_a_pseudo_instruction_is_a_bound() -> None:
    line = "PseudoVADD_VV_M1 V8 V8 V9 V10 i_0xffffffffffffffff i_0x5 i_0x0"
    (entry,) = parsed_of(
        BENCHMARK.format(mode="latency", line=line, setting=E32, value=4.0)
    ).latencies.values()
    assert [(pair.least, pair.at_most) for pair in entry.pairs] == [(None, 4.0), (None, 4.0)]


@pytest.mark.parametrize(
    ("opcode", "meaning"),
    [
        ("PseudoVZEXT_VF2_M1", LlvmMeaning("VZEXT_VF2", "e32,m1", False)),
        ("PseudoVRGATHEREI16_VV_M1_E32_MF2", LlvmMeaning("VRGATHEREI16_VV", "e32,m1", False)),
        ("PseudoVCPOP_M_B2_MASK", LlvmMeaning("VCPOP_M", "m4", True)),
        ("PseudoVLE32_V_M8", LlvmMeaning("VLE32_V", "e32,m8", False)),
        ("C_ADDW", LlvmMeaning("ADDW")),
    ],
)
def test_names_of_pseudo_instructions_have_a_group_and_a_width(opcode: str, meaning: LlvmMeaning) -> None:
    assert NAMES.llvm_meaning(opcode, E32) == meaning


def test_each_scheme_has_an_opcode_of_llvm_and_names_of_its_registers() -> None:
    texts = [scheme.text for scheme in target_of(RISCV).schemes.schemes() if scheme.extension != "Zicond"]
    lines, _ = llvm_instructions(RISCV, texts)
    assert [text for text in texts if text not in lines] == []
    assert lines["fadd.h FPR[16]:W, FPR[16]:R, FPR[16]:R"].startswith("FADD_H F")
