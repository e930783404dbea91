"""Matrices of tools: the form, the table, the blocks behind a cell."""

from __future__ import annotations

import io

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from anica_app.features.matrices import pages
from inference.features.asking.block_sets.query import differing_blocks
from inference.features.asking.predictors.query import Listed
from inference.formats.block_sets import BlockSetOptions
from inference.models import BasicBlockSet, Predictor, Run
from inference.predictors.kinds import KINDS
from inference.storage.block_sets import store
from inference.web.paging import Order

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


def test_each_cell_has_its_share_and_leads_to_its_blocks(visitor: Client, run: Run) -> None:
    text = visitor.get(reverse("matrix", args=[run.pk])).content.decode()
    assert "50.0" in text
    assert "100.0" in text
    assert reverse("matrix-cell", args=[run.pk, 0, 1]) in text
    assert "a matrix" in visitor.get(reverse("matrices")).content.decode()
    lines = visitor.get(reverse("matrix-csv", args=[run.pk])).content.decode().splitlines()
    assert lines[0].startswith("# made by: pmweb")
    assert [line for line in lines if not line.startswith("#")] == [
        "first,second,blocks,differing,share",
        "one,two,4,2,0.5",
        "one,three,3,3,1.0",
        "two,three,3,2,0.6666666666666666",
    ]


def test_the_blocks_of_a_cell_are_those_that_the_two_disagree_about(visitor: Client, run: Run) -> None:
    url = reverse("matrix-cell", args=[run.pk, 0, 1])
    text = visitor.get(url).content.decode()
    assert text.index("sub rax, rbx") < text.index("imul rax, rbx")  # the furthest apart first
    assert "add rax, rbx" not in text
    assert "bsf" not in text
    again = visitor.get(url, {"sort": "position"}).content.decode()
    assert again.index("imul rax, rbx") < again.index("sub rax, rbx")
    assert visitor.get(reverse("matrix-cell", args=[run.pk, 0, 3])).status_code == 404
    assert visitor.get(reverse("matrix-cell", args=[run.pk, 1, 1])).status_code == 404


def test_a_campaign_can_be_started_where_both_columns_are_of_predictors(visitor: Client, run: Run) -> None:
    start = reverse("campaign-new")
    assert start in visitor.get(reverse("matrix-cell", args=[run.pk, 0, 1])).content.decode()
    assert start not in visitor.get(reverse("matrix-cell", args=[run.pk, 0, 2])).content.decode()


def test_a_matrix_outlives_its_set(visitor: Client, run: Run, block_set: BasicBlockSet) -> None:
    block_set.delete()
    assert "a deleted set" in visitor.get(reverse("matrix", args=[run.pk])).content.decode()
    answer = visitor.get(reverse("matrix-cell", args=[run.pk, 0, 1]))
    assert "The answers are gone" in answer.content.decode()


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


def test_pages_take_few_queries(visitor: Client, run: Run, django_assert_max_num_queries: object) -> None:
    addresses = [("matrices", ()), ("matrix", (run.pk,)), ("matrix-cell", (run.pk, 0, 1))]
    for name, arguments in addresses:
        with django_assert_max_num_queries(8):  # type: ignore[operator]
            visitor.get(reverse(name, args=arguments))


def test_the_form_starts_a_matrix_over_columns_and_tools(
    visitor: Client, block_set: BasicBlockSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = Predictor.objects.create(name="tool", kind="command", key="t" * 64)
    monkeypatch.setattr(pages, "listed", lambda: [Listed(KINDS["command"], "tool", "1", {}, row=tool)])
    shown = visitor.get(reverse("matrix-new"), {"set": block_set.pk}).content.decode()
    assert "three" in shown
    column = block_set.columns.get(name="one")
    data = {"block_set": block_set.pk, "columns": [column.pk], "predictors": ["tool"], "press": "start"}
    answer = visitor.post(reverse("matrix-new"), data)
    run = Run.objects.get(kind="matrix")
    assert answer.url == reverse("matrix", args=[run.pk])
    assert (run.config["predictors"], run.config["columns"]) == ([tool.pk], [column.pk])
    refused = visitor.post(reverse("matrix-new"), {**data, "columns": []})
    assert refused.status_code == 400
    assert "predictors" in refused.context["form"].errors
