"""Importing a file: all of it, or nothing and a list of what is wrong."""

from pathlib import Path

import pytest

from inference.core.experiment import Experiment, Unit
from inference.formats.problems import ExchangeError
from inference.models import ISA, ExperimentSet, PortMapping
from inference.models import Experiment as ExperimentRow
from inference.storage.errors import NameInUseError, RefusedError
from inference.storage.importing import commit, preview
from inference.storage.mappings import load_mapping
from inference.storage.rows import load_measurements

GOLDEN = Path(__file__).parent / "golden"
CSV = b'experiment,cycles\n"2*add R, R; mul R, R",1.5\nnop,0.25\n'


def everything() -> tuple[int, ...]:
    return tuple(model.objects.count() for model in (ISA, ExperimentSet, PortMapping, ExperimentRow))


def test_a_csv_becomes_a_set_of_the_instruction_set_that_knows_its_names(toy: ISA) -> None:
    seen = preview(CSV, "folder/first try.csv")
    assert (seen.isa, seen.name, seen.acceptable) == (toy, "first try", True)
    made = commit(seen, seen.name, note="by hand")
    assert isinstance(made.row, ExperimentSet)
    assert (made.rows, made.row.source, made.row.note) == (2, "first try.csv, experiments (CSV)", "by hand")
    assert [str(result.experiment) for result in load_measurements(made.row)] == [
        "2*add R, R; mul R, R",
        "nop",
    ]


def test_a_preview_stores_nothing(toy: ISA) -> None:
    before = everything()
    preview(CSV, "a.csv")
    preview(CSV, "a.csv", new_isa_name="new")
    assert everything() == before


def test_one_bad_row_keeps_the_whole_file_out(toy: ISA) -> None:
    before = everything()
    seen = preview(CSV + b"nop,-1\n", "a.csv")
    assert not seen.acceptable
    with pytest.raises(RefusedError, match=r"a\.csv has 1 problem; nothing was imported"):
        commit(seen, "a")
    assert everything() == before


def test_a_name_in_use_is_refused_before_anything_is_stored(toy: ISA) -> None:
    commit(preview(CSV, "a.csv"), "a")
    before = everything()
    seen = preview(CSV.replace(b"2*", b"3*"), "a.csv")
    assert (seen.own_name, seen.name) == ("a", "a (2)")
    with pytest.raises(NameInUseError, match=r"another experiment set is named 'a'.*'a \(2\)'"):
        commit(seen, seen.own_name)
    assert everything() == before


@pytest.mark.parametrize(("name", "length"), [("", 0), ("  ", 0), ("x" * 201, 201)])
def test_a_name_that_no_row_can_have_is_refused(toy: ISA, name: str, length: int) -> None:
    before = everything()
    with pytest.raises(ExchangeError, match=f"of this experiment set must have 1 to 200 .* not {length}"):
        commit(preview(CSV, "a.csv"), name)
    assert everything() == before


def test_a_file_of_an_unknown_instruction_set_can_found_it(toy: ISA) -> None:
    content = (GOLDEN / "pmevo-mapping.json").read_bytes()
    assert not preview(content, "pmevo-mapping.json").acceptable
    made = commit(preview(content, "pmevo-mapping.json", new_isa_name="TOY"), "theirs")
    assert isinstance(made.row, PortMapping)
    assert (made.isa.name, made.is_new_isa, made.rows) == ("TOY", True, 2)
    assert load_mapping(made.row).usage["NEG_((REG:RW:G:64))"] == ((1, 2),)
    again = preview((GOLDEN / "pmevo-experiments.json").read_bytes(), "pmevo-experiments.json")
    assert again.isa == made.isa
    assert again.acceptable


def test_founding_an_instruction_set_that_exists_stores_nothing(toy: ISA) -> None:
    before = everything()
    with pytest.raises(NameInUseError, match="'toy'"):
        commit(preview(CSV, "a.csv", new_isa_name="toy"), "a")
    assert everything() == before


def test_the_unit_of_unnamed_rows_can_be_chosen(toy: ISA) -> None:
    seen = preview(CSV, "a.csv", unit=Unit.CPI)
    assert [result.cycles for result in seen.parsed.measured] == [4.5, 0.25]


def test_without_any_instruction_set_it_is_said_how_to_get_one(db: None) -> None:
    with pytest.raises(ExchangeError, match=r"manage\.py load-isa"):
        preview(CSV, "a.csv")


@pytest.mark.parametrize(
    "content", [b"", b"\0\1\2", b"[" * 10_000, CSV + b"\xff", b'{"kind": "Mapping3", "assignment": 1}']
)
def test_a_file_that_cannot_be_read_is_previewed_with_its_problems(toy: ISA, content: bytes) -> None:
    seen = preview(content, "upload")
    assert not seen.acceptable
    assert seen.parsed.lines()
    assert seen.name == "upload"


def test_the_own_json_says_its_instruction_set_and_name(default_x86: ISA, toy: ISA) -> None:
    seen = preview((GOLDEN / "mapping-json.json").read_bytes(), "file.json")
    assert (seen.isa, seen.name) == (default_x86, "toy")
    assert [line for line in seen.parsed.lines() if "nop" not in line] == []


def test_names_of_pmevo_mean_x86_schemes(default_x86: ISA) -> None:
    seen = preview((GOLDEN / "pmevo-experiments.json").read_bytes(), "pmevo-experiments.json")
    assert seen.isa == default_x86
    assert seen.parsed.measured[1].experiment == Experiment.of(["add GPR[64]:RW, IMM[8]:R", "neg GPR[64]:RW"])
