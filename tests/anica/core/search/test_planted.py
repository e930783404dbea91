"""Inconsistencies of x86-64 that are planted in a predictor: found, named, and nothing more."""

from __future__ import annotations

import pytest

from anica_app.core.block_domain import BlockDomain
from anica_app.core.search.campaign_search import CampaignSearch
from anica_app.core.search.discovery_set import BlockExplanation
from anica_app.core.search.interestingness import Disagreement, InterestSettings
from anica_app.core.search.search_tasks import Driver, SearchContext
from anica_app.core.search.settings import SearchSettings, Termination
from inference.isa.blocks import block_of_text
from inference.predictors.panel import Panel
from tests.anica.core.search.planted import (
    FLAG_NAMES,
    Decoding,
    crashing_pair,
    few_schemes,
    flags_after_a_shift_by_0,
    forwarded_store,
    loads_in_chains,
    slow_scan,
    widened_store,
)
from tests.anica.core.search.toy import MemoryStore, Quiet


@pytest.fixture(scope="module")
def domain():
    return BlockDomain.of(among=few_schemes())


def search(domain, planted, *others, **settings):
    panel = Panel([Decoding(planted), *others])
    options = {"batch": 60, **settings}
    campaign = CampaignSearch(
        SearchContext(domain, SearchSettings(**options), 1),
        panel,
        Disagreement(InterestSettings()),
        Termination(barren=180),
        Quiet(),
        MemoryStore(),
    )
    state = campaign.search()
    panel.close()
    return state.unsubsumed, [named(domain.document(one.abstract)) for one in state.unsubsumed]


def named(document):
    """What an abstract block says at all: {feature: value} by instruction, and aliasing."""
    return [
        {name: value for name, value in one.items() if value is not None} for one in document["instructions"]
    ], document["aliasing"]


def test_a_slow_load_of_what_was_stored_is_named_by_memory_and_aliasing_alone(domain):
    found, said = search(domain, forwarded_store, Decoding())
    assert len(found) == 1, said
    instructions, aliasing = said[0]
    assert sorted(one["memory"] for one in instructions) == [["R"], ["W"]]
    assert all(one.keys() == {"memory"} for one in instructions)
    assert aliasing == [["1.memory.1", "2.memory.1", "same"]]


def explained(domain, planted, code):
    """What a block of machine code comes to, in each order of expansions."""
    panel = Panel([Decoding(planted), Decoding()])
    driver = Driver(domain, panel, Disagreement(InterestSettings()))
    block = domain.block_of_code(bytes.fromhex(code))
    (start,) = driver.judge([block])
    assert start.verdict.interesting
    found = BlockExplanation(SearchContext(domain, SearchSettings(), 1), driver, start, shorten=True)
    panel.close()
    assert found.discoveries
    documents = [domain.document(one.abstract) for one in found.discoveries]
    return [(*named(document), document.get("dependencies", [])) for document in documents]


def test_a_store_that_is_narrower_than_the_load_is_named_by_ranges_of_widths(domain):
    store_and_load = "418846404d89dac4c17c105e40"  # mov [r14+64], al; mov r10, r11; vmovups ymm3, [r14+64]
    said = explained(domain, widened_store, store_and_load)
    stores = ({"memory": ["W", "size<=64"]}, {"operands": ["MEM[<=64]:W"]})
    loads = ({"memory": ["R", "size>=128"]}, {"operands": ["MEM[>=128]:R"]})
    same = [["1.memory.1", "2.memory.1", "same"]]
    assert any(
        store in stores and load in loads and aliasing == same for (store, load), aliasing, _ in said
    ), said


def test_whatever_reads_some_flag_is_named_by_that():
    domain = BlockDomain.of(among=few_schemes(FLAG_NAMES))
    for instructions, aliasing, dependencies in explained(domain, flags_after_a_shift_by_0, "c1e3004111d2"):
        assert (instructions[1], dependencies) in (({"operands": ["flags:R"]}, []), ({}, [[1, 2, "flag"]]))
        assert aliasing == []


@pytest.mark.parametrize("text", ["cmovbe rdx, [rbp + 64]\nadd rdx, 3", "adc r9w, [rbp + 64]\nshl r9d, 2"])
def test_a_chain_with_a_load_is_named_by_who_reads_what_whom_wrote(text):
    domain = BlockDomain.of(among=few_schemes(FLAG_NAMES))
    said = explained(domain, loads_in_chains, block_of_text(text).hex)
    assert any(
        instructions in ([{"memory": ["R"]}, {}], [{"memory": []}, {}])
        and not aliasing
        and dependencies == [[1, 2, "register"], [2, 1, "flag"]]
        for instructions, aliasing, dependencies in said
    ), said


def test_a_family_of_mnemonics_is_named_by_an_edit_distance_alone(domain):
    found, said = search(domain, slow_scan, Decoding())
    assert len(found) == 1, said
    instructions, aliasing = said[0]
    assert aliasing == []
    assert [one.keys() for one in instructions] == [{"mnemonic"}]
    assert instructions[0]["mnemonic"]["base"] in ("bsf", "bsr")
    assert instructions[0]["mnemonic"]["edits"] >= 1
    assert found[0].generality == sum("bs" in text.split()[0] for text in domain.space.texts)


def test_a_pair_that_crashes_one_tool_is_named_by_both_mnemonics_alone(domain):
    found, said = search(domain, crashing_pair)
    assert len(found) == 1, said
    instructions, aliasing = said[0]
    assert found[0].kind == "crash of 1"
    assert aliasing == []
    assert {one["mnemonic"]["base"] for one in instructions} == {"imul", "popcnt"}
    assert all(one.keys() == {"mnemonic"} for one in instructions)
