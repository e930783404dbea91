"""Cells that no spreadsheet takes for a formula, and that read back as they were."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.experiment import Experiment, Measured
from inference.formats.experiment_csv import SIGNATURE, read_experiment_csv, write_experiment_csv
from inference.formats.quoting import cell, csv_text, plain_text, safe_text
from inference.formats.source import Source

DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n")
TRICKY = st.text(alphabet="'=+-@ \tab1", max_size=6) | st.text(max_size=20)


@given(TRICKY)
def test_a_text_is_never_a_formula_and_reads_back(text: str) -> None:
    written_so = safe_text(text)
    assert not written_so.startswith(DANGEROUS)
    assert not written_so.lstrip(" ").startswith(DANGEROUS[:4])
    assert plain_text(written_so) == text


def test_numbers_stay_numbers_and_nothing_is_an_empty_cell() -> None:
    assert [cell(value) for value in (-0.25, -3, None, True, "-x")] == ["-0.25", "-3", "", "True", "'-x"]


def test_a_table_has_its_comments_above_the_header() -> None:
    text = csv_text(["a", "b"], [["=1+1", -1.5]], "# made by: somebody\n")
    assert text == "# made by: somebody\na,b\n'=1+1,-1.5\n"


@pytest.mark.parametrize("note", ["=HYPERLINK(1)", "+1", "-1", "@x", "'quoted", "'=1", "plain, with comma"])
def test_notes_and_names_of_measurements_survive_the_way_out_and_in(note: str) -> None:
    measured = Measured(Experiment.of({"-odd name": 1, "b": 2}), 1.5, note=note, annotations={"=tool": 2.0})
    text = write_experiment_csv([measured], head='# note: "quoted, and so on\n# cite: x\n')
    for row in csv.reader(io.StringIO(text)):
        assert not any(each.startswith(DANGEROUS[:4]) for each in row)
    source = Source("a.csv", text)
    assert SIGNATURE.is_of(source)
    (entry,) = read_experiment_csv(source).experiments
    assert not source.problems
    assert (entry.note, dict(entry.annotations), dict(entry.terms)) == (
        note, {"=tool": 2.0}, {"-odd name": 1, "b": 2},
    )  # fmt: skip


def test_rows_are_numbered_as_an_editor_does_below_comments() -> None:
    text = '# one, "two\n\n# three\nexperiment,cycles\nadd,1\nadd,fast\n'
    source = Source("a.csv", text)
    read_experiment_csv(source)
    (problem,) = source.problems.listed
    assert problem.row == 6
