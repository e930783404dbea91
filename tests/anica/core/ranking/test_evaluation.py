"""What discoveries explain of fresh blocks."""

from __future__ import annotations

from anica_app.core.discovery_selection import explained_blocks, fresh_blocks, judge_blocks
from anica_app.core.search.campaign_state import CampaignDiscovery
from anica_app.core.search.interestingness import Disagreement, InterestSettings
from anica_app.core.search.search_tasks import Driver
from inference.predictors.panel import Panel
from tests.anica.core.search.toy import Scripted, ToyDomain, abstract_of, plain

DOMAIN = ToyDomain()


def any_a1_or_b2(block):
    names = {one[:2] for one in block}
    return 50.0 if names & {"a1", "b2"} else plain(block)


def found(number, abstract, *, concrete=False):
    return CampaignDiscovery(number, abstract, "difference", b"", b"", 1, 1.0, 1, concrete)


def test_the_share_of_interesting_fresh_blocks_that_discoveries_subsume():
    panel = Panel([Scripted("one", any_a1_or_b2), Scripted("two", plain)])
    driver = Driver(DOMAIN, panel, Disagreement(InterestSettings()))
    done = []
    judged = judge_blocks(driver, fresh_blocks(DOMAIN, 600), done.append)
    panel.close()
    assert done == [500, 600]
    assert all(len(one.block) == 4 for one in judged)
    interesting = [one.block for one in judged if any_a1_or_b2(one.block) > 4]
    with_a1 = [block for block in interesting if "a1" in {one[:2] for one in block}]
    discoveries = [
        found(3, abstract_of(DOMAIN, "a1")),
        found(5, abstract_of(DOMAIN, "b2"), concrete=True),
    ]
    result = explained_blocks(DOMAIN, discoveries, judged)
    assert (result.blocks, result.interesting) == (600, len(interesting))
    assert result.covered == result.top_covered == len(with_a1)
    assert result.share == result.top_share == len(with_a1) / len(interesting)
    assert result.top == (3,)
    assert result.by_discovery == {3: len(with_a1)}
    assert explained_blocks(DOMAIN, discoveries, []).as_json()["share"] is None


def test_the_same_blocks_are_fresh_every_time():
    assert fresh_blocks(DOMAIN, 50) == fresh_blocks(DOMAIN, 50)
    assert fresh_blocks(DOMAIN, 50)[:20] == fresh_blocks(DOMAIN, 20)
