"""Legacy SSE is measured as VEX is: no block of it rests on an assumed latency."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest

from inference.core.core_model import Assumptions, CoreModel
from inference.core.core_model.dependences import ASSUMED_BASIS, ChainStep, DependenceGraph
from inference.core.core_model.nearest import CoreModelBlocks
from inference.isa.blocks import Block, accesses_of, block_of_bytes
from inference.isa.machine_bodies import CannotMeasureError
from inference.isa.scheme import GROUPS, Scheme
from inference.isa.x86 import schemes
from inference.isa.x86.assembling import unroll
from inference.isa.x86.chains import idioms_of, links_of, pair_chains
from inference.models import ISA
from inference.models.scheme_search import latency_schemes
from inference.storage.instruction_sets import store_isa

BLOCKS, MAX_LENGTH = 1000, 6


def legacy() -> list[Scheme]:
    return [one for one in schemes() if one.exclusion.startswith(GROUPS["legacy-sse"])]


@pytest.fixture
def isa(db: None) -> ISA:
    return store_isa("x86-64", legacy(), "a test")


def test_the_default_set_of_latencies_has_all_of_it(isa: ISA) -> None:
    chosen = set(latency_schemes(isa.schemes.all(), "default").values_list("text", flat=True))
    assert len(chosen) == len(legacy()) > 600


def test_no_block_of_it_has_an_assumed_latency() -> None:
    texts = [one.text for one in legacy()]
    model = CoreModel(latencies={text: _measured(text) for text in texts})
    for block in drawn_blocks(texts):
        assert not assumed(block, model), block.text


def test_none_has_where_only_the_forms_with_vex_were_measured() -> None:
    """All but what has no such form: SHA, SSE4a, and conversions from MMX."""
    vex = [one for one in schemes() if one.encoding != "legacy" and not one.exclusion]
    mnemonics = {one.mnemonic for one in vex}
    texts = [one.text for one in legacy() if f"v{one.mnemonic}" in mnemonics]
    assert len(texts) > 580
    core = CoreModelBlocks(
        CoreModel(latencies={one.text: _measured(one.text) for one in vex}), Assumptions(nearest=True)
    )
    for block in drawn_blocks(texts):
        core.predict(block)
        assert not assumed(block, core.model), block.text


def drawn_blocks(texts: Sequence[str]) -> Iterator[Block]:
    dice = random.Random(50)
    blocks = 0
    while blocks < BLOCKS:
        terms = [(text, 1) for text in dice.sample(texts, dice.randint(1, MAX_LENGTH))]
        try:
            code = unroll(terms, MAX_LENGTH).code
        except CannotMeasureError:  # none of these can be beside each other
            continue
        blocks += 1
        yield block_of_bytes(code)


def assumed(block: Block, model: CoreModel) -> list[ChainStep]:
    """The dependences of a block whose cycles nothing was measured of."""
    graph = DependenceGraph(accesses_of(block, equal_start=True), model)
    steps = (graph._step(edge) for edge in graph.edges)
    return [step for step in steps if step.basis == ASSUMED_BASIS]


def _measured(text: str) -> dict[tuple[str, str], float | None]:
    """As a set has it, with a cycle for each pair that a chain shows anything of."""
    return {(link.source, link.destination): 1.0 for link in links_of(text) if pair_chains(link).chains}


def test_its_idioms_are_looked_for_without_vex() -> None:
    (idiom,) = [one for one in idioms_of("pxor XMM:RW, XMM:R") if one.regular_link is not None]
    codes = [*idiom.pair.chains, idiom.independent]
    assert not any(line.startswith("v") for chain in codes for line in _lines(chain.code))


def _lines(code: bytes) -> list[str]:
    return block_of_bytes(code).text.splitlines()


def test_none_of_its_chains_has_vex() -> None:
    """Which would leave upper halves that legacy SSE waits for."""
    for text in (one.text for one in legacy()):
        chains = [chain for link in links_of(text) for chain in pair_chains(link).chains]
        chains += [chain for one in idioms_of(text) for chain in (*one.pair.chains, one.independent)]
        for chain in chains:
            assert not any(line.startswith("v") for line in _lines(chain.code)), text
