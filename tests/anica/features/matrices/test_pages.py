"""Matrices of tools: the form, the table, the blocks behind a cell."""

from __future__ import annotations

import io

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from inference.features.asking.block_sets.query import differing_blocks
from inference.formats.block_sets import BlockSetOptions
from inference.models import BasicBlockSet, Predictor, Run
from inference.runs import lifecycle
from inference.storage.block_sets import store
from inference.web.paging import Order
from tests.work import work_off

pytestmark = pytest.mark.django_db

TEXT = "bb,one,two,three\n4801d8,1.0,1.0,2.0\n480fafc3,1.0,3.0,2.0\n480fbcc3,0.0,0.0,2.0\n4829d8,1.0,9.0,\n"


@pytest.fixture
def visitor(client: Client, administrator: User) -> Client:
    client.force_login(administrator)
    return client


@pytest.fixture
def block_set() -> BasicBlockSet:
    return store(io.BytesIO(TEXT.encode()), "b.csv", "measured", BlockSetOptions())[0]


@pytest.fixture
def run(block_set: BasicBlockSet) -> Run:
    tools = [Predictor.objects.create(name=f"tool {at}", kind="toy", key=str(at) * 64) for at in range(2)]
    columns = list(block_set.columns.order_by("position"))
    for column, tool in zip(columns, tools, strict=False):
        column.predictor = tool
        column.save()
    result = {
        "block_set": block_set.pk,
        "name": "3 tools on measured",
        "blocks": 4,
        "columns": [{"id": one.pk, "name": one.name, "predictor": one.predictor_id} for one in columns],
        "both": [[4, 4, 3], [4, 4, 3], [3, 3, 3]],
        "differing": [[0, 2, 3], [2, 0, 2], [3, 2, 0]],
    }
    config = {"interest": {"metric": "relative", "threshold": 0.5}}
    return Run.objects.create(name="a matrix", kind="matrix", state="done", config=config, result=result)


def test_a_matrix_of_an_earlier_version_is_shown_with_the_layout_of_all_comparisons(
    visitor: Client, run: Run, block_set: BasicBlockSet
) -> None:
    address = reverse("matrix", args=[run.pk])
    page = visitor.get(address, follow=True)
    comparison = reverse("comparison", args=[run.pk])
    assert page.redirect_chain == [(f"{comparison}?view=matrix&metric=relative&threshold=50", 302)]
    text = page.content.decode()
    assert "50.0" in text
    assert "100.0" in text
    assert "a matrix" in visitor.get(reverse("matrices"), follow=True).content.decode()
    lines = visitor.get(reverse("matrix-csv", args=[run.pk])).content.decode().splitlines()
    assert lines[0].startswith("# made by: pmweb")
    assert [line for line in lines if not line.startswith("#")] == [
        "first,second,blocks,differing,share",
        "one,two,4,2,0.5",
        "one,three,3,3,1.0",
        "two,three,3,2,0.6666666666666666",
    ]
    block_set.delete()
    assert "How often each two disagree" in visitor.get(address, follow=True).content.decode()


def test_a_cell_of_an_earlier_version_leads_to_the_form_for_its_two_columns(
    visitor: Client, run: Run, block_set: BasicBlockSet
) -> None:
    page = visitor.get(reverse("matrix-cell", args=[run.pk, 0, 1]), follow=True)
    one, two = block_set.columns.order_by("position")[:2]
    form = page.context["form"]
    assert page.context["subject"] == block_set
    assert str(two.pk) in form["columns"].value()
    assert form["against"].value() == f"column:{one.pk}"
    assert visitor.get(reverse("matrix-cell", args=[run.pk, 0, 3])).status_code == 404
    assert visitor.get(reverse("matrix-cell", args=[run.pk, 1, 1])).status_code == 404


def test_a_new_matrix_is_a_comparison_whose_cells_are_views(
    visitor: Client, block_set: BasicBlockSet
) -> None:
    columns = list(block_set.columns.order_by("position").values_list("pk", flat=True))
    interest = {"metric": "relative", "threshold": 0.5}
    config = {"block_set": block_set.pk, "columns": columns, "interest": interest}
    run = work_off(lifecycle.submit("matrix", config, "a new one"))
    assert run.state == "done", run.error
    assert (run.result["both"], run.result["differing"]) == (
        [[4, 4, 3], [4, 4, 3], [3, 3, 3]],
        [[0, 2, 3], [2, 0, 2], [3, 2, 0]],
    )
    assert [column["id"] for column in run.result["columns"]] == columns
    page = visitor.get(reverse("matrix", args=[run.pk]), follow=True)
    address = reverse("comparison", args=[run.pk])
    cells, _ = page.context["view_tables"][0]["rows"][1]
    assert [value for _, value in cells] == ["two", 50.0, None, pytest.approx(200 / 3)]
    assert cells[1][1].url == f"{address}?view=telling&metric=relative&threshold=50&column=0"
    assert cells[3][1].url == f"{address}?view=telling&metric=relative&threshold=50&column=1&against=0"
    cell = visitor.get(reverse("matrix-cell", args=[run.pk, 1, 2]), follow=True)
    title = cell.context["view_tables"][0]["table"].title
    assert title == "The smallest items that distinguish three from two"
    cell = visitor.get(reverse("matrix-cell", args=[run.pk, 1, 0]), follow=True)
    assert cell.context["view_tables"][0]["table"].title == "The smallest items that distinguish two from one"


def test_a_campaign_can_be_started_where_both_columns_are_of_predictors(
    visitor: Client, run: Run, block_set: BasicBlockSet
) -> None:
    columns = list(block_set.columns.order_by("position").values_list("pk", flat=True))
    config = {**run.config, "block_set": block_set.pk, "columns": columns}
    new = work_off(lifecycle.submit("matrix", config, "new"))
    one, two = Predictor.objects.filter(kind="toy").order_by("pk")
    start = f"{reverse('campaign-new')}?predictor={one.pk}&amp;predictor={two.pk}"
    text = visitor.get(reverse("matrix-cell", args=[new.pk, 0, 1]), follow=True).content.decode()
    assert start in text
    other = visitor.get(reverse("matrix-cell", args=[new.pk, 0, 2]), follow=True).content.decode()
    assert reverse("campaign-new") not in other


@pytest.mark.parametrize(
    ("metric", "threshold", "found"), [("absolute", 2.0, [3]), ("relative", 0.5, [1, 3])]
)
def test_differing_blocks_are_paged_in_the_database(
    metric: str, threshold: float, found: list[int], run: Run, block_set: BasicBlockSet
) -> None:
    one, two = block_set.columns.order_by("position")[:2]
    seen, cursor = [], ""
    while True:
        page = differing_blocks(one, two, metric, threshold, Order("position"), cursor, size=1)
        seen += [row.position for row in page.rows]
        if not page.next_cursor:
            break
        cursor = page.next_cursor
    assert seen == found


def test_the_form_is_that_of_a_comparison(visitor: Client, block_set: BasicBlockSet) -> None:
    page = visitor.get(reverse("matrix-new"), {"set": block_set.pk}, follow=True)
    assert page.redirect_chain == [(f"{reverse('comparison-new')}?items=blocks%3A{block_set.pk}", 302)]
    assert page.context["subject"] == block_set
