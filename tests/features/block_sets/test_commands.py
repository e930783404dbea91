"""`manage.py block-sets`, `coverage` and `matrix`: what they make of their arguments and what they tell."""

from __future__ import annotations

import importlib
import io
import json

import pytest
from django.core.management import CommandError, call_command, get_commands

from anica_app.models import Campaign
from inference.formats.block_sets import BlockSetOptions
from inference.formats.blocks_csv import BrokenRows
from inference.models import BasicBlockSet, Predictor, Run
from inference.storage.block_sets import store

pytestmark = pytest.mark.django_db

TEXT = b"bb,one,two\n4801d8,1.0,1.1\n480fafc3,1.0,3.0\n4829d8,2.0,-1\n"


@pytest.fixture
def block_set() -> BasicBlockSet:
    return store(io.BytesIO(TEXT), "b.csv", "three blocks", BlockSetOptions())[0]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch):
    """The runs that commands would do, with the result that is put into `result`."""
    runs: list[Run] = []
    results: dict[str, dict[str, object]] = {}

    def do_run(self, submitted):
        run = submitted()
        run.result = results.get(run.kind, {})
        runs.append(run)
        return run

    for name in ("block-sets", "coverage", "matrix"):
        module = importlib.import_module(f"{get_commands()[name]}.management.commands.{name}")
        monkeypatch.setattr(module.Command, "do_run", do_run)
    return runs, results


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    call_command(*arguments)
    return capsys.readouterr().out


def test_sets_are_listed_and_told_in_numbers(capsys, block_set: BasicBlockSet) -> None:
    assert "three blocks         3 blocks   2 columns  b.csv" in told(capsys, "block-sets")
    assert json.loads(told(capsys, "block-sets", "--json"))["block_sets"][0]["columns"] == 2
    assert "two: 2 numbers, 1 failures, 1.1 to 3 cycles" in told(capsys, "block-sets", "three blocks")
    found = json.loads(told(capsys, "block-sets", "three blocks", "--json"))
    assert (found["blocks"], found["columns"][1]["failures"]) == (3, 1)


def test_the_import_is_told_in_one_table(capsys) -> None:
    text = b"bb,one\n4801d8,1\n4801d8,1\n06,1\n07,1\nzz,1\n,1\n"
    store(io.BytesIO(text), "b.csv", "some", BlockSetOptions(BrokenRows.SKIP))
    table = told(capsys, "block-sets", "some").partition("What was imported\n")[2].splitlines()
    assert [line.split(maxsplit=1)[0] for line in table] == ["Outcome", *["imported"] * 2, *["left"] * 4]
    assert table[1].split(maxsplit=2)[1:] == ["2", "b.csv, basic blocks (CSV)"]
    assert table[2].endswith("1  the same block as before: line 3")
    assert table[3].endswith("1  without a block")
    assert all(line.endswith(f"(line {row})") for line, row in zip(table[4:], (4, 5, 6), strict=True))


def test_columns_are_compared(capsys, block_set: BasicBlockSet) -> None:
    text = told(capsys, "block-sets", "three blocks", "--accuracy", "one")
    assert text.splitlines()[-1].split() == ["two", "2", "1", "2", "105.00", "–", "–", "–"]
    found = json.loads(told(capsys, "block-sets", "three blocks", "--accuracy", "one", "--json"))
    assert found["columns"][0]["worst"] == [1, 0]
    with pytest.raises(CommandError, match="only one, two"):
        call_command("block-sets", "three blocks", "--accuracy", "three")
    with pytest.raises(CommandError, match="three blocks"):
        call_command("block-sets", "three block")
    with pytest.raises(CommandError, match="name the set"):
        call_command("block-sets", "--accuracy", "one")


def test_a_predictor_is_asked_for_a_column(capsys, asked, block_set: BasicBlockSet) -> None:
    tool = Predictor.objects.create(name="tool", kind="planted", key="t" * 64)
    told(capsys, "block-sets", "three blocks", "--ask", "tool")
    (run,) = asked[0]
    assert (run.kind, run.config) == (
        "columns",
        {"block_set": block_set.pk, "predictors": [tool.pk], "mode": ""},
    )


def test_coverage_tells_what_is_left(capsys, asked, block_set: BasicBlockSet) -> None:
    runs, results = asked
    row = Campaign.objects.create(name="scans", origin="run")
    results["coverage"] = {"blocks": 4, "covered": 3, "uncovered": ["480fafc3"]}
    arguments = (
        "--set",
        "three blocks",
        "--columns",
        "one",
        "two",
        "--metric",
        "absolute",
        "--threshold",
        "2",
    )
    text = told(capsys, "coverage", "scans", *arguments)
    assert "3 of 4 interesting blocks are included, 75.0 %" in text
    assert "480fafc3  imul rax, rbx" in text
    config = runs[0].config
    assert (config["campaigns"], config["block_set"], config["columns"]) == (
        [row.pk],
        block_set.pk,
        ["one", "two"],
    )
    assert config["interest"]["metric"] == "absolute"
    assert json.loads(told(capsys, "coverage", "scans", "--json"))["covered"] == 3
    with pytest.raises(CommandError, match="belong together"):
        call_command("coverage", "scans", "--set", "three blocks")


def test_a_matrix_is_printed_pair_by_pair(capsys, asked, block_set: BasicBlockSet) -> None:
    runs, results = asked
    columns = [{"name": name} for name in ("one", "two")]
    results["matrix"] = {"columns": columns, "both": [[3, 2], [2, 2]], "differing": [[0, 1], [1, 0]]}
    arguments = ("--set", "three blocks", "--column", "one", "--column", "two")
    assert told(capsys, "matrix", *arguments) == "one | two: 50.0 % (1 of 2 blocks)\n"
    assert runs[0].config["columns"] == list(block_set.columns.values_list("pk", flat=True))
    with pytest.raises(CommandError, match="needs --set"):
        call_command("matrix", "--column", "one")
