"""Runs over a basic-block set: new columns, and columns compared with one of them."""

from __future__ import annotations

import io

import pytest

from inference.features.asking.predictors import opening
from inference.features.judging.column_accuracy.accuracy import accuracy_of
from inference.formats.block_sets import BlockSetOptions
from inference.models import BasicBlockSet, Predictor
from inference.predictors.protocol import Answer, Failure
from inference.runs import lifecycle
from inference.runs.errors import ConfigError
from inference.storage.block_sets import store
from tests.anica.core.search.planted import Decoding
from tests.anica.features.coverage.test_matrix_and_coverage import TEXT, do
from tests.work import work_off

pytestmark = pytest.mark.django_db


class Refusing(Decoding):
    """As long as the block, in cycles; fails on blocks of two bytes."""

    def predict(self, blocks):
        return [
            Answer(cycles=float(len(block))) if len(block) > 2 else Answer(failure=Failure.UNSUPPORTED)
            for block in blocks
        ]


@pytest.fixture
def block_set() -> BasicBlockSet:
    return store(io.BytesIO(TEXT.encode()), "b.csv", "set", BlockSetOptions())[0]


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> list[Predictor]:
    monkeypatch.setattr(
        opening, "open_predictor", lambda row, task=None, **_: Refusing(lambda _: 0.0, row.name)
    )
    return [Predictor.objects.create(name=name, kind="planted", key=name * 32) for name in ("aa", "bb")]


def test_predictors_become_columns_with_all_their_answers(
    block_set: BasicBlockSet, tools: list[Predictor]
) -> None:
    run = do("columns", {"block_set": block_set.pk, "predictors": [tool.pk for tool in tools]})
    assert run.state == "done", run.error
    assert list(block_set.columns.values_list("name", flat=True)) == ["old", "aa", "bb"]
    new = block_set.columns.get(name="aa")
    assert new.predictor == tools[0]
    told = new.predictions.order_by("block__position").values_list("cycles", "failure")
    assert list(told) == [(3.0, ""), (4.0, ""), (4.0, ""), (None, "unsupported")]
    assert run.result["answers"] == [3, 3]
    assert run.result["columns"] == [new.pk, block_set.columns.get(name="bb").pk]
    events = run.events.filter(kind="progress").order_by("-seq").values_list("payload", flat=True)
    assert (events[0]["done"], events[0]["total"], events[0]["unit"]) == (4, 4, "blocks")


def test_wrong_descriptions_are_refused_by_field(block_set: BasicBlockSet, tools: list[Predictor]) -> None:
    good = {"block_set": block_set.pk, "predictors": [tools[0].pk]}
    do("columns", good)
    for kind, config, named in (
        ("columns", good, "has a column"),
        ("columns", {**good, "predictors": []}, "predictors"),
        ("columns", {**good, "predictors": [999]}, "999"),
        ("columns", {**good, "block_set": 999}, "block_set"),
        ("columns", {**good, "again": True}, "again"),
        ("accuracy", {"block_set": block_set.pk, "reference": 999}, "old"),
        ("accuracy", {"block_set": "1", "reference": 1}, "block_set"),
    ):
        with pytest.raises(ConfigError, match=named):
            lifecycle.submit(kind, config, "wrong")


def test_a_set_that_is_gone_fails_the_run_in_words(block_set: BasicBlockSet, tools: list[Predictor]) -> None:
    config = {"block_set": block_set.pk, "predictors": [tools[0].pk]}
    late = lifecycle.submit("columns", config, "late")
    block_set.delete()
    work_off(late)
    assert (late.state, late.error) == ("failed", "the basic-block set that this run needs has been deleted")


def test_a_comparison_is_kept_as_it_would_be_shown_at_once(
    block_set: BasicBlockSet, tools: list[Predictor]
) -> None:
    do("columns", {"block_set": block_set.pk, "predictors": [tools[0].pk]})
    old = block_set.columns.get(name="old")
    run = do("accuracy", {"block_set": block_set.pk, "reference": old.pk})
    assert run.state == "done", run.error
    assert run.result["accuracy"] == accuracy_of(block_set, old)
