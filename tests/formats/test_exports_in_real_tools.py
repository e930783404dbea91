"""OSACA predicts with our model, LLVM makes one of our fragment, llvm-exegesis takes our snippets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from iced_x86 import Decoder, Formatter, FormatterSyntax

from inference.core.experiment import Experiment
from inference.core.throughput import inverse_throughput
from inference.formats.exegesis import (
    MODES,
    LlvmInstances,
    write_block_exegesis,
    write_exegesis,
    write_exegesis_yaml,
)
from inference.formats.llvm_td import Opcodes, write_llvm_td
from inference.formats.osaca_yaml import write_osaca_core, write_osaca_yaml
from inference.isa import aarch64, llvm_mc
from inference.isa.blocks import read_blocks
from inference.isa.bodies import body_maker
from inference.isa.llvm_schemes import llvm_instructions, llvm_opcodes
from inference.isa.x86.assembling import unroll
from inference.measuring.blocks import BlockOptions
from tests.formats.exports import (
    ADD,
    ADD_BYTE,
    ADD_LOAD,
    LOAD,
    LOCKED,
    SHIFT,
    SHIFT_BY,
    STORE,
    USAGE,
    VADD,
    VADD_LOAD,
    exported_mapping,
    exported_toy_core,
)
from tests.formats.real_tools import called, llvm, osaca

KERNELS = [
    Experiment.of({ADD: 1, ADD_BYTE: 2, VADD: 2, VADD_LOAD: 2, STORE: 1}),
    Experiment.of({ADD_LOAD: 1, ADD: 6, SHIFT: 1, SHIFT_BY: 1, VADD: 1, LOAD: 1}),
]
ARM_ADD, ARM_LOAD = "add GPR[64]:W, GPR[64]:R, GPR[64]:R", "ldr GPR[64]:W, MEM[64]:R"
ARM_VECTOR = "fadd VEC[4S]:W, VEC[4S]:R, VEC[4S]:R"
ARM = exported_mapping(
    {ARM_ADD: ((0b011, 1),), ARM_LOAD: ((0b100, 1),), ARM_VECTOR: ((0b010, 1),)},
    ("I0", "I1", "L"),
    None,
    aarch64.NAME,
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which OSACA finds our models; it keeps what it has read beside them, which saves seconds."""
    osaca()
    path = tmp_path_factory.mktemp("home")
    folder = path / ".osaca" / "data"
    folder.mkdir(parents=True)
    (folder / "zen3.yml").write_text(write_osaca_yaml(exported_mapping()), encoding="utf-8")
    (folder / "zen2.yml").write_text(write_osaca_core(exported_toy_core(), "zen2"), encoding="utf-8")
    (folder / "a72.yml").write_text(write_osaca_yaml(ARM, "a72"), encoding="utf-8")
    return path


def pressure(home: Path, arch: str, kernel: str) -> tuple[list[str], list[float]]:
    """Port names and sums of a kernel, by OSACA with the model that it finds in this home."""
    code = home / "kernel.s"
    code.write_text(kernel)
    syntax = ["--syntax", "att"] if arch.startswith("zen") else []
    told = called([osaca(), "--arch", arch, *syntax, str(code)], home)
    table = [line.split("||")[0].split("|")[1:] for line in told.splitlines() if "||" in line]
    assert " X " not in told.split("Port pressure")[1], told
    names, *rows = [[cell.strip() for cell in row] for row in table]
    return names, [sum(float(cell or 0) for cell in column) for column in zip(*rows, strict=True)]


def as_compilers_write(code: bytes) -> str:
    """AT&T syntax with the letters for widths, by which alone OSACA tells these apart."""
    formatter = Formatter(FormatterSyntax.GAS)
    formatter.gas_show_mnemonic_size_suffix = True
    return "".join(f"{formatter.format(one)}\n" for one in Decoder(64, code))


def test_osaca_predicts_the_port_pressure_of_our_mapping(home: Path) -> None:
    mapping = exported_mapping()
    for kernel in KERNELS:
        body = unroll(kernel.terms, 1)
        names, sums = pressure(home, "zen3", as_compilers_write(body.code))
        assert names == [*mapping.value.ports, "Rmax"]
        assert max(sums) / body.copies == pytest.approx(inverse_throughput(mapping.value, kernel), abs=0.02)
        assert sums[-1] / body.copies == pytest.approx(kernel.length / 4, abs=0.02)


def test_osaca_predicts_instructions_whose_ports_were_not_found_by_their_time(home: Path) -> None:
    names, sums = pressure(home, "zen2", "bsfq %rax, %rbx\nbsfq %rax, %rcx\naddq %rax, %rdx\n")
    assert dict(zip(names, sums, strict=True))["Alone1"] == pytest.approx(2 * 3.0)
    assert max(sums) == pytest.approx(2 * 3.0)


def test_osaca_finds_no_fault_with_the_model(home: Path) -> None:
    (home / "kernel.s").write_text("addq %rax, %rbx\n")
    told = called([osaca(), "--arch", "zen3", "--db-check", str(home / "kernel.s")], home)
    assert "0 duplicate instruction forms in uarch DB" in told
    assert "0 bad operands found in uarch DB" in told
    assert re.search(r"^0% \(0/\d+\) of instruction forms have no port pressure", told, re.MULTILINE)


