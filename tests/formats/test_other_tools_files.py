"""Files of llvm-exegesis, OSACA and WINIC as experiments, port mappings and latencies."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from django.core.management import call_command

from inference.formats.exegesis import LATENCY, THROUGHPUT, LlvmInstances, write_exegesis_yaml
from inference.formats.import_formats import read
from inference.formats.osaca_yaml import write_osaca_core, write_osaca_yaml
from inference.formats.parsing import AnyNames, Parsed, resolve
from inference.isa import llvm_mc
from inference.isa.llvm_schemes import LlvmScheme, llvm_instructions, llvm_schemes
from inference.models import ISA, ExperimentSet, LatencySet, Machine, PortMapping, StoredCoreModel
from inference.storage.core_models import core_model_of_parts
from inference.storage.importing import commit, preview
from tests.formats.exports import (
    ADD,
    ADD_BYTE,
    BSF,
    IMUL,
    LATENCIES,
    VADD,
    exported_mapping,
    exported_toy_core,
)

GOLDEN = Path(__file__).parent / "golden"
needs_llvm = pytest.mark.skipif(llvm_mc.program() is None, reason="llvm-mc is not installed")
ADC = "adc GPR[64]:RW, GPR[64]:R"
SHLD = "shld GPR[64]:RW, GPR[64]:R, IMM[8]:R"
Pairs = dict[tuple[str, str], float | None]


def parsed_of(content: str | bytes, name: str = "upload.yaml", wanted: str = "") -> Parsed:
    data = content.encode() if isinstance(content, str) else content
    return resolve(read(data, name, part=wanted), AnyNames())


def golden(name: str, wanted: str = "") -> Parsed:
    return parsed_of((GOLDEN / name).read_bytes(), name, wanted)


def cycles_of(parsed: Parsed) -> dict[str, float]:
    return {str(one.experiment): one.cycles for one in parsed.measured}


def pairs_of(parsed: Parsed, scheme: str) -> dict[tuple[str, str], tuple[float | None, float | None]]:
    found = parsed.latencies[scheme].pairs
    return {(one.source, one.destination): (one.least, one.most) for one in found}


# --- llvm-exegesis ----------------------------------------------------------------------------------------


@needs_llvm
def test_benchmarks_of_throughput_are_experiments() -> None:
    parsed = golden("exegesis-throughput.yaml")
    assert parsed.lines() == []
    assert cycles_of(parsed) == {ADD: 0.2525, f"{ADD}; 2*{IMUL}": 2.001}
    alone = next(one for one in parsed.measured if len(one.experiment.terms) == 1)
    assert alone.counters == {"uops": 1.02}
    assert list(parsed.left_out) == ["NOSUCHOPCODE RAX, document 4"]
    assert (parsed.facts["isa"], parsed.facts["arch"]) == ("x86-64", "toy")


@needs_llvm
def test_benchmarks_of_latency_are_latencies_of_what_the_snippet_chains() -> None:
    parsed = golden("exegesis-latency.yaml")
    assert pairs_of(parsed, ADD) == {("1", "1"): (1.03, 1.03)}
    assert pairs_of(parsed, VADD) == {("2", "1"): (4.05, 4.05)}
    (back,) = parsed.latencies["cvtsi2sd XMM:RW, GPR[64]:R"].pairs[:1]
    assert (back.least, back.at_most) == (None, 10.0)
    assert "crashed" in "".join(parsed.left_out.values())


@needs_llvm
@pytest.mark.parametrize("mode", [LATENCY, THROUGHPUT])
def test_own_benchmarks_read_back_the_same(mode: str) -> None:
    core = exported_toy_core()
    instances = LlvmInstances(
        *llvm_instructions(core.mapping.isa, [one.text for one in core.mapping.schemes])
    )
    parsed = parsed_of(write_exegesis_yaml(core, instances, mode))
    assert parsed.lines() == []
    if mode == THROUGHPUT:
        assert {text: cycles for text, cycles in cycles_of(parsed).items() if text in (ADD, VADD, IMUL)} == {
            ADD: 0.2527,
            VADD: 0.5014,
            IMUL: 1.0,
        }
        return
    for scheme, entry in parsed.latencies.items():
        told = {(one.source, one.destination): None if one.breaks else one.most for one in entry.pairs}
        assert told == LATENCIES.get(scheme, {("2", "1"): 0.0})
    assert {ADD, IMUL, VADD} <= parsed.latencies.keys()


def test_counted_uops_alone_are_refused_with_what_is_needed() -> None:
    text = "---\nmode: uops\nkey:\n  instructions:\n    - 'ADD64rr RAX RAX RBX'\nmeasurements: []\n"
    (problem,) = parsed_of(text).problems
    assert "inverse_throughput" in problem.right


@pytest.mark.parametrize(
    ("faulty", "row", "column"),
    [
        ("measurements: 7", 7, "document 2, measurements"),
        ("measurements:\n  - { key: latency, value: fast }", 11, "document 2, measurements"),
        ("key: 3", 7, "document 2, key, instructions"),
        ("mode: speed", 7, "document 2, mode"),
    ],
)
def test_a_faulty_benchmark_is_told_with_its_document_and_line(faulty: str, row: int, column: str) -> None:
    good = {
        "mode": "mode: latency",
        "key": "key:\n  instructions: ['ADD64rr RAX RAX RBX']",
        "measurements": "measurements: []",
    }
    second = "\n".join({**good, faulty.partition(":")[0]: faulty}.values())
    text = "\n".join(["---", *good.values(), "---", second, ""])
    (problem,) = parsed_of(text).problems
    assert problem.column == column
    assert problem.row == row
    assert problem.right


@needs_llvm
def test_opcodes_stand_for_the_plainest_scheme_and_conditions_for_theirs() -> None:
    named = llvm_schemes("x86-64")

    def text(line: str) -> str:
        found = named.find(line.split())
        return found.scheme.text if isinstance(found, LlvmScheme) else ""

    assert text("ADD8rr") == ADD_BYTE
    assert text("ADD64rr_REV") == ADD
    assert text("CMOV64rr RAX RAX RBX i_0x4") == "cmove GPR[64]:RW, GPR[64]:R"
    assert text("CMOV64rr") == ""
    assert text("INSB") == "insb MEM[8,rdi]:W, dx:R"


# --- WINIC ------------------------------------------------------------------------------------------------


@needs_llvm
def test_throughputs_of_winic_are_experiments() -> None:
    parsed = golden("winic.yaml")
    assert cycles_of(parsed) == {ADC: 0.5, SHLD: 1.5}
    assert [one.note for one in parsed.measured] == ["", "1.5 to 1.75 cycles"]
    assert set(parsed.left_out) == {"ADC64i32", "ADC64rr_REV"}
    assert parsed.facts["microarchitectures"] == ["throughputs", "latencies"]


@needs_llvm
def test_latencies_of_winic_are_those_of_our_operands() -> None:
    parsed = golden("winic.yaml", "latencies")
    assert pairs_of(parsed, ADC) == {("1", "1"): (1, 1), ("flags", "1"): (1, 1)}
    assert pairs_of(parsed, SHLD) == {("1", "1"): (3, 4), ("2", "flags"): (4, 4)}
    assert pairs_of(parsed, "adc rax:RW, IMM[32]:R") == {("1", "1"): (1, 1), ("flags", "1"): (1, 1)}
    assert set(parsed.left_out) == {"ADC64rr_REV"}


def test_a_part_that_a_file_lacks_is_refused_with_those_that_it_has() -> None:
    (problem,) = golden("osaca.yml", "throughputs").problems
    assert problem.right.endswith("ports, latencies")


# --- OSACA ------------------------------------------------------------------------------------------------


def test_a_machine_model_is_a_port_mapping() -> None:
    parsed = golden("osaca.yml")
    assert parsed.lines() == []
    mapping = parsed.mapping
    assert mapping is not None
    assert mapping.ports == ("0", "0DV", "1", "2", "3", "4")
    assert mapping.usage["sub GPR[64]:RW, GPR[64]:R"] == ((0b101, 1),)
    assert mapping.usage[ADD] == ((0b100, 1),)
    assert mapping.usage["add GPR[32]:RW, GPR[32]:R"] == ((0b101, 1),)
    assert mapping.usage["mov GPR[64]:W, MEM[64]:R"] == ((0b11000, 1),)
    assert set(mapping.usage["vdivpd YMM:W, YMM:R, YMM:R"]) == {(0b1, 1), (0b10, 8)}
    assert VADD not in mapping.usage
    reasons = " ".join(parsed.left_out.values())
    assert "1.5 cycles" in reasons
    assert "'5', which is no port" in reasons
    assert "masked" in reasons


def test_latencies_of_a_machine_model_are_those_between_registers() -> None:
    parsed = golden("osaca.yml", "latencies")
    assert pairs_of(parsed, ADD) == {("1", "1"): (2.0, 2.0), ("2", "1"): (2.0, 2.0)}
    assert pairs_of(parsed, "mov GPR[64]:W, MEM[64]:R") == {("2 address", "1"): (4.0, 4.0)}
    assert IMUL not in parsed.latencies


@pytest.mark.parametrize("of_core", [True, False])
def test_an_own_machine_model_reads_back_the_same_ports_and_limits(of_core: bool) -> None:
    core = exported_toy_core()
    mapping = core.mapping if of_core else exported_mapping()
    text = write_osaca_core(core) if of_core else write_osaca_yaml(mapping)
    found = parsed_of(text, "toy.yml").mapping
    assert found is not None
    assert (found.ports, found.limits) == (mapping.value.ports, mapping.value.limits)
    hidden = {
        line.partition(": ")[2].partition(";")[0] for line in text.splitlines() if "not represented" in line
    }
    for scheme, uops in mapping.value.usage.items():
        if "{" not in scheme and scheme not in hidden and not scheme.startswith("lock"):
            assert (scheme, found.usage[scheme]) == (scheme, uops)
            assert found.slots_of(scheme) == mapping.value.slots_of(scheme)


def test_an_own_machine_model_reads_back_without_ports_that_were_not_found() -> None:
    parsed = parsed_of(write_osaca_core(exported_toy_core()), "toy.yml")
    assert parsed.mapping is not None
    assert BSF not in parsed.mapping.usage
    (reason,) = (reason for place, reason in parsed.left_out.items() if place.startswith("bsf"))
    assert "3 cycles alone" in reason


def test_own_latencies_read_back_from_a_machine_model() -> None:
    core = exported_toy_core()
    parsed = parsed_of(write_osaca_core(core), "toy.yml", "latencies")
    for scheme in (ADD, IMUL, VADD, "mov GPR[64]:W, MEM[64]:R"):
        assert {most for _, most in pairs_of(parsed, scheme).values()} == {core.chain_latency(scheme)}


@pytest.mark.parametrize(
    ("old", "new", "column"),
    [
        ("isa: x86", "isa: 68000", "isa"),
        ("  latency: 1.0", "  latency: quick", "form 1, latency"),
        ("- name: mov", "- name: 7", "form 3, name"),
        ("ports: ['0',", "ports: [['0'],", "ports"),
    ],
)
def test_a_faulty_machine_model_is_told_with_its_form(old: str, new: str, column: str) -> None:
    text = (GOLDEN / "osaca.yml").read_text().replace(old, new, 1)
    parsed = parsed_of(text, "osaca.yml")
    assert [one.column for one in parsed.problems] == [column]
    assert parsed.mapping is None


@pytest.mark.parametrize(
    "text",
    [
        "instruction_forms: [\n",
        "osaca_version: &a 1\ninstruction_forms: *a\n",
        "osaca_version: 1\ninstruction_forms: 3\n",
        "osaca_version: 1\nosaca_version: 1\ninstruction_forms: []\n",
        "osaca_version: 1\ninstruction_forms: " + "[" * 50 + "]" * 50,
        "osaca_version: 1\nisa: x86\nports: ['0']\ninstruction_forms: []\n",
        "- llvmName: 3\n",
        "- llvmName: ADD64rr\n  throughput: [1]\n",
    ],
)
def test_what_cannot_be_read_is_a_problem(text: str) -> None:
    parsed = parsed_of(text)
    assert parsed.problem_count
    assert (parsed.measured, parsed.mapping, parsed.latencies) == ((), None, {})


# --- stored -----------------------------------------------------------------------------------------------


@needs_llvm
def test_the_shell_imports_each_part(default_x86: ISA, tmp_path: Path) -> None:
    said = io.StringIO()
    path = GOLDEN / "winic.yaml"
    call_command("import", str(path), "--microarchitecture", "throughputs", "latencies", stdout=said)
    made = ExperimentSet.objects.get(name="winic")
    latencies = LatencySet.objects.get(name="winic")
    assert made.measurements.count() == 1
    assert latencies.machine.kind == Machine.Kind.PUBLISHED
    row = latencies.schemes.get(scheme__text=SHLD)
    assert (row.isolated, row.least, row.most) == (2, 3, 4)
    assert "latency set 'winic'" in said.getvalue()
    again = io.StringIO()
    call_command("import", str(path), "--name", "second", stdout=again)
    assert "--microarchitecture latencies" in again.getvalue()


def test_an_imported_machine_model_predicts_as_a_core_model(default_x86: ISA) -> None:
    content = (GOLDEN / "osaca.yml").read_bytes()
    ports = commit(preview(content, "osaca.yml"), "ports").row
    latencies = commit(preview(content, "osaca.yml", microarchitecture="latencies"), "latencies").row
    assert isinstance(ports, PortMapping)
    assert isinstance(latencies, LatencySet)
    assert latencies.machine.cpu == "Toy core"
    model = core_model_of_parts(
        StoredCoreModel(name="toy", isa=default_x86, mapping=ports, latencies=latencies)
    )
    assert model.latencies[ADD] == {("1", "1"): 2.0, ("2", "1"): 2.0}
    assert model.mapping is not None
    assert model.mapping.usage[ADD] == ((0b100, 1),)
