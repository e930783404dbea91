"""Two values for one key are both kept; values that are hard to believe are listed beside the import."""

from __future__ import annotations

from pathlib import Path

import pytest

from inference.core.experiment import MeasurementState
from inference.formats.doubts import difference, is_factor_of_two, memory_doubts
from inference.formats.import_formats import pack, read, unpack
from inference.formats.parsing import AnyNames, Parsed, resolve
from inference.isa import llvm_mc
from inference.models import ISA, ExperimentSet, LatencySet, PortMapping
from inference.storage.importing import DOUBTS, commit, preview

GOLDEN = Path(__file__).parent / "golden"
needs_llvm = pytest.mark.skipif(llvm_mc.program() is None, reason="llvm-mc is not installed")


def benchmarks(mode: str, *values: float, instruction: str = "ADD64rr RAX RAX RBX") -> bytes:
    return "".join(
        f"---\nmode: {mode}\nkey:\n  instructions:\n    - '{instruction}'\ncpu_name: toy\n"
        f"measurements:\n  - {{ key: {mode}, value: {value} }}\nerror: ''\ninfo: ''\n...\n"
        for value in values
    ).encode()


def parsed_of(content: bytes, name: str = "upload.yaml", part: str = "") -> Parsed:
    return resolve(unpack(pack(read(content, name, part=part))), AnyNames())


def winic(*entries: tuple[str, float]) -> bytes:
    operands = "".join(
        f"    - class: register\n      name: GPR\n      read: {read_it}\n      write: {write}\n"
        for read_it, write in (("false", "true"), ("true", "false"))
    )
    ends = "    - sourceOperand: '1'\n      targetOperand: '0'\n"
    return "".join(
        f"- llvmName: {name}\n  name: any\n  operands:\n{operands}  operandLatencies:\n{ends}"
        f"      latencyMin: {value}\n      latencyMax: {value}\n  throughput: {value}\n"
        for name, value in entries
    ).encode()


@needs_llvm
@pytest.mark.parametrize("values", [(1.0, 0.5), (0.5, 1.0)])
def test_a_doubled_throughput_does_not_win_over_the_right_one(values: tuple[float, float]) -> None:
    parsed = parsed_of(benchmarks("inverse_throughput", *values))
    assert parsed.lines() == []
    assert [result.cycles for result in parsed.measured] == list(values)
    assert {result.state for result in parsed.measured} == {MeasurementState.UNSETTLED}
    assert all("about twice or half as much" in result.note for result in parsed.measured)


@needs_llvm
def test_equal_throughputs_stay_settled() -> None:
    parsed = parsed_of(benchmarks("inverse_throughput", 0.5, 0.51))
    assert {result.state for result in parsed.measured} == {MeasurementState.SETTLED}


@needs_llvm
def test_two_latencies_of_one_scheme_are_a_range_and_a_doubt() -> None:
    parsed = parsed_of(benchmarks("latency", 2.0, 1.0))
    (entry,) = parsed.latencies.values()
    assert [(pair.least, pair.most) for pair in entry.pairs] == [(1.0, 2.0)]
    (kind,) = parsed.doubts
    assert (kind.count, kind.listed[0].cycles) == (1, 1.0)
    assert "about twice or half as much" in kind.line()


@needs_llvm
def test_another_encoding_is_left_out_with_both_numbers() -> None:
    parsed = parsed_of(winic(("ADD64rr", 0.25), ("ADD64rr_REV", 0.5)))
    assert [result.cycles for result in parsed.measured] == [0.25]
    (reason,) = parsed.left_out.values()
    assert reason.endswith("was measured as ADD64rr: 0.25 cycles, not 0.5, about twice or half as much")


@needs_llvm
def test_one_name_twice_stays_twice() -> None:
    parsed = parsed_of(winic(("ADD64rr", 0.25), ("ADD64rr", 0.5)))
    assert [result.cycles for result in parsed.measured] == [0.25, 0.5]
    assert {result.state for result in parsed.measured} == {MeasurementState.UNSETTLED}


@needs_llvm
@pytest.mark.django_db
def test_a_database_of_an_unknown_instruction_set_makes_a_new_one(default_x86: ISA) -> None:
    content = winic(("CLMULH", 0.5), ("AMOSWAP_B", 1.0))  # of extensions without schemes
    refused = preview(content, "x60.yaml")
    assert not refused.acceptable
    assert "import it as a new one" in refused.parsed.lines()[0]
    made = commit(preview(content, "x60.yaml", new_isa_name="a draft"), "X60")
    assert made.is_new_isa
    texts = ["AMOSWAP_B GPR:W, GPR:R", "CLMULH GPR:W, GPR:R"]
    assert sorted(made.isa.schemes.values_list("text", flat=True)) == texts
    latencies = commit(
        preview(content, "x60.yaml", isa=made.isa, microarchitecture="latencies"), "X60 latencies"
    )
    assert isinstance(latencies.row, LatencySet)
    (pair,) = latencies.row.schemes.get(scheme__text=texts[0]).pairs
    assert (pair["source"], pair["destination"], pair["most"]) == ("2", "1", 1.0)
    assert ExperimentSet.objects.get(name="X60").isa == made.isa


@pytest.mark.parametrize(
    ("core", "forwarding", "labels"),
    [
        ("ZEN3", 0.0, {"with a quick vector load", "with forwarding in no time"}),
        ("zen2", 0, {"with a quick vector load"}),
        ("HSW", 5.0, {"with a quick vector load"}),
        ("HSW", None, {"with a quick vector load"}),
    ],
)
def test_memory_of_a_foreign_model_is_doubted(core: str, forwarding: float | None, labels: set[str]) -> None:
    model = {
        "arch_code": core,
        "load_latency": {"gpr": 4.0, "xmm": 4.0, "ymm": 7, "zmm": "fast"},
        "store_to_load_forward_latency": forwarding,
    }
    assert {kind.label for kind in memory_doubts(model)} == labels


def test_a_model_that_says_nothing_of_memory_is_not_doubted() -> None:
    assert memory_doubts({}) == memory_doubts({"load_latency": [4], "arch_code": None}) == ()


@pytest.mark.django_db
@pytest.mark.parametrize("part", ["ports", "latencies"])
def test_doubts_stay_with_what_is_imported(default_x86: ISA, part: str) -> None:
    content = (GOLDEN / "osaca.yml").read_bytes()
    made = commit(preview(content, "osaca.yml", microarchitecture=part), "foreign").row
    if isinstance(made, PortMapping):
        assert "forwarding in no time" in "".join(made.report[DOUBTS])
    else:
        assert isinstance(made, LatencySet)
        assert "forwarding in no time" in made.note


@pytest.mark.parametrize(
    ("numbers", "is_double"),
    [((1, 2), True), ((2.2, 1), True), ((1, 1.5), False), ((0, 0), False), ((3, 1), False)],
)
def test_a_ratio_near_two_is_a_matter_of_units(numbers: tuple[float, float], is_double: bool) -> None:
    assert is_factor_of_two(*numbers) is is_double
    assert ("about twice" in difference(*numbers)) is is_double
