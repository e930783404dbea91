"""A core model of RISC-V as a patch of LLVM's model and as benchmarks of llvm-exegesis."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from inference.core.core_model import CoreModel, OperandLatencies
from inference.core.mapping import PortMapping
from inference.formats.exegesis import LATENCY, LlvmInstances, write_exegesis_yaml
from inference.formats.exports import ExportedCore, exported_core
from inference.formats.import_formats import read
from inference.formats.llvm_patch.writing import write_llvm_patch
from inference.formats.llvm_td import Opcodes
from inference.formats.parsing import AnyNames, resolve
from inference.formats.provenance import Provenance
from inference.isa import llvm_mc
from inference.isa.llvm_schemes import llvm_instructions, llvm_opcodes, without_modes
from inference.isa.microarchitecture import ToolNames
from inference.isa.targets import RISCV

LLVM = Path(__file__).parent / "mini_llvm"
ADD = "add GPR[64]:W, GPR[64]:R, GPR[64]:R"
MUL = "mul GPR[64]:W, GPR[64]:R, GPR[64]:R"
LATENCIES: dict[str, OperandLatencies] = {
    ADD: {("2", "1"): 1.0, ("3", "1"): 1.0},
    MUL: {("2", "1"): 4.0, ("3", "1"): 4.0},
}

pytestmark = pytest.mark.skipif(llvm_mc.program() is None, reason="llvm-mc is not installed")


def core() -> ExportedCore:
    mapping = PortMapping(("0", "1"), {ADD: ((0b11, 1),), MUL: ((0b10, 1),)}, 2.0, issue_width=2.0)
    tools = ToolNames("", "toy-p4")
    return exported_core("Toy", RISCV, CoreModel(mapping, LATENCIES), Provenance(()), tools)


def test_a_patch_changes_the_latency_that_differs_and_tests_it_with_an_instruction() -> None:
    if shutil.which("llvm-tblgen") is None:
        pytest.skip("llvm-tblgen is not on the PATH")
    patch = write_llvm_patch(core(), Opcodes(*llvm_opcodes(RISCV, [ADD, MUL])), LLVM)
    assert "1 of 2 opcodes differ" in patch
    assert "+++ b/lib/Target/RISCV/RISCVSchedToy.td" in patch
    assert "+  let Latency = 4;" in patch
    assert "+++ b/test/tools/llvm-mca/RISCV/pmweb-toy-p4.s" in patch
    assert "-mtriple=riscv64-unknown-unknown -mcpu=toy-p4" in patch
    added = [line for line in patch.splitlines() if line.startswith("+mul ")]
    assert len(added) == 1


def test_benchmarks_come_back_as_the_latencies_they_were() -> None:
    instances = LlvmInstances(*llvm_instructions(RISCV, [ADD, MUL]))
    text = write_exegesis_yaml(core(), instances, LATENCY)
    assert "llvm_triple: riscv64-unknown-linux-gnu" in text
    parsed = resolve(read(text.encode(), "core.yaml"), AnyNames())
    assert parsed.lines() == []
    pairs = {
        scheme: {(pair.source, pair.destination): pair.most for pair in entry.pairs}
        for scheme, entry in parsed.latencies.items()
    }
    assert pairs == LATENCIES


def test_schemes_of_one_mode_have_no_time_of_their_own_in_a_model_of_llvm() -> None:
    vector = "vadd.vv VR[e32,m1]:W, VR[e32,m1]:R, VR[e32,m1]:R"
    assert without_modes(RISCV, [ADD, vector, "of another set"]) == [ADD, "of another set"]
