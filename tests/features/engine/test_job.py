"""Runs that compare predictors on the measurements of a set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from inference.core.evaluator import Evaluator
from inference.core.experiment import Experiment
from inference.core.judging.sheet import ItemSelection
from inference.core.metrics import score
from inference.core.tables import ExperimentTable
from inference.features.judging.engine.evaluation_sheets import joined_tables
from inference.features.judging.engine.item_answers import block_of, sample_places
from inference.features.judging.engine.query import ComparisonPart, columns_of, comparison_rows, scores_of
from inference.features.judging.engine.request import read_lists
from inference.isa import x86
from inference.isa.blocks import block_of_bytes
from inference.isa.targets import X86
from inference.runs.errors import ConfigError
from inference.storage.answer_sheets import read_answers, read_sheet
from inference.storage.importing import commit, preview
from inference.storage.instruction_sets import store_isa
from tests.core.published import EVALUATION, published_experiments, published_mapping
from tests.features.engine import compared as small
from tests.features.engine.compared import ADD, IMUL

pytestmark = pytest.mark.django_db

SKL = Path(settings.SHARED) / "data" / "pmevo" / "SKL"


def test_an_experiment_becomes_copies_that_do_not_wait_for_each_other() -> None:
    made = block_of([(ADD, 2), (IMUL, 1)], 10)
    block = block_of_bytes(made.code)
    assert made.copies == 4  # the fewest with ten instructions
    assert dict(block.terms) == {ADD: 8, IMUL: 4}
    written = [one.text.split()[1].rstrip(",") for one in block.instructions]
    assert len(set(written[:10])) == 10  # ten in a row write to registers of their own
    refused = block_of([("no such thing", 1)])
    assert (refused.code, refused.copies) == (b"", 0)


def test_the_same_seed_draws_the_same_experiments() -> None:
    table = ExperimentTable.from_experiments([Experiment.of({ADD: n}) for n in range(1, 101)])
    assert sample_places(len(table), 100, 1).tolist() == list(range(100))
    drawn = sample_places(len(table), 10, 1)
    assert (
        drawn.tolist()
        == sample_places(len(table), 10, 1).tolist()
        != sample_places(len(table), 10, 2).tolist()
    )
    assert len(set(drawn.tolist())) == 10


def test_tables_are_joined_whatever_their_numbering() -> None:
    first = ExperimentTable.from_experiments([Experiment.of({"b": 1, "c": 2})], ("c", "b"))
    second = ExperimentTable.from_experiments([Experiment.of({"a": 3}), Experiment.of({"a": 1, "c": 1})])
    found = joined_tables([first, second])
    assert found.schemes == ("a", "b", "c")
    assert found.scheme.tolist() == [1, 2, 0, 0, 2]
    assert found.count.tolist() == [1, 2, 3, 1, 1]
    assert joined_tables([]).lengths.tolist() == []


def test_every_kind_of_column_answers_for_the_same_experiments(monkeypatch: pytest.MonkeyPatch) -> None:
    tool = small.plant(monkeypatch)
    isa = small.few_schemes()
    judge, other = small.measured_set(isa), small.measured_set(isa, "again", factor=2.0, first=2)
    run = small.compare(
        {
            "experiment_set": judge.pk,
            "mappings": [small.ports(isa).pk],
            "tools": ["Oracle", "nobody"],
            "other_sets": [other.pk],
            "predictors": [small.planted("counting").pk, small.planted("absent").pk],
        }
    )
    assert run.state == "done", run.error
    row = comparison_rows().get(run=run)
    columns = columns_of(row)
    said = [read_answers(column) for column in columns]
    nan = np.nan
    expected = [
        [0.5, 1.0, 1.5, nan, 2.0, nan],  # of two ports, the second without multiplication
        [*small.CYCLES[:5], nan],
        [nan] * 6,
        [nan, nan, *(2 * cycles for cycles in small.CYCLES[2:])],
        [0.5, 0.5, 1.5, nan, 2.0, nan],  # half a cycle per instruction, whatever the copies
        [nan] * 6,
    ]
    for found, cycles in zip(said, expected, strict=True):
        np.testing.assert_allclose(found.cycles, cycles)
    assert [found.lacking() for found in said] == [
        [("has schemes that the mapping does not describe", 2)],
        [("no answer came with the set", 1)],
        [("no answer came with the set", 6)],
        [("not measured there", 2)],
        [("unsupported", 2)],
        [("no answers at all", 6)],
    ]
    assert columns[-1].error == "it is not installed"
    assert (row.read, row.n, row.common) == (6, 6, 2)
    assert all(len(block_of_bytes(code).instructions) >= 10 for code in tool.asked)
    sheet = read_sheet(row.pk)
    assert sheet.reference.tolist() == small.CYCLES
    assert sheet.items.ids.tolist() == list(judge.measurements.order_by("pk").values_list("pk", flat=True))
    common = scores_of(columns[0], ComparisonPart(selection=ItemSelection(common=True)))
    assert common == score(small.CYCLES[2:3] + small.CYCLES[4:5], [1.5, 2.0])


def test_of_a_large_set_a_tool_is_asked_for_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    tool = small.plant(monkeypatch)
    isa = small.few_schemes()
    config = {"predictors": [small.planted("counting").pk], "most": 3, "instructions": 40}
    run = small.compare({"experiment_set": small.measured_set(isa).pk, **config})
    assert run.state == "done", run.error
    lacking = dict(read_answers(run.comparison.columns.get()).lacking())
    assert lacking["not in the sample"] == 3
    assert len(tool.asked) == 3
    assert all(len(block_of_bytes(code).instructions) >= 40 for code in tool.asked)


def test_a_comparison_outlives_what_it_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    isa = small.few_schemes()
    judge, mapping = small.measured_set(isa), small.ports(isa)
    run = small.compare({"experiment_set": judge.pk, "mappings": [mapping.pk]})
    judge.delete()
    mapping.delete()
    (column,) = columns_of(comparison_rows().get(run=run))
    assert (column.name, column.mapping, column.comparison.experiment_set) == ("two ports", None, None)
    assert column.comparison.source == "measured"
    run.delete()
    assert not comparison_rows().exists()


def test_wrong_descriptions_name_the_field() -> None:
    isa = small.few_schemes()
    judge = small.measured_set(isa)
    strange = small.ports(store_isa("toy", [each for each in x86.schemes() if each.text in (ADD, IMUL)], ""))
    right = {"experiment_set": judge.pk, "tools": ["Oracle"]}
    assert read_lists(right).instructions == 10
    for wrong, words in (
        ({"experiment_set": 0}, "experiment_set"),
        ({"experiment_set": True}, "experiment_set"),
        ({"tools": []}, "from 1 to 24"),
        ({"tools": "Oracle"}, "tools must be a list"),
        ({"mappings": [0]}, "mappings"),
        ({"mappings": [strange.pk]}, "different instruction sets"),
        ({"other_sets": [judge.pk]}, "with itself"),
        ({"predictors": ["1"]}, "predictors must be a list"),
        ({"instructions": 0}, "instructions"),
        ({"colour": 1}, "'colour'"),
    ):
        with pytest.raises(ConfigError, match=words):
            read_lists({**right, **wrong})


@pytest.mark.shared
def test_published_mappings_and_tools_have_the_numbers_of_core(client: Client, administrator: User) -> None:
    store_isa(X86, [each for each in x86.schemes() if not each.exclusion], "the default schemes")
    judge = _imported(EVALUATION)
    mappings = {name: _imported(f"mapping_{name}.json") for name in ("uops_info", "pmevo")}
    published = published_experiments(EVALUATION)
    tools = sorted(published.annotations)
    run = small.compare(
        {"experiment_set": judge.pk, "mappings": [row.pk for row in mappings.values()], "tools": tools}
    )
    assert run.state == "done", run.error
    expected = {}
    for name, row in mappings.items():
        mapping = published_mapping(f"mapping_{name}.json")
        evaluator = Evaluator(ExperimentTable.from_experiments(published.mixes), len(mapping.ports))
        expected[row.name] = score(published.cycles, evaluator.mapping_cycles(mapping))
    for tool in tools:
        known = np.isfinite(published.annotations[tool])
        expected[tool] = score(published.cycles[known], published.annotations[tool][known])
    columns = columns_of(run.comparison)
    assert {column.name for column in columns} == expected.keys()
    client.force_login(administrator)
    page = (
        client.get(reverse("comparison", args=[run.pk])).content.decode().replace("\N{NO-BREAK SPACE}", " ")
    )
    for column in columns:
        found, core = scores_of(column, ComparisonPart()), expected[column.name]
        assert (found.n, found.kendall) == (core.n, core.kendall)
        assert found.mape == pytest.approx(core.mape, rel=1e-12)
        assert found.pearson == pytest.approx(core.pearson, rel=1e-12)
        assert f"{core.mape:.2f} %" in page
        assert f"{core.kendall:.3f}" in page


def _imported(name: str) -> Any:
    seen = preview((SKL / name).read_bytes(), name)
    return commit(seen, seen.name).row