def test_osaca_reads_a_model_of_aarch64(home: Path) -> None:
    kernel = "add x0, x1, x2\nadd x3, x1, x2\nldr x4, [x5, #8]\nfadd v0.4s, v1.4s, v2.4s\n"
    names, sums = pressure(home, "a72", kernel)
    assert names == ["I0", "I1", "L"]
    assert sums == pytest.approx([1.5, 1.5, 1.0], abs=0.02)


@pytest.mark.parametrize(
    ("kernel", "cycles"),
    [
        ("imulq %rax, %rbx\n", 3),
        ("addq %rax, %rbx\nimulq %rax, %rbx\n", 4),
        ("movq %rbx, %rcx\nimulq %rcx, %rbx\n", 3),  # the move is eliminated
        ("movq (%rax), %rax\n", 4),
        ("addq (%rsi), %rax\n", 1),  # the load does not wait
        ("movq %rax, (%rsi)\nmovq (%rsi), %rax\n", 4.5),  # forwarded
        ("addq %rax, (%rsi)\n", 5.5),
        ("vaddpd (%rsi), %ymm1, %ymm1\n", 4),
    ],
)
def test_osaca_follows_chains_with_the_latencies_of_a_core_model(
    home: Path, kernel: str, cycles: float
) -> None:
    code = home / "chain.s"
    code.write_text(kernel)
    told = called([osaca(), "--arch", "zen2", "--syntax", "att", str(code)], home)
    chains = [float(found) for found in re.findall(r"^\s*\d+ \| +(\d+\.\d+) \|", told, re.MULTILINE)]
    assert max(chains) == pytest.approx(cycles), told


