"""What is wrong with a file is said with its place and what would be right."""

import json
from typing import Any

import pytest

from inference.core.experiment import Unit
from inference.formats import experiment_csv, import_formats
from inference.formats.parsing import AnyNames, parse
from inference.formats.problems import MAX_LISTED
from tests.formats.small_files import GOLDEN, TwoSchemes, csv, only_problem, pmevo
from tests.zips import packed

HEADER = b"experiment,cycles,unit,note\n"


# --- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "fault"),
    [
        ("fast", "'fast' is not a number"),
        ("", "the number is missing"),
        ("nan", "'nan' is not a number"),
        ("inf", "'inf' is not a number"),
        ("-1", "'-1' is negative"),
        ("0", "cannot be a number of cycles"),
        ("1e999", "is not finite"),
        ("1e300", "cannot be a number of cycles"),
        ("1_0", "'1_0' is not a number"),
        ("٣", "is not a number"),
        ('"1,5"', "use a decimal point"),
    ],
)
def test_cycles_that_are_no_positive_number_are_refused(cell: str, fault: str) -> None:
    line = only_problem(csv(f"experiment,cycles\na,1\nb,{cell}\n"))
    assert line.startswith("upload.csv, row 3, column cycles: ")
    assert fault in line


@pytest.mark.parametrize(
    ("header", "fault"),
    [
        ("experiment", "the column 'cycles' is missing"),
        ("cycles", "the column 'experiment' is missing"),
        ("experiment,cycles,cycles", "the column 'cycles' occurs twice"),
        ("experiment,cycles,speed", "unknown column 'speed'"),
        ("experiment;cycles", "unknown column 'experiment;cycles'"),
    ],
)
def test_a_bad_header_is_told_what_it_should_be(header: str, fault: str) -> None:
    parsed = csv(f"{header}\na,1\n")
    assert fault in "\n".join(parsed.lines())
    assert "experiment,cycles[,unit,note]" in parsed.lines()[0]
    assert parsed.measured == ()


@pytest.mark.parametrize(
    ("experiment", "fault"),
    [
        ("", "the experiment has an empty term"),
        ("a;;b", "the experiment has an empty term"),
        ("0*a", "multiplicity 0"),
        ("000*a", "multiplicity 0"),
        (f"{'9' * 23}*a", "the experiment is too long"),
        ("2.5*a", "'2.5' before the * is no whole number"),
        ("-1 * a", "'-1' before the * is no whole number"),
        ("2*", "the name is empty"),
        ("999999999999*a", "the experiment is too long"),
        ("a" * 201, "has 201 characters"),
        ("a\x07b", "cannot be printed"),
    ],
)
def test_an_experiment_that_is_no_multiset_is_refused(experiment: str, fault: str) -> None:
    line = only_problem(csv(f"experiment,cycles\n{experiment},1\n"))
    assert line.startswith("upload.csv, row 2, column experiment: ")
    assert fault in line


def test_an_unquoted_experiment_is_told_about_quotes() -> None:
    line = only_problem(csv("experiment,cycles\nadd R, R,1\n"))
    assert "row 2: expected 2 fields, found 3; put an experiment with commas in double quotes" in line


def test_an_unknown_unit_is_told_the_known_ones() -> None:
    line = only_problem(csv("experiment,cycles,unit\na,1,seconds\n"))
    assert "row 2, column unit: 'seconds' is not a unit; one of cycles, cpi, ipc, hundredths" in line


