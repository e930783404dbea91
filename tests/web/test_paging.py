"""Keyset pages: every row once, forwards and backwards, whatever is in the address."""

import base64
import json

import pytest
from django.db.models import FloatField, Value
from django.db.models.functions import Coalesce

from inference.core.experiment import Experiment, Measured
from inference.models import ISA, ExperimentSet, Measurement
from inference.storage.rows import store_measurements
from inference.web.paging import Order, Page, page_of
from tests.rows import instructions
from tests.rows.instructions import ADD, MUL

isa = instructions.isa

COLUMNS = {"row": "id", "cycles": "cycles_or_0", "length": "experiment__length"}


@pytest.fixture
def rows(isa: ISA) -> object:
    row = ExperimentSet.objects.create(name="many", isa=isa, origin=ExperimentSet.Origin.UPLOAD)
    mixes = [Experiment.of({ADD: k % 4 + 1, MUL: k + 1}) for k in range(25)]
    store_measurements(row, [Measured(mix, float(k * 7 % 5 + 1)) for k, mix in enumerate(mixes)])
    return Measurement.objects.annotate(
        cycles_or_0=Coalesce("cycles", Value(0.0), output_field=FloatField())
    ).select_related("experiment")


def walk(rows: object, order: Order, size: int, *, back: bool = False) -> list[Page[Measurement]]:
    pages = [page_of(rows, order, COLUMNS, size=size)]
    while cursor := pages[-1].next_cursor:
        pages.append(page_of(rows, order, COLUMNS, cursor, size))
    if not back:
        return pages
    backwards = [pages[-1]]
    while cursor := backwards[-1].previous_cursor:
        backwards.append(page_of(rows, order, COLUMNS, cursor, size))
    return backwards[::-1]


@pytest.mark.parametrize("text", ["row", "-row", "cycles", "-cycles", "length", "-length"])
@pytest.mark.parametrize("size", [4, 5, 24, 25, 26])
def test_all_pages_together_are_the_sorted_table(rows: object, text: str, size: int) -> None:
    order = Order.read(text, COLUMNS, "row")
    sign = "-" if order.descending else ""
    expected = list(rows.order_by(sign + COLUMNS[order.column], f"{sign}id"))
    pages = walk(rows, order, size)
    assert [row for page in pages for row in page.rows] == expected
    assert {page.total for page in pages} == {25}
    assert pages[0].previous_cursor is None


@pytest.mark.parametrize("text", ["row", "-cycles", "length"])
def test_the_way_back_shows_the_same_rows(rows: object, text: str) -> None:
    order = Order.read(text, COLUMNS, "row")
    forwards, backwards = walk(rows, order, 4), walk(rows, order, 4, back=True)
    seen = [row.pk for page in backwards for row in page.rows]
    assert seen == [row.pk for page in forwards for row in page.rows]


def encoded(*data: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(data).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "%%%",
        "ä",
        encoded(),
        encoded(1, 2),
        encoded("text", 1, False),
        encoded([1], 1, False),
        encoded(None, 1, False),
        encoded(float("nan"), 1, False),
        encoded(10**400, 1, False),
        encoded("\ud800", 1, False),
        encoded(1, 2**63, False),
        encoded(1, -1, False),
        encoded(1, 1, 1),
        base64.urlsafe_b64encode(b"[" * 5000).decode(),
    ],
)
@pytest.mark.parametrize("column", ["row", "cycles"])
def test_a_cursor_that_makes_no_sense_is_the_first_page(rows: object, cursor: str, column: str) -> None:
    page = page_of(rows, Order(column), COLUMNS, cursor, 4)
    assert page.rows == page_of(rows, Order(column), COLUMNS, "", 4).rows


def test_an_unknown_order_is_the_default(rows: object) -> None:
    assert str(Order.read("-speed", COLUMNS, "-cycles")) == "-cycles"
    assert str(Order.read("length", COLUMNS, "-cycles")) == "length"
    with pytest.raises(ValueError, match="'speed' is not one of row, cycles, length"):
        Order.read("", COLUMNS, "speed")


def test_a_page_costs_two_queries(rows: object, django_assert_num_queries: object) -> None:
    cursor = page_of(rows, Order("cycles"), COLUMNS, size=10).next_cursor
    with django_assert_num_queries(2):
        page_of(rows, Order("cycles"), COLUMNS, cursor, 10)


def test_half_a_character_is_no_cursor_of_a_column_of_texts(rows: object) -> None:
    columns = {"name": "experiment_set__name"}
    page = page_of(rows, Order("name"), columns, encoded("\ud800", 1, False), 4)
    assert page.rows == page_of(rows, Order("name"), columns, "", 4).rows
