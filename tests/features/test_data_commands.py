"""`import`, `evaluate`, `predict`, `export` and `load-isa` as scripts use them."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from inference.core.mapping import PortMapping as Mapping
from inference.isa.targets import X86, target_of
from inference.models import ISA, Evaluation, ExperimentSet, PortMapping
from inference.storage.instruction_sets import add_schemes, new_isa, store_isa
from inference.storage.mappings import load_mapping, store_mapping
from inference.storage.rows import load_measurements

CSV = 'experiment,cycles,tool:IACA\n"2*add R, R; mul R, R",1.5,1.5\n"add R, R",0.5,\n'
MAPPING = {
    "kind": "Mapping3",
    "arch": {"ports": ["0", "1"]},
    "assignment": {"add R, R": [["0", "1"]], "mul R, R": [["0"]]},
}


@pytest.fixture
def toy(db: None) -> ISA:
    return new_isa("toy", ["add R, R", "mul R, R"], "by hand")


def manage(*arguments: object, **options: object) -> str:
    out = StringIO()
    call_command(*(str(argument) for argument in arguments), stdout=out, **options)
    return out.getvalue()


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def imported(toy: ISA, tmp_path: Path) -> None:
    manage("import", written(tmp_path, "mixes.csv", CSV))
    manage("import", written(tmp_path, "theirs.json", json.dumps(MAPPING)))


def test_import_recognises_the_format_and_says_what_it_made(toy: ISA, tmp_path: Path) -> None:
    said = manage("import", written(tmp_path, "mixes.csv", CSV))
    assert said == "experiment set 'mixes': 2 measurements, instruction set toy\n"
    said = manage(
        "import", written(tmp_path, "m.json", json.dumps(MAPPING)), "--name", "theirs", "--note", "n"
    )
    assert said == "port mapping 'theirs': 2 schemes, instruction set toy\n"
    assert PortMapping.objects.get().note == "n"
    assert load_measurements(ExperimentSet.objects.get())[1].cycles == 0.5


def test_import_of_a_faulty_file_lists_its_problems_and_stores_nothing(toy: ISA, tmp_path: Path) -> None:
    path = written(tmp_path, "bad.csv", CSV + '"ad R, R",1,\n"add R, R",fast,\n')
    with pytest.raises(CommandError) as refusal:
        manage("import", path)
    lines = str(refusal.value).splitlines()
    assert lines[0] == "nothing was imported"
    assert lines[1].startswith("bad.csv, row 4, column experiment: unknown scheme 'ad R, R'; the nearest")
    assert lines[2].startswith("bad.csv, row 5, column cycles: 'fast' is not a number")
    assert not ExperimentSet.objects.exists()


def test_import_under_a_name_in_use_suggests_another(imported: None, tmp_path: Path) -> None:
    path = written(tmp_path, "mixes.csv", CSV)
    for arguments in ((), ("--name", "mixes")):
        with pytest.raises(CommandError, match=r"another experiment set is named 'mixes'.*'mixes \(2\)'"):
            manage("import", path, *arguments)
    assert ExperimentSet.objects.count() == 1


def test_import_of_an_absent_file_says_so(toy: ISA, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"absent\.csv cannot be read: No such file"):
        manage("import", tmp_path / "absent.csv")


def test_import_can_be_told_the_instruction_set_and_the_unit(toy: ISA, tmp_path: Path) -> None:
    path = written(tmp_path, "mixes.csv", CSV)
    said = manage("import", path, "--new-isa", "fresh", "--unit", "cpi")
    assert said.splitlines()[0] == "new instruction set 'fresh': 2 schemes"
    assert load_measurements(ExperimentSet.objects.get())[0].cycles == 4.5
    assert "instruction set fresh" in manage("import", path, "--isa", "fresh", "--name", "again")
    with pytest.raises(CommandError, match="no ISA named 'frsh': did you mean 'fresh'"):
        manage("import", path, "--isa", "frsh", "--name", "third")
    with pytest.raises(CommandError, match="exclude each other"):
        manage("import", path, "--isa", "fresh", "--new-isa", "other")


def test_evaluate_prints_one_json_object_and_stores_the_evaluation(imported: None) -> None:
    for _ in range(2):
        answer = json.loads(manage("evaluate", "--mapping", "theirs", "--dataset", "mixes", "--json"))
        assert answer == {"n": 2, "mape": 0.0, "pearson": pytest.approx(1), "kendall": pytest.approx(1)}
    assert Evaluation.objects.get().unit == "cycles"
    in_ipc = manage("evaluate", "--mapping", "theirs", "--dataset", "mixes", "--unit", "ipc")
    assert "theirs on mixes, in instructions per cycle:" in in_ipc
    assert "MAPE 0.00 %" in in_ipc


def test_evaluate_scores_a_tool_whose_answers_came_along(imported: None) -> None:
    answer = json.loads(manage("evaluate", "--tool", "IACA", "--dataset", "mixes", "--json"))
    assert answer == {"n": 1, "mape": 0.0, "pearson": None, "kendall": None}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--mapping", "their", "--dataset", "mixes"),
            "no port mapping named 'their': did you mean 'theirs'",
        ),
        (("--mapping", "theirs", "--dataset", "mix"), "no experiment set named 'mix': did you mean 'mixes'"),
        (("--tool", "uiCA", "--dataset", "mixes"), "named 'uiCA': did you mean 'IACA'"),
    ],
)
def test_evaluate_lists_the_nearest_names(imported: None, arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        manage("evaluate", *arguments, "--json")


def test_predict_says_what_limits_each_mapping_and_how_far_loads_can_vary(
    imported: None, tmp_path: Path
) -> None:
    wide = {**MAPPING, "arch": {"ports": ["0", "1", "2"]}, "assignment": {"add R, R": [["1", "2"]]}}
    wide["assignment"]["mul R, R"] = [["0"], ["0"], ["0"]]
    manage("import", written(tmp_path, "wide.json", json.dumps(wide)))
    PortMapping.objects.filter(name="theirs").update(r_max=0.5)
    assert manage("predict", "2*add R, R; mul R, R").splitlines() == [
        "2*add R, R; mul R, R: 3 instructions",
        "measured: 1.500 cycles",
        "",
        "wide: 3.000 cycles (+100.0 % of the measurement), limited by port 0",
        "  port 0  3.000",
        "  port 1  1.000, can be 0.000 to 2.000",
        "  port 2  1.000, can be 0.000 to 2.000",
        "",
        "theirs: 6.000 cycles (+300.0 % of the measurement), limited by R_max; ports alone: 1.500",
        "  port 0  1.500, can be 1.000 to 3.000",
        "  port 1  1.500, can be 0.000 to 2.000",
        "  R_max   6.000",
    ]


def test_predict_prints_one_json_object_of_the_mappings_asked_for(imported: None, tmp_path: Path) -> None:
    manage("import", written(tmp_path, "again.json", json.dumps(MAPPING)))
    answer = json.loads(manage("predict", "3*ADD r, r", "--mapping", "theirs", "--json"))
    assert (answer["experiment"], answer["isa"], answer["instructions"]) == ("3*add R, R", "toy", 3)
    assert answer["measured"] is None
    (said,) = answer["predictions"]
    assert (said["mapping"], said["error"]) == ("theirs", None)
    assert (said["cycles"], said["limited_by"]) == (1.5, "ports")
    assert [(port["name"], port["load"], port["least"]) for port in said["ports"]] == [
        ("0", 1.5, 1.5),
        ("1", 1.5, 1.5),
    ]
    both = json.loads(manage("predict", "add R, R", "--mapping", "again", "--mapping", "theirs", "--json"))
    assert [each["mapping"] for each in both["predictions"]] == ["again", "theirs"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("add R, R", "--mapping", "their"), "no port mapping named 'their': did you mean 'theirs'"),
        (("ad R, R",), r"toy has no scheme 'ad R, R'\ndid you mean 'add R, R'"),
        (("0*add R, R",), "multiplicity 0"),
        (("add R, R", "--isa", "toys"), "no ISA named 'toys': did you mean 'toy'"),
        (("sub R, R",), "no mapping describes all of these schemes"),
        (("add R, R", "--resource-mapping", "x"), "no resource mapping named 'x'"),
        (("sub R, R", "--mapping", "theirs"), "'theirs' do not describe all of these schemes"),
        (("add R, R", "--mapping", "theirs", "--mapping", "alien"), "several instruction sets: alien, toy"),
    ],
)
def test_predict_says_what_it_cannot_do(imported: None, arguments: tuple[str, ...], message: str) -> None:
    add_schemes(ISA.objects.get(), ["sub R, R"], {})
    store_mapping("alien", new_isa("alien", ["x"], "by hand"), Mapping(("0",), {"x": ()}), origin="import")
    with pytest.raises(CommandError, match=message):
        manage("predict", *arguments)


def test_predict_shows_resource_mappings_beside_port_mappings(imported: None) -> None:
    manage("convert", "theirs", "--name", "as resources")
    said = manage("predict", "2*add R, R; mul R, R").splitlines()
    assert said[-1].startswith("as resources: 1.500 cycles (+0.0 % of the measurement), limited by resource")
    assert any(line.startswith("theirs: 1.500 cycles") for line in said)
    alone = json.loads(manage("predict", "mul R, R", "--resource-mapping", "as resources", "--json"))
    assert alone["predictions"] == []
    (told,) = alone["resource_predictions"]
    assert (told["resource_mapping"], told["cycles"], told["error"]) == ("as resources", 1.0, None)
    assert len(told["limited_by"]) == 1
    assert "as resources" not in manage("predict", "mul R, R", "--mapping", "theirs")
    PortMapping.objects.all().delete()
    assert manage("predict", "mul R, R").splitlines()[-1].startswith("as resources: 1.000 cycles, limited by")


def test_predict_needs_a_mapping(toy: ISA) -> None:
    with pytest.raises(CommandError, match="there is no mapping"):
        manage("predict", "add R, R")


@pytest.mark.parametrize("form", ["json", "pmevo"])
def test_an_exported_mapping_can_be_imported_again(imported: None, tmp_path: Path, form: str) -> None:
    path = tmp_path / "copy.json"
    assert manage("export", "mapping", "theirs", "--format", form, "--output", path) == ""
    assert path.read_text() == manage("export", "mapping", "theirs", "--format", form)
    manage("import", path, "--name", "copy")
    original, copy = (PortMapping.objects.get(name=name) for name in ("theirs", "copy"))
    assert load_mapping(copy) == load_mapping(original)
    assert copy.isa == original.isa


def test_an_exported_set_can_be_imported_again(imported: None, tmp_path: Path) -> None:
    path = written(tmp_path, "copy.csv", manage("export", "set", "mixes"))
    manage("import", path)
    original, copy = (ExperimentSet.objects.get(name=name) for name in ("mixes", "copy"))
    assert load_measurements(copy) == load_measurements(original)


def test_export_says_what_it_cannot_do(imported: None, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be exported as 'xml'; formats: json, pmevo"):
        manage("export", "mapping", "theirs", "--format", "xml")
    with pytest.raises(CommandError, match="no port mapping named 'mine': did you mean 'theirs'"):
        manage("export", "mapping", "mine")
    with pytest.raises(CommandError, match="cannot be written: No such file or directory"):
        manage("export", "set", "mixes", "--output", tmp_path / "absent" / "copy.csv")


def test_load_isa_does_nothing_where_the_instruction_set_is_up_to_date(db: None) -> None:
    isa = store_isa(X86, (), target_of(X86).schemes.source())
    assert manage("load-isa") == f"{X86}: already up to date ({isa.source})\n"
    assert not isa.schemes.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["evaluate", "--mapping", "m", "--dataset", "d"],
        ["export", "mapping", "m"],
        ["import", __file__],
        ["predict", "add R, R"],
        ["infer", "--algorithm", "pmevo", "--dataset", "d"],
    ],
)
def test_without_data_a_command_says_how_to_get_some(db: None, arguments: list[str]) -> None:
    with connection.cursor() as cursor:
        for table in ("isa", "experimentset", "portmapping"):
            cursor.execute(f"ALTER TABLE inference_{table} RENAME TO {table}_gone")
    with pytest.raises(CommandError, match=r"no usable database in .* Start the site once"):
        manage(*arguments)


PALMED = {
    "instr_to_class": {"ADD_GPR64i64_GPR64i64": "A", "SUB_GPR64i64_GPR64i64": "A"},
    "class_to_resources": {"A": {"resource_use": [[0.25, "R0"]]}},
}


def test_import_of_a_palmed_file_says_what_has_a_scheme_and_names_the_rest(toy: ISA, tmp_path: Path) -> None:
    path = written(tmp_path, "zen.json", json.dumps(PALMED))
    names = written(tmp_path, "names.json", json.dumps({"add R, R": ["ADD_GPR64i64_GPR64i64"]}))
    assert manage("import", path, "--names", names, "--isa", "toy").splitlines() == [
        "resource mapping 'zen': 1 schemes, instruction set toy",
        "1 of the file's 2 instructions have a scheme in toy",
        "1 skipped:",
        "  SUB_GPR64i64_GPR64i64: the instruction set has no such scheme",
    ]
    with pytest.raises(CommandError, match=r"^zen\.json: this is no list of names"):
        manage("import", path, "--names", path)


def test_a_port_mapping_is_converted_exported_and_imported_again(imported: None, tmp_path: Path) -> None:
    assert manage("convert", "theirs") == "resource mapping 'theirs as resources': 2 resources\n"
    text = manage("export", "resource-mapping", "theirs as resources")
    again = written(tmp_path, "again.json", text)
    assert manage("import", again, "--name", "again").startswith("resource mapping 'again': 2 schemes")
    scores = [
        manage("evaluate", *predictor, "--dataset", "mixes", "--json")
        for predictor in (("--mapping", "theirs"), ("--resource-mapping", "again"))
    ]
    assert scores[0] == scores[1]


def test_a_conversion_beyond_the_limit_says_how_many_resources_it_needs(imported: None) -> None:
    with pytest.raises(CommandError, match=r"needs 2 resources.*1 are allowed.*--max-resources"):
        manage("convert", "theirs", "--max-resources", "1")
    with pytest.raises(CommandError, match="max_resources must be a whole number"):
        manage("convert", "theirs", "--max-resources", "0")
    with pytest.raises(CommandError, match="no port mapping named 'thiers'"):
        manage("convert", "thiers")


EXPLAINED = {
    "uarchname": "Zen+",
    "peakipc": 5,
    "ports": [0, 1],
    "data": {
        "add R, R": {"portusage": [[[0, 1], 1]], "itp": 0.5, "numuops": 1},
        "mul R, R": {"portusage": [], "itp": 3.0, "numuops": 2},
    },
}


def test_import_of_explained_results_counts_outcomes_and_takes_what_runs_rejected(
    toy: ISA, tmp_path: Path
) -> None:
    path = written(tmp_path, "port_mapping.json", json.dumps(EXPLAINED))
    why = "Experiment with significantly non-integer number of surplus uops (1.5):\n ['add R, R', 'mul R, R']"
    rejects = [written(tmp_path, f"{k}.json", json.dumps([["mul R, R", why]])) for k in (1, 2)]
    manage("import", written(tmp_path, "mixes.csv", CSV))
    said = manage("import", path, "--rejects", *rejects, "--evidence", "mixes", "--isa", "toy")
    assert said.splitlines() == [
        "port mapping 'Zen+': 2 schemes, instruction set toy",
        "1 characterised, 1 excluded; 2 witnesses",
        "2 of the file's 2 instructions have a scheme in toy",
    ]
    excluded = PortMapping.objects.get().characterisations.get(outcome="excluded")
    assert excluded.text == "1.50 µops beside 1 × add R, R, no whole number"
    with pytest.raises(CommandError, match=r"^port_mapping\.json: this is no list of rejected schemes"):
        manage("import", path, "--rejects", path)
    with pytest.raises(CommandError, match="there is no experiment set named 'nowhere'"):
        manage("import", path, "--evidence", "nowhere")


def test_import_reads_one_microarchitecture_of_several(toy: ISA, tmp_path: Path) -> None:
    table = {"add R, R": [{"measurements": {"SKL": "1*p01", "ICL": "1*p0156"}}]}
    path = written(tmp_path, "table.json", json.dumps(table))
    with pytest.raises(CommandError, match=r"choose one \(--microarchitecture in the shell\): SKL, ICL"):
        manage("import", path, "--isa", "toy")
    manage("import", path, "--isa", "toy", "--microarchitecture", "ICL")
    assert load_mapping(PortMapping.objects.get(name="uops.info, Ice Lake")).ports == ("0", "1", "5", "6")