def test_an_unknown_scheme_is_listed_once_with_the_nearest_known_one() -> None:
    content = b'experiment,cycles\n"ad R, R",1\n"add R, R; mul R, R",2\n"2*ad R, R",2\n'
    line = only_problem(parse(content, "upload.csv", TwoSchemes()))
    assert "row 2, column experiment: unknown scheme 'ad R, R' (in 2 rows)" in line
    assert line.endswith("the nearest known one is 'add R, R'")


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "the file is empty"),
        (b" \n\n", "the file is empty"),
        (b"\xef\xbb\xbf", "the file is empty"),
        ("experiment,cycles\na,1\n".encode("utf-16"), "encoded in UTF-16"),
        ("experiment,cycles\na,1\n".encode("utf-16-le"), "a NUL byte"),
        ("experiment,cycles,unit,note\na,1,,schnell wie nie: ä\n".encode("latin-1"), "row 2: the byte 0xe4"),
        (b"experiment,cycles\na\0,1\n", "row 2: a NUL byte"),
        (b"\x89PNG\r\n\x1a\n\x7f", "the byte 0x89 is not UTF-8"),
        (packed({"a/x.json": b"{}", "b.txt": b""}), "a zip archive that has 2 files: 'a/x.json', 'b.txt'"),
        (b"PK\x03\x04", "a zip archive that has no readable directory"),
        (b"experiment,cycles\n", "there is no row below the header"),
        (b'experiment,cycles\n"a,1\n', "the CSV cannot be read from here"),
        (b'experiment,cycles\n"a"b,1\n', "the CSV cannot be read from here"),
        (b"hello world", "the format is not recognised"),
        (b"[]", "the format is not recognised"),
        (b'{"kind": "Mapping2"}', "the format is not recognised"),
        (b'{"kind": "ExperimentList", "exps": [', "not valid JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[" + b"[]," * 3_000_000 + b"[]]", "more than 3,000,000 lists and objects"),
        (b'{"kind": "ExperimentList", "exps": [], "note": "' + b"[" * 3_100_000 + b'"}', "is empty"),
        (b'{"exps": 1' + b"0" * 5000 + b"}", "a number of thousands of digits"),
        (b'{"kind": "ExperimentList", "kind": "ExperimentList", "exps": []}', "'kind' occurs more than once"),
        (b'{"kind": "ExperimentList", "exps": []}', "the list of experiments is empty"),
        (b'{"kind": "ExperimentList", "exps": {}}', "column exps: an object is not a list"),
        (b'{"kind": "ExperimentList"}', "column exps: null is not a list"),
        (b'{"kind": "Mapping3", "assignment": {}}', "the assignment is empty"),
        (b'{"kind": "Mapping3", "assignment": {"a": [[]]}, "arch": {"ports": [0]}}', "a µop without ports"),
        (b'{"kind": "Mapping3", "assignment": {"a": [[1]]}, "arch": {"ports": [0]}}', "there is no port '1'"),
        (b'{"kind": "Mapping3", "assignment": {"a": [[0]]}, "arch": {"ports": [0, "0"]}}', "listed twice"),
        (b'{"kind": "Mapping3", "assignment": {"a": [[true]]}}', "a name cannot be true"),
        (b'{"kind": "Mapping3", "assignment": {"a": 3}}', "3 is not a list"),
        (b'{"kind": "Mapping3", "assignment": {"a": []}}', "0 ports; 1 to 63 ports are expected"),
        (b'{"format": "pmweb-port-mapping", "version": 2}', "version 2 of the format"),
        (b'{"format": "pmweb-port-mapping", "version": 1}', "null is not a list"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused_with_its_reason(content: bytes, fault: str) -> None:
    parsed = parse(content, "upload", AnyNames())
    assert fault in "\n".join(parsed.lines())
    assert parsed.measured == ()
    assert parsed.mapping is None


@pytest.mark.parametrize(
    ("experiment", "place", "fault"),
    [
        (3, "exps", "3 is not an object"),
        ({"iseq": "a"}, "iseq", "'a' is not a list"),
        ({"iseq": []}, "iseq", "the experiment is empty"),
        ({"iseq": ["a"]}, "result", "null is not an object"),
        ({"iseq": ["a"], "result": {"cycles": "1"}}, "result.cycles", "'1' is not a number"),
        ({"iseq": ["a"], "result": {"cycles": True}}, "result.cycles", "true is not a number"),
        ({"iseq": ["a"], "result": {"cycles": float("nan")}}, "result.cycles", "nan is not finite"),
        ({"iseq": ["a"], "result": {"cycles": 10**400}}, "result.cycles", "inf is not finite"),
        ({"iseq": ["a"], "result": {"cycles": 0}}, "result.cycles", "cannot be a number of cycles"),
        ({"iseq": ["\ud800"], "result": {"cycles": 1}}, "iseq", "cannot be printed"),
        (
            {"iseq": ["a"], "result": {"cycles": 1}, "other_results": [{"id": "T", "cycles": -1}]},
            "other_results.cycles",
            "-1.0 cannot be a number of cycles",
        ),
        (
            {"iseq": ["a"], "result": {"cycles": 1}, "other_results": [{"id": "T", "cycles": 1}] * 2},
            "other_results.id",
            "two results of 'T'",
        ),
    ],
)
def test_a_faulty_pmevo_experiment_is_named_by_its_number(experiment: object, place: str, fault: str) -> None:
    good = {"iseq": ["a"], "result": {"cycles": 1}}
    line = only_problem(pmevo(good, experiment))
    assert line.startswith(f"upload.json, row 2, column {place}: ")
    assert fault in line


def test_one_look_finds_all_that_is_wrong_with_a_row_in_the_order_of_the_rows() -> None:
    content = HEADER + b'"ad R, R",-1,,\n"add R, R",1.0,,\n"mul R, R",fast,,\n"ad R, R",2,,\n'
    parsed = parse(content, "upload.csv", TwoSchemes())
    assert [(problem.row, problem.column) for problem in parsed.problems] == [
        (2, "cycles"),
        (2, "experiment"),
        (4, "cycles"),
    ]
    assert parsed.problem_count == 3
    assert "unknown scheme 'ad R, R' (in 2 rows)" in parsed.problems[1].message


@pytest.mark.parametrize(("unknown", "foreign"), [(4, False), (5, True)])
def test_a_file_of_many_unknown_names_is_told_of_instruction_sets(unknown: int, foreign: bool) -> None:
    rows = "".join(f'"insn{k} R, R",1.0,,\n' for k in range(unknown))
    parsed = parse(HEADER + rows.encode(), "upload.csv", TwoSchemes())
    said = f"{unknown} of {unknown} scheme names are unknown"
    assert any(said in problem.message for problem in parsed.problems) == foreign
    assert parsed.problem_count == unknown + foreign


def test_two_names_of_one_scheme_with_different_uops_clash() -> None:
    assignment = {"mul R, R": [[0]], "MUL_R_R": [[1]]}
    content = json.dumps({"kind": "Mapping3", "assignment": assignment}).encode()
    line = only_problem(parse(content, "mapping.json", TwoSchemes()))
    assert "are one scheme with different µops" in line


def test_a_unit_cannot_be_chosen_for_a_format_that_has_only_cycles() -> None:
    content = (GOLDEN / "pmevo-experiments.json").read_bytes()
    assert "always holds cycles" in only_problem(parse(content, "f", AnyNames(), Unit.IPC))


def test_many_problems_are_counted_but_only_the_first_are_listed() -> None:
    parsed = csv("experiment,cycles\n" + "a,x\n" * 5000)
    assert parsed.problem_count == 5000
    assert len(parsed.problems) == MAX_LISTED
    assert parsed.lines()[-1] == f"upload.csv: {5000 - MAX_LISTED} more problems"


def test_thousands_of_columns_are_a_problem_like_any_other() -> None:
    header = ",".join(["experiment", "cycles", *(f"c{k}" for k in range(5000))])
    assert "5002 columns, where 100 are the most" in only_problem(csv(f"{header}\n{'x,' * 5001}x\n"))
    tools = ",".join(["experiment", "cycles", *(f"tool:{k}" for k in range(5000))])
    assert "5002 columns" in only_problem(csv(f"{tools}\n{'1,' * 5001}1\n"))


def test_more_rows_or_names_than_anybody_has_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiment_csv, "ENTRY_LIMIT", 3)
    assert csv("experiment,cycles\n" + "a,x\n" * 5000).problem_count == 4
    monkeypatch.setattr(import_formats, "SCHEME_LIMIT", 2)
    assert "3 different scheme names" in only_problem(csv("experiment,cycles\na,1\nb,1\nc,1\n"))


