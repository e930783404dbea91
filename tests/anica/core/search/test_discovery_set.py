"""What a new generalisation adds to the discoveries that there are."""

from __future__ import annotations

import pytest

from anica_app.core.search.campaign_state import CampaignDiscovery, Outcome
from anica_app.core.search.discovery_set import DiscoverySet
from anica_app.core.search.generalisation import RoundCandidate
from anica_app.core.search.interestingness import BlockInterest, JudgedBlock
from anica_app.core.search.search_tasks import SearchContext
from anica_app.core.search.settings import SearchSettings
from tests.anica.core.search.test_generalisation import generalised
from tests.anica.core.search.toy import ToyDomain, abstract_of, plain

DOMAIN = ToyDomain()
BLOCK = ("a1x", "b2x")


def slow_together(block):
    return plain(block) + 10 * ({"a1", "b2"} <= {one[:2] for one in block})


def book_with(*, concrete):
    a1 = CampaignDiscovery(0, abstract_of(DOMAIN, "a1"), "difference", b"a1x", b"a1x", 1, 1.0, 1, concrete)
    return DiscoverySet(SearchContext(DOMAIN, SearchSettings(), 1), [a1])


@pytest.mark.parametrize("concrete", [False, True])
def test_a_concrete_discovery_knows_itself_and_no_other_block(concrete):
    discovery_set = book_with(concrete=concrete)
    assert discovery_set.is_known(abstract_of(DOMAIN, "a1"), "difference")
    assert discovery_set.is_known(DOMAIN.represent(BLOCK), "difference") == (not concrete)


@pytest.mark.parametrize(("concrete", "became"), [(False, Outcome.SUBSUMED), (True, Outcome.DISCOVERY)])
def test_a_concrete_discovery_makes_no_other_redundant(concrete, became):
    traces, _ = generalised(slow_together, BLOCK, orders=1)
    witness = JudgedBlock(BLOCK, b"a1x b2x", (), BlockInterest(True, 1.0, "difference"))
    candidate = RoundCandidate(0, witness, witness, DOMAIN.represent(BLOCK))
    admitted = book_with(concrete=concrete).admit(candidate, traces)
    assert [one.became for one in admitted] == [became]
