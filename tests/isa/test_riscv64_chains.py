"""Chains of RISC-V: their text, what they depend on by their bytes, and latencies found again by them."""

from __future__ import annotations

from functools import cache

import pytest

from inference.core.latency import LatencyProblem, infer_latencies
from inference.isa.chains import ChainLink, PairChains
from inference.isa.riscv64 import NAME, by_text
from inference.isa.riscv64.chains import (
    chains_of_pairs,
    connectors,
    frame,
    idioms_of,
    links_of,
    memory_chains,
)
from inference.isa.riscv64.decoding import decoded
from inference.isa.words.accesses import word_accesses
from inference.measuring.simulated_chains import SimulatedLatencies, sampled_latencies


@cache
def every_pair() -> tuple[PairChains, ...]:
    return tuple(chains_of_pairs([link for text in by_text() for link in links_of(text)]))


@pytest.mark.parametrize(
    ("text", "source", "destination", "lines"),
    [
        ("add GPR[64]:W, GPR[64]:R, GPR[64]:R", "3", "1", ["add x5, x6, x5"]),
        (
            "ld GPR[64]:W, MEM[64]:R", "2 address", "1",
            ["ld x5, 0(x18)", "xor x18, x18, x5", "xor x18, x18, x5"],
        ),
        ("sw GPR[64]:R, MEM[32]:W", "1", "2 data", ["sw x5, 0(x22)", "lw x5, 0(x22)"]),
        ("fadd.s FPR[32]:W, FPR[32]:R, FPR[32]:R", "2", "1", ["fadd.s f3, f3, f4"]),
        ("fcvt.w.d GPR[64]:W, FPR[64]:R, rtz", "2", "1",
         ["fcvt.w.d x5, f0, rtz", "addiw x28, x5, 0", "fmv.d.x f0, x28"]),
        ("fcvt.s.d FPR[32]:W, FPR[64]:R", "2", "1", ["fcvt.s.d f3, f0", "fsgnjx.d f0, f3, f31"]),
    ],
)  # fmt: skip
def test_chains_go_from_the_destination_back_to_the_source(
    text: str, source: str, destination: str, lines: list[str]
) -> None:
    (pair,) = chains_of_pairs([ChainLink(text, source, destination)])
    assert list(pair.chains[0].listing) == lines
    assert pair.chains[0].links[0] == ChainLink(text, source, destination)


def test_divisions_have_quick_and_slow_values_which_the_way_back_restores() -> None:
    (pair,) = chains_of_pairs([ChainLink("divw GPR[64]:W, GPR[64]:R, GPR[64]:R", "2", "1")])
    assert [one.description for one in pair.classes] == ["0 / 1", "0x743a9ed7 / 3"]
    assert list(pair.chains[0].listing)[-2:] == ["and x5, x6, x30", "or x5, x5, x31"]
    (root,) = chains_of_pairs([ChainLink("fsqrt.d FPR[64]:W, FPR[64]:R", "2", "1")])
    assert root.chains[0].listing[-1] == "fmadd.d f0, f1, f30, f29"


def test_every_chain_comes_back_to_where_it_began() -> None:
    """By the accesses of its bytes: what the instance writes reaches the registers that it reads again."""
    for pair in every_pair():
        assert pair.chains, pair.link
        for chain in pair.chains:
            steps = [word_accesses(step) for step in decoded(chain.code)]
            reached: set[object] = set()
            for step in [*steps, *steps]:
                places = [access.location or access.memory for access in step.reads]
                if step.scheme == pair.link.scheme:
                    reached |= {place for place in places if not reached}
                if set(places) & reached:
                    reached |= {access.location or access.memory for access in step.writes}
            instance = next(step for step in steps if step.scheme == pair.link.scheme)
            assert {access.location or access.memory for access in instance.writes} <= reached, chain.listing


def test_numbers_of_each_width_are_boxed() -> None:
    patterns = frame().vectors
    for pair in every_pair():
        for chain in pair.chains:
            first = next(step for step in decoded(chain.code) if step.scheme == pair.link.scheme)
            if any(line.startswith("fmv.") for line in chain.listing[:-2]):
                continue  # values are written before
            for operand, value in zip(
                first.form.operands if first.form else (), first.operands, strict=False
            ):
                if operand.name in ("FPR[32]", "FPR[16]") and "R" in operand.access:
                    assert patterns[f"f{value.number}"] >> operand.width == 2 ** (64 - operand.width) - 1  # type: ignore[union-attr]


@pytest.mark.parametrize("seed", range(2))
def test_latencies_of_simulated_processors_are_found_again(seed: int) -> None:
    truth = sampled_latencies(seed, NAME)
    found = infer_latencies(
        LatencyProblem(every_pair(), chains_of_pairs(connectors())), SimulatedLatencies(truth)
    )
    isolated = [pair for pair in found.pairs if pair.is_isolated]
    assert len(isolated) >= 240
    for pair in isolated:
        if not pair.link.values and not any(one.link == pair.link and one.classes for one in every_pair()):
            assert (pair.least, pair.most) == pytest.approx((truth(pair.link), truth(pair.link)))


def test_idioms_and_memory_have_chains() -> None:
    assert [len(idioms_of(text)) for text in ("xor GPR[64]:W, GPR[64]:R, GPR[64]:R", "nop")] == [2, 0]
    assert {(chain.stored, chain.loaded) for chain in memory_chains()} >= {
        (64, 64),
        (64, 32),
        (0, 8),
        (8, 64),
    }
