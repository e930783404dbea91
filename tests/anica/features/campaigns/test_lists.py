"""Lists and trees of campaigns: paged, sorted, in a number of queries that does not grow."""

from __future__ import annotations

import pytest
from django.test.utils import CaptureQueriesContext

from anica_app.features.campaigns.query import (
    CAMPAIGN_ORDERS,
    DISCOVERY_ORDERS,
    campaigns,
    discoveries,
    rounds,
)
from anica_app.features.discoveries.query import (
    DiscoveryParts,
    sample_page,
    samples_of_step,
    tree_of,
)
from anica_app.models import (
    Campaign,
    CampaignPredictor,
    Discovery,
    Generalisation,
    GeneralisationStep,
    SampleBatch,
)
from inference.models import Predictor
from inference.predictors.protocol import Answer, Failure
from inference.predictors.samples import Sample, pack
from inference.web.paging import Order, page_of

pytestmark = pytest.mark.django_db

NEWEST = Order("newest", descending=True)
SAMPLES = [
    Sample(b"\x90" * (at + 1), (Answer(cycles=float(at % 3)), Answer(failure=Failure.CRASH)))
    for at in range(7)
] + [Sample(b"\x90", (Answer(failure=Failure.TIMEOUT), Answer(cycles=1.0)))]


def make(count: int = 3, found: int = 4) -> list[Campaign]:
    rows = []
    tools = [Predictor.objects.create(name=f"t{at}", kind="toy", key=str(at)) for at in range(2)]
    for number in range(count):
        row = Campaign.objects.create(name=f"c{number}", origin="run", sampled=number)
        for position, tool in enumerate(reversed(tools)):
            CampaignPredictor.objects.create(campaign=row, position=position, predictor=tool)
        made = [
            Discovery.objects.create(
                campaign=row,
                number=at,
                length=1 + at % 2,
                interestingness=(None, float("inf"), 0.7, 0.9)[at % 4],
                generality=at,
                foreign={"a": "b"},
            )
            for at in range(found)
        ]
        if made and number:
            Discovery.objects.filter(pk=made[-1].pk).update(subsumed_by=made[0])
        rows.append(row)
    return rows


def test_campaigns_come_with_their_tools_and_standing_discoveries() -> None:
    make()
    page = page_of(campaigns(), NEWEST, CAMPAIGN_ORDERS)
    assert [(row.name, row.discovery_count) for row in page.rows] == [("c2", 3), ("c1", 3), ("c0", 4)]
    assert [seat.predictor.name for seat in page.rows[0].seats.all()] == ["t1", "t0"]
    by_found = page_of(campaigns(), Order("discoveries", descending=True), CAMPAIGN_ORDERS)
    assert by_found.rows[0].name == "c0"


@pytest.mark.parametrize("order", CAMPAIGN_ORDERS)
def test_a_page_of_campaigns_takes_a_fixed_number_of_queries(
    order: str, django_assert_max_num_queries: CaptureQueriesContext
) -> None:
    make(count=12, found=2)
    with django_assert_max_num_queries(4):
        page = page_of(campaigns(), Order(order), CAMPAIGN_ORDERS, size=10)
        assert [(row.discovery_count, [seat.predictor.name for seat in row.seats.all()]) for row in page.rows]


@pytest.mark.parametrize("order", [f"{sign}{name}" for name in DISCOVERY_ORDERS for sign in ("", "-")])
def test_every_discovery_is_on_one_page_whatever_the_order(
    order: str, django_assert_max_num_queries: CaptureQueriesContext
) -> None:
    campaign = make(count=1, found=9)[0]
    wanted = Order.read(order, DISCOVERY_ORDERS, "number")
    seen: list[int] = []
    cursor: str | None = ""
    while cursor is not None:
        with django_assert_max_num_queries(2):
            page = discoveries(campaign, wanted, cursor, size=2)
            seen += [row.number for row in page.rows]
        cursor = page.next_cursor
    assert sorted(seen) == list(range(9))
    if order == "-interestingness":
        assert seen[:2] == [5, 1]
        assert seen[-3:] == [8, 4, 0]


def test_what_others_include_is_listed_on_demand() -> None:
    campaign = make(count=2)[1]
    order = Order("number")
    assert discoveries(campaign, order).total == 3
    assert discoveries(campaign, order, subsumed=True).total == 4


def test_a_tree_of_two_thousand_decisions_is_one_query_and_reads_no_block(
    django_assert_num_queries: CaptureQueriesContext,
) -> None:
    campaign = make(count=1, found=1)[0]
    discovery = campaign.discoveries.get()
    order = Generalisation.objects.create(
        campaign=campaign, discovery=discovery, number=0, became="discovery", start={"a": 1}
    )
    GeneralisationStep.objects.bulk_create(
        GeneralisationStep(
            generalisation=order,
            number=at,
            taken=at % 2 == 0,
            expansion={"instruction": 1},
            samples=b"no samples",
        )
        for at in range(2000)
    )
    with django_assert_num_queries(1):
        tree = tree_of(order)
    assert [node.number for node in tree.nodes] == list(range(2000))
    assert sum(node.taken for node in tree.nodes) == 1000
    with django_assert_num_queries(1):
        assert [one.number for one in DiscoveryParts(discovery).generalisations] == [0]


def test_the_samples_of_one_decision_are_one_query(django_assert_num_queries: CaptureQueriesContext) -> None:
    campaign = make(count=1)[0]
    order = Generalisation.objects.create(campaign=campaign, number=0, became="discovery")
    GeneralisationStep.objects.create(generalisation=order, number=3, taken=True, samples=pack(SAMPLES))
    with django_assert_num_queries(1):
        assert samples_of_step(order, 3) == SAMPLES
    assert samples_of_step(order, 4) is None


def test_samples_are_sorted_with_failures_last() -> None:
    rising = sample_page(SAMPLES, "1").rows
    assert [one.answers[0].cycles for one in rising] == [0, 0, 0, 1, 1, 2, 2, None]
    falling = sample_page(SAMPLES, "1", descending=True).rows
    assert [one.answers[0].cycles for one in falling] == [2, 2, 1, 1, 0, 0, 0, None]
    assert sample_page(SAMPLES, "length", descending=True).rows[0].code == b"\x90" * 7
    second = sample_page(SAMPLES, number=1, size=5)
    assert (len(second.rows), second.total, second.next_cursor, second.previous_cursor) == (3, 8, None, "0")
    assert list(sample_page(SAMPLES, "9").rows) == SAMPLES


def test_rounds_are_paged_without_their_blocks(django_assert_num_queries: CaptureQueriesContext) -> None:
    campaign = make(count=1)[0]
    SampleBatch.objects.bulk_create(
        SampleBatch(campaign=campaign, number=at, samples=pack(SAMPLES), n=8) for at in range(5)
    )
    with django_assert_num_queries(2):
        page = rounds(campaign, size=3)
    assert ([row.number for row in page.rows], page.total) == ([0, 1, 2], 5)
    assert [row.number for row in rounds(campaign, page.next_cursor or "", size=3).rows] == [3, 4]
