"""Legacy SSE is measured as VEX is: no block of it rests on an assumed latency."""

from __future__ import annotations

import random

import pytest

from inference.core.core_model import CoreModel
from inference.core.core_model.dependences import ASSUMED, DependenceGraph
from inference.isa.blocks import block_of_bytes
from inference.isa.blocks.accesses import accesses_of
from inference.isa.exclusions import GROUPS
from inference.isa.scheme import Scheme
from inference.isa.unrolling import CannotMeasureError
from inference.isa.x86 import schemes
from inference.isa.x86.assembling import unroll
from inference.isa.x86.chains import idioms_of, links_of, pair_chains
from inference.models import ISA
from inference.models.scheme_search import latency_schemes
from inference.storage.instruction_sets import store_isa

BLOCKS, LONGEST = 1000, 6


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
    measured = {text: _measured(text) for text in texts}
    model = CoreModel(latencies=measured)
    dice = random.Random(50)
    blocks = 0
    while blocks < BLOCKS:
        terms = [(text, 1) for text in dice.sample(texts, dice.randint(1, LONGEST))]
        try:
            code = unroll(terms, LONGEST).code
        except CannotMeasureError:  # none of these can be beside each other
            continue
        blocks += 1
        graph = DependenceGraph(accesses_of(block_of_bytes(code), alike=True), model)
        steps = [graph._step(edge) for edge in graph.edges]
        assert not [step for step in steps if step.basis == ASSUMED], terms


def _measured(text: str) -> dict[tuple[str, str], float | None]:
    """As a set has it, with a cycle for each pair that a chain shows anything of."""
    return {(link.source, link.destination): 1.0 for link in links_of(text) if pair_chains(link).chains}


def test_its_idioms_are_looked_for_without_vex() -> None:
    (idiom,) = [one for one in idioms_of("pxor XMM:RW, XMM:R") if one.usual is not None]
    codes = [*idiom.pair.chains, idiom.apart]
    assert not any(line.startswith("v") for chain in codes for line in _lines(chain.code))


def _lines(code: bytes) -> list[str]:
    return block_of_bytes(code).text.splitlines()


def test_none_of_its_chains_has_vex() -> None:
    """Which would leave upper halves that legacy SSE waits for."""
    for text in (one.text for one in legacy()):
        chains = [chain for link in links_of(text) for chain in pair_chains(link).chains]
        chains += [chain for one in idioms_of(text) for chain in (*one.pair.chains, one.apart)]
        for chain in chains:
            assert not any(line.startswith("v") for line in _lines(chain.code)), text
