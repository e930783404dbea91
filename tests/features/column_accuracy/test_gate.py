"""Columns held against a baseline: what is worse, what is an error, what the files say."""

from __future__ import annotations

import io
import json
from xml.etree import ElementTree

import pytest
from django.core.management import CommandError
from hypothesis import given
from hypothesis import strategies as st

from inference.features.asking.block_sets.columns import column_named
from inference.features.judging.column_accuracy.accuracy import accuracy_of, baseline_of
from inference.features.judging.engine.gate import judge_against_baseline
from inference.formats.accuracy_baseline import (
    AccuracyBaseline,
    BaselineColumn,
    digest_of_blocks,
    read_baseline,
    write_baseline,
)
from inference.formats.block_sets import BlockSetOptions
from inference.formats.junit import TestCase, write_junit
from inference.formats.problems import ExchangeError
from inference.isa.targets import X86
from inference.models import BasicBlockSet, Prediction
from inference.storage.block_sets import store
from tests.doors import printed

TEXT = b"bb,measured,good,partial\n4801d8,1.0,1.1,1.0\n480fafc3,2.0,2.1,-1\n4829d8,4.0,4.1,4.0\n"


@pytest.fixture
def block_set(db: None) -> BasicBlockSet:
    return store(io.BytesIO(TEXT), "b.csv", "three blocks", BlockSetOptions())[0]


def now(row: BasicBlockSet) -> AccuracyBaseline:
    reference = column_named(row, "measured")
    return baseline_of(row, reference, accuracy_of(row, reference))


def change(row: BasicBlockSet, column: str, position: int, cycles: float | None) -> None:
    told = {"cycles": cycles, "failure": "" if cycles is not None else "crash"}
    Prediction.objects.filter(column__name=column, column__block_set=row, block__position=position).update(
        **told
    )


def test_a_baseline_has_the_scores_of_all_columns_and_comes_back(block_set: BasicBlockSet) -> None:
    made = now(block_set)
    assert (made.blocks, made.numbers, made.reference) == (3, 3, "measured")
    good, partial = made.columns
    assert good.mape == pytest.approx((10 + 5 + 2.5) / 3)
    assert (good.answered, good.kendall, partial.answered, partial.mape) == (3, 1.0, 2, 0.0)
    assert read_baseline(write_baseline(made).encode(), "b.json") == made


def test_what_is_the_same_is_not_worse_without_any_tolerance(block_set: BasicBlockSet) -> None:
    found = judge_against_baseline(now(block_set), now(block_set), 0.0)
    assert [one.reasons for one in found.verdicts] == [(), ()]


def test_a_larger_error_is_worse_beyond_the_tolerance_alone(block_set: BasicBlockSet) -> None:
    before = now(block_set)
    change(block_set, "good", 2, 4.22)  # 5.5 % in place of 2.5 %: a point more in the mean
    assert not judge_against_baseline(before, now(block_set), 1.01).worse
    (worse,) = judge_against_baseline(before, now(block_set), 0.99).worse
    assert (worse.name, round(worse.change or 0, 3)) == ("good", 1.0)


def test_fewer_answers_are_worse_whatever_the_tolerance(block_set: BasicBlockSet) -> None:
    before = now(block_set)
    change(block_set, "good", 0, None)  # the block that it was worst at
    (worse,) = judge_against_baseline(before, now(block_set), 100.0).worse
    assert (worse.now.mape or 0) < (worse.before.mape or 0)
    assert "2 blocks answered instead of 3" in worse.reasons[0]


def test_nothing_left_to_compare_is_worse(block_set: BasicBlockSet) -> None:
    before = now(block_set)
    Prediction.objects.filter(column__name="measured").update(cycles=0)
    assert {one.name for one in judge_against_baseline(before, now(block_set), 1.0).worse} == {
        "good",
        "partial",
    }


def test_asked_columns_alone_are_judged_and_new_ones_are_named(block_set: BasicBlockSet) -> None:
    before = now(block_set)
    block_set.columns.create(position=3, name="newer")
    change(block_set, "good", 0, 9.0)
    assert judge_against_baseline(before, now(block_set), 1.0).added == ("newer",)
    assert not judge_against_baseline(before, now(block_set), 1.0, ["partial"]).worse
    with pytest.raises(ExchangeError, match="baseline has no column 'newer'"):
        judge_against_baseline(before, now(block_set), 1.0, ["newer"])


