"""`manage.py compare-predictors`: what it makes of its arguments, and the tables that it writes."""

from __future__ import annotations

import csv
import importlib
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from inference.models import ExperimentSet, Run
from tests.features.engine import compared as small
from tests.work import work_off

pytestmark = pytest.mark.django_db


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> ExperimentSet:
    """A set with a mapping of its instruction set; runs are done in this process."""
    small.plant(monkeypatch)
    small.planted("counting")
    isa = small.few_schemes()
    small.ports(isa)

    def do_run(self, submitted) -> Run:
        return work_off(submitted())

    module = importlib.import_module("inference.management.commands.compare-predictors")
    monkeypatch.setattr(module.Command, "do_run", do_run)
    return small.measured_set(isa)


def test_the_table_has_a_line_per_column(capsys, measured: ExperimentSet):
    call_command("compare-predictors", "measured", "--mapping", "two ports", "--tool", "Oracle")
    told = capsys.readouterr()
    head, *lines = told.out.splitlines()
    assert head == "Compared with measured"
    found = {line[:11].strip(): line.split("  ") for line in lines[1:]}
    assert found.keys() == {"two ports", "Oracle"}
    cells = {name: [cell.strip() for cell in line if cell.strip()] for name, line in found.items()}
    assert cells["Oracle"][3:5] == ["83.33", "0.00"]  # it has not answered for the last
    assert cells["two ports"][3] == "66.67"  # two mixes have an instruction that the mapping lacks
    assert f"/comparisons/{Run.objects.get().pk}/" in told.err


def test_predictors_are_asked_and_answers_written(capsys, measured: ExperimentSet, tmp_path: Path):
    answers = tmp_path / "answers.csv"
    options = ("--predictor", "counting", "--csv", "-", "--answers", str(answers))
    call_command("compare-predictors", "measured", *options)
    written = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("#")]
    (row,) = csv.DictReader(written)
    assert row["predictor"] == "counting"
    lines = [line for line in answers.read_text().splitlines() if not line.startswith("#")]
    assert len(list(csv.DictReader(lines))) == len(small.MIXES)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("measure", "--tool", "Oracle"), "measure"),
        (("measured", "--mapping", "three ports"), "three ports"),
        (("measured", "--predictor", "countin"), "no predictor 'countin'"),
        (("measured", "--tool", "Oracle", "--csv", "/nowhere/at/all.csv"), "cannot be written"),
    ],
)
def test_what_does_not_exist_is_named(measured: ExperimentSet, arguments: tuple[str, ...], complaint: str):
    with pytest.raises(CommandError, match=complaint):
        call_command("compare-predictors", *arguments)
