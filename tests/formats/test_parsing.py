"""What files may say, and how a faulty one is told what is wrong with it."""

import io
import json
from pathlib import Path

import pytest

from inference.core.experiment import Experiment, Unit
from inference.formats.file_formats import FORMATS, FileContent, Format
from inference.formats.file_numbers import FileUnit
from inference.formats.import_formats import bytes_to_store, pack, read, unpack
from inference.formats.parsing import AnyNames, parse, resolve
from inference.isa import llvm_mc
from tests.formats.small_files import GOLDEN, TwoSchemes, csv, only_problem, pmevo

# --- what is accepted -------------------------------------------------------------------------------------


def test_a_csv_row_is_a_multiset_with_cycles_and_note() -> None:
    parsed = csv('experiment,cycles,unit,note\n"2*add R, R; mul R",1.5,,first\n')
    (result,) = parsed.measured
    assert result.experiment == Experiment.of({"add R, R": 2, "mul R": 1})
    assert (result.cycles, result.note) == (1.5, "first")
    assert parsed.problem_count == 0


@pytest.mark.parametrize(
    ("cell", "unit", "default", "cycles"),
    [
        ("0.5", "cpi", Unit.CYCLES, 1.5),
        ("0.5", "CPI", Unit.IPC, 1.5),
        ("2", "ipc", Unit.CYCLES, 1.5),
        ("2", "", Unit.IPC, 1.5),
        ("1.5", "cycles", Unit.CPI, 1.5),
    ],
)
def test_a_row_may_name_its_unit_and_otherwise_has_the_unit_of_the_file(
    cell: str, unit: str, default: Unit, cycles: float
) -> None:
    parsed = csv(f"experiment,cycles,unit\n2*a; b,{cell},{unit}\n", default)
    assert [result.cycles for result in parsed.measured] == [cycles]


def test_a_term_that_occurs_twice_adds_up() -> None:
    assert csv("experiment,cycles\n2*a; a; b,1\n").measured[0].experiment == Experiment.of({"a": 3, "b": 1})