def test_other_blocks_another_reference_and_lost_columns_are_errors(block_set: BasicBlockSet) -> None:
    before = now(block_set)
    other = store(io.BytesIO(TEXT.replace(b"4829d8", b"4831d8")), "c.csv", "others", BlockSetOptions())[0]
    with pytest.raises(ExchangeError, match="other blocks"):
        judge_against_baseline(before, now(other), 1.0)
    reference = column_named(block_set, "good")
    with pytest.raises(ExchangeError, match="the reference of the baseline is 'measured', not 'good'"):
        judge_against_baseline(
            before, baseline_of(block_set, reference, accuracy_of(block_set, reference)), 1.0
        )
    block_set.columns.filter(name="partial").delete()
    with pytest.raises(ExchangeError, match="no column 'partial', only good"):
        judge_against_baseline(before, now(block_set), 1.0)


@given(st.lists(st.binary(max_size=20)), st.randoms())
def test_a_digest_is_of_the_blocks_in_any_order(codes: list[bytes], dice) -> None:
    shuffled = list(codes)
    dice.shuffle(shuffled)
    assert digest_of_blocks(codes, X86) == digest_of_blocks(shuffled, X86) != digest_of_blocks(codes, "toy")
    assert digest_of_blocks([*codes, b"\x90"], X86) != digest_of_blocks(codes, X86)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "JSON"),
        (b"[1]", "object"),
        (b"{}", "set: Field required"),
        (b"\xff", "JSON"),
        (b" " * (1 << 20) + b" ", "more than"),
    ],
)
def test_what_is_no_baseline_is_refused(content: bytes, said: str) -> None:
    with pytest.raises(ExchangeError, match=said):
        read_baseline(content, "b.json")


@pytest.mark.parametrize(
    "changed",
    [
        {"version": 2},
        {"digest": "x"},
        {"blocks": "3"},
        {"more": 1},
        {"columns": [{"name": "a", "answered": -1, "mape": 1.0, "kendall": None}]},
        {"columns": [{"name": "a", "answered": 1, "mape": None, "kendall": None}] * 2},
    ],
)
def test_what_a_baseline_cannot_say_is_refused(changed: dict[str, object]) -> None:
    usual = AccuracyBaseline(
        set="s",
        blocks=1,
        digest="0" * 64,
        reference="m",
        numbers=1,
        columns=[BaselineColumn(name="a", answered=1, mape=1.0, kendall=None)],
    )
    with pytest.raises(ExchangeError, match=next(iter(changed))):
        read_baseline(json.dumps(usual.model_dump() | changed).encode(), "b.json")


def test_junit_holds_any_name() -> None:
    cases = [
        TestCase('a<b&\x01"', "text"),
        TestCase("worse", "numbers", failure="MAPE"),
        TestCase("new", "", skipped="x"),
    ]
    root = ElementTree.fromstring(write_junit("suite", "set", cases))
    (suite,) = root
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    assert [case.get("name") for case in suite] == ['a<b&�"', "worse", "new"]
    assert suite.find("testcase/failure").get("message") == "MAPE"


def shell(*arguments: str) -> str:
    return printed("block-sets", "three blocks", "--accuracy", "measured", *arguments)


def test_the_shell_writes_a_baseline_and_ends_with_two_where_a_column_is_worse(block_set, tmp_path) -> None:
    kept, report = tmp_path / "baseline.json", tmp_path / "junit.xml"
    assert "2 columns beside measured" in shell("--write-baseline", str(kept))
    assert read_baseline(kept.read_bytes(), "b") == now(block_set)
    held = ("--baseline", str(kept), "--tolerance", "1", "--junit", str(report))
    assert "WORSE" not in shell(*held)
    change(block_set, "good", 0, 3.0)
    with pytest.raises(CommandError, match=r"worse than .*: good") as refused:
        shell(*held)
    assert refused.value.returncode == 2
    failed = ElementTree.parse(report).findall(".//testcase[failure]")
    assert [case.get("name") for case in failed] == ["good"]
    assert json.loads(shell(*held, "--column", "partial", "--json"))["worse"] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--baseline", "absent.json"), "cannot be read"),
        (("--baseline", __file__), "no accuracy baseline"),
        (("--junit", "x.xml"), "need --baseline"),
        (("--column", "good"), "--column needs"),
        (("--write-baseline", "/absent/folder/x.json"), "cannot be written"),
    ],
)
def test_errors_end_with_one(block_set, arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(CommandError, match=said) as refused:
        shell(*arguments)
    assert refused.value.returncode == 1


def test_a_wrong_option_does_not_look_like_a_worse_column(capsys) -> None:
    from inference.features.judging.column_accuracy.command import Command

    with pytest.raises(SystemExit) as ended:
        Command().run_from_argv(["manage.py", "block-sets", "x", "--tolerance", "much"])
    assert ended.value.code == 1
    assert "invalid float value" in capsys.readouterr().err