def fragment(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    if llvm_mc.program() is None:
        pytest.skip("llvm-mc is not installed: the fragment has no opcodes")
    mapping = exported_mapping()
    opcodes = Opcodes(*llvm_opcodes(mapping.isa, list(USAGE)))
    path = tmp_path / "model.td"
    path.write_text(write_llvm_td(mapping, opcodes), encoding="utf-8")
    return path, dict(opcodes.by_text)


def test_llvm_calls_schemes_by_the_opcodes_that_it_knows(tmp_path: Path) -> None:
    _, opcodes = fragment(tmp_path)
    assert (opcodes[ADD], opcodes[ADD_LOAD], opcodes[VADD]) == ("ADD64rr", "ADD64rm", "VADDPDYrr")
    assert LOCKED not in opcodes  # LLVM takes the prefix for an instruction of its own
    arm, _ = llvm_opcodes(aarch64.NAME, ["add GPR[64]:W, GPR[64]:R, GPR[64]:R"])
    assert list(arm.values()) == ["ADDXrr"] or list(arm.values()) == ["ADDXrs"]


def test_the_table_generator_reads_the_fragment_by_itself(tmp_path: Path) -> None:
    path, opcodes = fragment(tmp_path)
    program, release = llvm("llvm-tblgen")
    old = ["-DPMWEB_BEFORE_LLVM_18"] if release < 18 else []
    told = called([program, "-DPMWEB_STANDALONE", *old, str(path)])
    assert told.count('dag Instrs = (instregex "^') == len(set(opcodes.values()))
    field = "ResourceCycles" if release < 18 else "ReleaseAtCycles"
    assert re.search(rf"list<int> {field} = \[2\]", told)


def test_llvm_makes_a_scheduling_model_of_the_fragment(tmp_path: Path) -> None:
    path, opcodes = fragment(tmp_path)
    for release in range(30, 12, -1):
        include = Path(f"/usr/lib/llvm-{release}/include")
        if (include / "llvm/Target/Target.td").is_file():
            break
    else:
        pytest.skip("no LLVM is installed with its include files (Debian: llvm-14-dev)")
    program, _ = llvm("llvm-tblgen", release, release)
    names = "".join(f"def {name} : I;\n" for name in dict.fromkeys(opcodes.values()))
    target = tmp_path / "target.td"
    target.write_text(
        'include "llvm/Target/Target.td"\n'
        'def R0 : Register<"r0"> { let Namespace = "Toy"; }\n'
        'def GPR : RegisterClass<"Toy", [i32], 32, (add R0)>;\n'
        "def ToyInfo : InstrInfo;\n"
        'class I : Instruction { let Namespace = "Toy"; let OutOperandList = (outs GPR:$d); '
        "let InOperandList = (ins GPR:$s); let Size = 4; }\n"
        f'{names}include "{path.name}"\n'
        'def : ProcessorModel<"toy", PmwebModel, []>;\n'
        "def Toy : Target { let InstructionSet = ToyInfo; }\n"
    )
    old = ["-DPMWEB_BEFORE_LLVM_18"] if release < 18 else []
    told = called([program, "-gen-subtarget", *old, "-I", str(include), "-I", str(tmp_path), str(target)])
    uops = {row[0]: int(row[1]) for row in re.findall(r'DBGFIELD\("(\w+)"\)\s+(\d+), false', told)}
    classes = {name: number for joined, number in uops.items() for name in joined.split("_")}
    assert classes[opcodes[ADD_LOAD]] == 2
    assert classes[opcodes[SHIFT]] == 2
    assert classes[opcodes[ADD]] == 1


@pytest.mark.parametrize("experiment", KERNELS, ids=str)
def test_llvm_exegesis_takes_snippets_with_registers_and_memory(
    tmp_path: Path, experiment: Experiment
) -> None:
    program, _ = llvm("llvm-exegesis", 19)
    path = tmp_path / "snippet.s"
    path.write_text(write_exegesis("x86-64", experiment), encoding="utf-8")
    told = called(
        [
            program,
            "-mode=inverse_throughput",
            "-execution-mode=subprocess",
            "-benchmark-phase=assemble-measured-code",
            f"-snippets-file={path}",
        ]
    )
    body = body_maker("x86-64").unroll(experiment.terms)
    instructions = told.split("instructions:")[1].split("config:")[0].strip().splitlines()
    assert len(instructions) == len(body.listing)
    assert "R14=0x104000" in told or not {LOAD, STORE, ADD_LOAD, VADD_LOAD} & set(experiment.schemes)
    assert "actual measurements skipped" in told


@pytest.mark.parametrize(
    ("text", "registers"),
    [
        ("shl rax, cl\ncmove rbx, rdx", {"RAX": "62345600", "RCX": "62345600", "RDX": "62345600"}),
        ("vmaskmovpd ymm1, ymm2, [rax]", {"YMM2": "3f8ccccd" * 8, "RAX": "104000"}),
        ("mov rax, [rbx+rcx*8]\nadd rax, rdx", {"RBX": "104000", "RCX": "0", "RDX": "62345600"}),
        ("vpaddd zmm1{k1}, zmm2, zmm3", {"K1": "f" * 16}),
        ("shl qword ptr [rcx], cl", {"RCX": "104000"}),
        ("push rax\npop rbx", {"RAX": "62345600"}),
    ],
)
def test_llvm_exegesis_takes_a_block_with_the_registers_that_it_ran_with(
    tmp_path: Path, text: str, registers: dict[str, str]
) -> None:
    (block,) = read_blocks(text, 1)
    schemes = [one.scheme for one in block.instructions if one.scheme is not None]
    snippet = write_block_exegesis(block.code, schemes, [], BlockOptions().start)
    defined = dict(re.findall(r"^# LLVM-EXEGESIS-DEFREG (\w+) (\w+)$", snippet, re.MULTILINE))
    assert {name: defined.get(name) for name in registers} == registers
    assert "RSP" not in defined
    program, _ = llvm("llvm-exegesis", 19)
    path = tmp_path / "snippet.s"
    path.write_text(snippet, encoding="utf-8")
    told = called(
        [
            program,
            "-mode=inverse_throughput",
            "-execution-mode=subprocess",
            "-benchmark-phase=assemble-measured-code",
            f"-snippets-file={path}",
        ]
    )
    assert all(
        f"{name}=0x{value}" in told for name, value in registers.items() if name[0] == "R" and value != "0"
    )
    assert "actual measurements skipped" in told


def test_llvm_writes_instances_as_its_measurements_have_them() -> None:
    if llvm_mc.program() is None:
        pytest.skip("llvm-mc is not installed")
    found, _ = llvm_instructions("x86-64", [ADD_BYTE, ADD_LOAD, SHIFT, SHIFT_BY, VADD, LOCKED])
    assert LOCKED not in found
    assert found[ADD_LOAD] == "ADD64rm RBX RBX RSI i_0x1 %noreg i_0x40 %noreg"
    assert found[VADD] == "VADDPDYrr YMM1 YMM2 YMM3"
    assert found[SHIFT] == "SHL64rCL RBX RBX"
    assert found[SHIFT_BY].startswith("SHL64ri RBX RBX i_0x")
    assert re.fullmatch(r"ADD8rr (\w+) \1 \w+", found[ADD_BYTE])


@pytest.mark.parametrize("mode", MODES)
def test_llvm_exegesis_holds_its_model_against_a_core_model(tmp_path: Path, mode: str) -> None:
    if llvm_mc.program() is None:
        pytest.skip("llvm-mc is not installed: the benchmarks have no names")
    program, _ = llvm("llvm-exegesis", 13)
    core = exported_toy_core()
    instances = LlvmInstances(
        *llvm_instructions(core.mapping.isa, [scheme.text for scheme in core.mapping.schemes])
    )
    path, shown = tmp_path / "benchmarks.yaml", tmp_path / "shown.html"
    text = write_exegesis_yaml(core, instances, mode)
    path.write_text(text, encoding="utf-8")
    told = called(
        [
            program,
            "-mode=analysis",
            "-analysis-clustering=naive",
            f"-benchmarks-file={path}",
            f"-analysis-inconsistencies-output-file={shown}",
        ]
    )
    assert f"Parsed {text.count('---')} benchmark points" in told + shown.read_text()
    assert "SHL64rCL" in shown.read_text() or mode == "uops"
    assert "do not match that of LLVM" in shown.read_text()