@pytest.mark.parametrize("prefix", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_a_byte_order_mark_and_any_line_ends_are_accepted(prefix: bytes, newline: bytes) -> None:
    content = prefix + newline.join([b"Experiment, cycles", b'"a, b",1', b"", b"c,2e0"]) + newline
    parsed = parse(content, "upload.csv", AnyNames())
    assert [str(result.experiment) for result in parsed.measured] == ["a, b", "c"]


def test_columns_may_come_in_any_order_and_tools_become_annotations() -> None:
    parsed = csv("tool:IACA,cycles,experiment,tool:llvm-mca\n0,1,a,\n2.5,2,b,3\n")
    assert [dict(result.annotations) for result in parsed.measured] == [
        {"IACA": 0.0},
        {"IACA": 2.5, "llvm-mca": 3.0},
    ]


def test_pmevo_results_become_measurements_and_other_results_annotations() -> None:
    parsed = pmevo(
        {
            "iseq": ["a", "b", "a"],
            "result": {"cycles": 2},
            "other_results": [{"id": "IACA", "cycles": 0.0}, {"id": "OSACA", "cycles": None}],
        }
    )
    (result,) = parsed.measured
    assert result.experiment == Experiment.of({"a": 2, "b": 1})
    assert (result.cycles, dict(result.annotations)) == (2.0, {"IACA": 0.0})


@pytest.mark.parametrize("ports", [["0", "1", "10"], [0, 1, 10], None])
def test_pmevo_ports_may_be_texts_or_numbers_or_only_occur(ports: list[object] | None) -> None:
    arch = {} if ports is None else {"ports": ports}
    assignment = {"a": [[0, 1], [0, 1], ["10"]], "b": []}
    content = json.dumps({"kind": "Mapping3", "arch": arch, "assignment": assignment}).encode()
    mapping = parse(content, "mapping.json", AnyNames()).mapping
    assert mapping is not None
    assert mapping.ports == ("0", "1", "10")
    assert mapping.usage == {"a": ((0b011, 2), (0b100, 1)), "b": ()}


def test_names_are_replaced_by_the_schemes_they_mean_and_merged_ones_are_reported() -> None:
    parsed = parse(b'experiment,cycles\n"MUL_R_R; mul R, R",2\n', "upload.csv", TwoSchemes())
    assert parsed.measured[0].experiment == Experiment.of({"mul R, R": 2})
    assert parsed.merged == {"mul R, R": ("MUL_R_R", "mul R, R")}


PART_OF = {
    "uops-info-xml": ("uops-info-xml", "SKL"),
    "uops-info-measured": ("uops-info-xml", "SKL measured"),
    "osaca-ports": ("osaca", ""),
    "osaca-latencies": ("osaca", "latencies"),
    "winic-throughputs": ("winic", ""),
    "winic-latencies": ("winic", "latencies"),
    "instlat-throughputs": ("instlat", ""),
    "instlat-latencies": ("instlat", "latencies"),
    "insn-bench-throughputs": ("insn-bench", ""),
    "insn-bench-latencies": ("insn-bench", "latencies"),
    "rvv-bench-throughputs": ("rvv-bench", ""),
    "agner-throughputs": ("agner", ""),
    "agner-latencies": ("agner", "latencies"),
    "agner-ports": ("agner", "ports"),
}
"""Of formats with several parts: the file, and the part that is read."""


@pytest.mark.parametrize("format_", FORMATS, ids=lambda known: known.key)
def test_every_format_recognises_and_reads_its_golden_file(format_: Format) -> None:
    key, wanted = PART_OF.get(format_.key, (format_.key, ""))
    (path,) = GOLDEN.glob(f"{key}.*")
    if key.startswith(("exegesis", "winic")) and llvm_mc.program() is None:
        pytest.skip("llvm-mc is not installed, which knows LLVM's names of instructions")
    with path.open("rb") as file:
        content = bytes_to_store(file, path.name)
    parsed = resolve(read(content, path.name, part=wanted), AnyNames())
    assert parsed.format is format_
    if format_.content is FileContent.NAMES:
        assert only_problem(parsed).startswith(f"{path.name}: a list of names brings nothing by itself")
        return
    if format_.content is FileContent.REJECTS:
        assert "a list of rejected schemes brings nothing by itself" in only_problem(parsed)
        return
    assert parsed.lines() == []
    assert bool(parsed.measured) == (format_.content is FileContent.EXPERIMENTS)
    assert (parsed.mapping is not None) == (format_.content is FileContent.MAPPING)
    assert (parsed.resources is not None) == (format_.content is FileContent.RESOURCES)
    assert bool(parsed.latencies) == (format_.content is FileContent.LATENCIES)
    assert parsed.schemes


@pytest.mark.parametrize("said", ["\ud800", "a\0b", "", 5])
def test_a_mapping_whose_own_name_cannot_be_shown_has_none(said: object) -> None:
    document = json.loads((GOLDEN / "mapping-json.json").read_bytes()) | {"name": said, "isa": said}
    parsed = parse(json.dumps(document).encode(), "f", AnyNames())
    assert parsed.problem_count == 0
    assert not {"name", "isa"} & set(parsed.facts)


def test_limits_and_slots_are_read() -> None:
    document = json.loads((GOLDEN / "mapping-json.json").read_bytes())
    imul = "imul GPR[64]:RW, GPR[64]:R"
    document |= {"r_max": None, "limits": {"instructions": 5, "slots": 6}, "slots": {imul: 2}}
    mapping = parse(json.dumps(document).encode(), "f", AnyNames()).mapping
    assert mapping is not None
    assert (mapping.limits, mapping.slots) == ({"instructions": 5, "slots": 6}, {imul: 2})


@pytest.mark.parametrize("file", sorted(GOLDEN.iterdir()), ids=lambda file: file.name)
@pytest.mark.parametrize("unit", [None, FileUnit.IPC])
def test_what_was_read_is_the_same_after_it_was_kept(file: Path, unit: FileUnit | None) -> None:
    reading = read(bytes_to_store(io.BytesIO(file.read_bytes()), file.name), file.name, unit, "SKL")
    assert unpack(pack(reading)) == reading
