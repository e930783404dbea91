"""Blocks of a set: searched, sorted and paged with what every column says."""

from __future__ import annotations

import io

import pytest

from inference.features.asking.block_sets.query import (
    BlockFilter,
    ColumnKind,
    block_orders,
    blocks_of,
    column_order,
    columns_of,
    numbers_of,
)
from inference.formats.block_sets import BlockSetOptions
from inference.formats.problems import ExchangeError
from inference.models import BasicBlockSet
from inference.predictors.protocol import Answer, Failure
from inference.storage.block_sets import store
from inference.web.paging import Order

pytestmark = pytest.mark.django_db

ROWS = (
    ("add rax, rbx", "0.25", "1.0"),
    ("imul rax, rbx; add rax, rbx", "4.0", ""),
    ("bsf rax, rbx", "3.0", "-1"),
    ("vpaddd ymm0, ymm1, ymm2; vpxor ymm0, ymm0, ymm1", "0.5", "0.5"),
)
TEXT = "bb,weight,one,two\n" + "".join(
    f'"{code}",{at / 8},{one},{two}\n' for at, (code, one, two) in enumerate(ROWS)
)


@pytest.fixture
def block_set() -> BasicBlockSet:
    return store(io.BytesIO(TEXT.encode()), "b.csv", "set", BlockSetOptions())[0]


def places(
    block_set: BasicBlockSet, looked: BlockFilter, sort: str = "position", size: int = 100
) -> list[int]:
    """The places of all pages, one after the other."""
    columns = columns_of(block_set)
    order = Order.read(sort, block_orders(columns), "position")
    found, cursor = [], ""
    while True:
        page = blocks_of(block_set, columns, looked, order, cursor, size)
        found += [row.block.position for row in page.rows]
        if page.next_cursor is None:
            assert len(found) == page.total
            return found
        cursor = page.next_cursor


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("", [0, 1, 2, 3]),
        ("add", [0, 1]),
        ("ADD -imul", [0]),
        ("vp*", [3]),
        ("-vp* -bsf", [0, 1]),
        ("ad", []),
        ("addq", [0, 1]),
        ("-imulq add", [0]),
        ("VPADDDYrr", [3]),
        ("imul bsf", []),
    ],
)
def test_words_look_for_mnemonics(search: str, found: list[int], block_set: BasicBlockSet) -> None:
    assert places(block_set, BlockFilter(search)) == found


@pytest.mark.parametrize("search", ["%", "a'b", "add,imul", "*", "--add"])
def test_what_is_no_mnemonic_is_refused(search: str, block_set: BasicBlockSet) -> None:
    with pytest.raises(ExchangeError, match="no mnemonic"):
        places(block_set, BlockFilter(search))


def test_what_a_column_has_for_a_block_can_be_asked_for(block_set: BasicBlockSet) -> None:
    two = block_set.columns.get(name="two").pk
    assert places(block_set, BlockFilter(column=two, answer_kind=ColumnKind.NUMBER)) == [0, 3]
    assert places(block_set, BlockFilter(column=two, answer_kind=ColumnKind.FAILURE)) == [2]
    assert places(block_set, BlockFilter(column=two, answer_kind=ColumnKind.NOTHING)) == [1]
    assert places(block_set, BlockFilter("add", column=two, answer_kind=ColumnKind.NUMBER)) == [0]


@pytest.mark.parametrize("size", [1, 3, 100])
def test_every_order_pages_through_all_blocks(size: int, block_set: BasicBlockSet) -> None:
    one, two = (column_order(block_set.columns.get(name=name).pk) for name in ("one", "two"))
    assert places(block_set, BlockFilter(), f"-{one}", size) == [1, 2, 3, 0]
    assert places(block_set, BlockFilter("add"), one, size) == [0, 1]
    assert places(block_set, BlockFilter(), two, size) == [3, 0]
    assert places(block_set, BlockFilter(), "-length", size) == [3, 1, 2, 0]
    assert places(block_set, BlockFilter(), "-weight", size) == [3, 2, 1, 0]
    assert places(block_set, BlockFilter(length=1), "position", size) == [0, 2]


def test_each_block_comes_with_the_answers_in_the_order_of_the_columns(block_set: BasicBlockSet) -> None:
    columns = columns_of(block_set)
    rows = blocks_of(block_set, columns, BlockFilter(), Order("position")).rows
    assert rows[0].answers == (Answer(cycles=0.25), Answer(cycles=1.0))
    assert rows[1].answers == (Answer(cycles=4.0), None)
    assert rows[2].answers == (Answer(cycles=3.0), Answer(failure=Failure.NO_NUMBER))


def test_columns_are_counted(block_set: BasicBlockSet) -> None:
    one, two = (told for _, told in numbers_of(block_set, columns_of(block_set)))
    assert (one.numbers, one.failures, one.nothing, one.least, one.most) == (4, 0, 0, 0.25, 4.0)
    assert (two.numbers, two.failures, two.nothing, two.share) == (2, 1, 1, 0.5)