@pytest.mark.parametrize("r_max", [5e-324, 1e-300, 0, -1, 1e300])
def test_an_r_max_that_no_processor_has_is_refused(r_max: float) -> None:
    document = json.loads((GOLDEN / "mapping-json.json").read_bytes()) | {"r_max": r_max}
    assert "cannot be R_max" in only_problem(parse(json.dumps(document).encode(), "f", AnyNames()))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"limits": {"slots": 0}}, "0.0 cannot be a limit; slots per cycle, from 0.001 to 1000, or null"),
        ({"limits": {"µops": 4}}, "a limit of 'µops'"),
        ({"r_max": 4, "limits": {"instructions": 5}}, "R_max 4, and a limit of 5 instructions"),
        ({"slots": {"div": 1}}, "slots of 'div'; a scheme that the usage lists"),
        ({"slots": {"imul GPR[64]:RW, GPR[64]:R": 0}}, "0 slots; a whole number from 1 to 10000"),
        ({"slots": {"imul GPR[64]:RW, GPR[64]:R": True}}, "slots; a whole number"),
    ],
)
def test_slots_that_no_processor_has_are_refused(changes: dict[str, Any], complaint: str) -> None:
    document = json.loads((GOLDEN / "mapping-json.json").read_bytes()) | {"r_max": None} | changes
    assert complaint in only_problem(parse(json.dumps(document).encode(), "f", AnyNames()))
