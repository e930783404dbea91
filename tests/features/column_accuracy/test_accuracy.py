"""Columns of a basic-block set beside one of them: scores, heat maps, and the blocks in a bin."""

from __future__ import annotations

import io
import random

import pytest
from django.conf import settings

from inference.core.metrics import score
from inference.features.asking.block_sets.query import columns_of
from inference.features.judging.column_accuracy import accuracy
from inference.features.judging.column_accuracy.accuracy import accuracy_of, known_accuracy
from inference.figures.heatmap import heat_map
from inference.formats.block_sets import BlockSetOptions
from inference.models import BasicBlockSet, BlockColumn, Run
from inference.storage.block_sets import store

BLOCKS = 120


def answers(seed: int = 1) -> list[tuple[str, str, str]]:
    """What three columns have: numbers, failures, nothing, and zeros."""
    dice = random.Random(seed)
    rows = []
    for _ in range(BLOCKS):
        measured = dice.choice(["", "-1", "0", *[f"{dice.randint(1, 800) / 100}"] * 9])
        close = f"{float(measured) * dice.uniform(0.7, 1.4):.2f}" if measured not in ("", "-1") else "1.5"
        rows.append((measured, dice.choice([close, close, close, "-1"]), f"{dice.randint(1, 40) / 4}"))
    return rows


@pytest.fixture
def block_set(db: None) -> BasicBlockSet:
    lines = [f"4801d8,{measured},{close},{far}\n" for measured, close, far in answers()]
    text = "bb,measured,close,far\n" + "".join(lines)
    return store(io.BytesIO(text.encode()), "b.csv", "set", BlockSetOptions())[0]


@pytest.fixture
def measured(block_set: BasicBlockSet) -> BlockColumn:
    return block_set.columns.get(name="measured")


def test_columns_are_compared_where_both_have_a_number(
    block_set: BasicBlockSet, measured: BlockColumn
) -> None:
    found = accuracy_of(block_set, measured)
    close = found["columns"][0]
    pairs = [
        (float(seen), float(said))
        for seen, said, _ in answers()
        if seen not in ("", "-1", "0") and said != "-1"
    ]
    seen, said = zip(*pairs, strict=True)
    assert close["scores"] == score(seen, said).as_json()
    assert close["heat_map"] == heat_map(seen, said).as_json()
    assert close["answered"] == sum(said != "-1" for _, said, _ in answers())
    assert close["failed"] == BLOCKS - close["answered"]
    assert found["zeros"] == sum(seen == "0" for seen, _, _ in answers())
    assert [one["name"] for one in found["columns"]] == ["close", "far"]


def test_the_worst_blocks_have_the_largest_relative_errors(
    block_set: BasicBlockSet, measured: BlockColumn
) -> None:
    far = accuracy_of(block_set, measured)["columns"][1]
    errors = {
        at: abs(float(said) - float(seen)) / float(seen)
        for at, (seen, _, said) in enumerate(answers())
        if seen not in ("", "-1", "0")
    }
    assert far["worst"] == sorted(errors, key=lambda at: (-errors[at], at))[: accuracy.MAX_WORST]


@pytest.mark.django_db
def test_weights_say_how_much_a_block_counts() -> None:
    text = "bb,weight,measured,said\n4801d8,9,1.0,1.1\n4829d8,1,1.0,2.0\n0fafc3,,1.0,9.0\n"
    made, _ = store(io.BytesIO(text.encode()), "w.csv", "weighted", BlockSetOptions())
    (one,) = accuracy_of(made, made.columns.get(name="measured"))["columns"]
    assert one["weighted"] == pytest.approx(0.9 * 10 + 0.1 * 100)
    assert one["scores"]["mape"] == pytest.approx((10 + 100 + 800) / 3)


def test_without_weights_there_is_no_weighted_error(block_set: BasicBlockSet, measured: BlockColumn) -> None:
    assert {one["weighted"] for one in accuracy_of(block_set, measured)["columns"]} == {None}


def test_a_large_set_waits_for_a_run(
    block_set: BasicBlockSet, measured: BlockColumn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accuracy, "MAX_WITHOUT_RUN", 10)
    columns = columns_of(block_set)
    assert known_accuracy(block_set, columns, measured).accuracy is None
    config = {"block_set": block_set.pk, "reference": measured.pk}
    kept = accuracy_of(block_set, measured)
    Run.objects.create(name="a", kind="accuracy", state="done", config=config, result={"accuracy": kept})
    found = known_accuracy(block_set, columns, measured)
    assert (found.accuracy, found.lacks) == (kept, False)
    block_set.columns.create(position=3, name="new")
    assert known_accuracy(block_set, columns_of(block_set), measured).lacks
    waiting = Run.objects.create(name="b", kind="accuracy", state="queued", config=config)
    assert known_accuracy(block_set, columns, measured).working == waiting


@pytest.mark.shared
def test_the_published_tools_agree_as_much_as_they_do(db: None) -> None:
    path = settings.SHARED / "data" / "blocks" / "bbset_400_hsw.csv"
    with path.open("rb") as file:
        made, _ = store(file, path.name, "set", BlockSetOptions())
    rows = [line.split(",") for line in path.read_text().splitlines()[1:]]
    first, second = ([float(row[at]) for row in rows] for at in (1, 2))
    found = accuracy_of(made, made.columns.get(position=0))
    assert found["columns"][0]["scores"] == score(first, second).as_json()
    assert round(found["columns"][0]["scores"]["mape"], 2) == 6.91
