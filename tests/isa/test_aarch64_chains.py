"""Chains of AArch64: their text, their code, and latencies of simulated processors found again by them."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import pytest

from inference.agent.frame import function
from inference.core.latency import LatencyProblem, infer_latencies
from inference.isa.aarch64 import NAME, by_text
from inference.isa.aarch64.chains import chains_of_pairs, connectors, frame, links_of
from inference.isa.chains import ChainLink, PairChains
from inference.measuring.simulated_chains import SimulatedLatencies, sampled_latencies
from tests.isa.aarch64_program import needs_llvm_mc, needs_qemu, run

pytestmark = needs_llvm_mc


@cache
def pairs_of(text: str) -> dict[tuple[str, str], PairChains]:
    links = links_of(text)
    return {(one.link.source, one.link.destination): one for one in chains_of_pairs(links)}


@cache
def every_pair() -> tuple[PairChains, ...]:
    return tuple(chains_of_pairs([link for text in by_text() for link in links_of(text)]))


@pytest.mark.parametrize(
    ("text", "source", "destination", "lines"),
    [
        ("add GPR[64]:W, GPR[64]:R, GPR[64]:R", "2", "1", ["add x0, x0, x1"]),
        ("adcs GPR[64]:W, GPR[64]:R, GPR[64]:R", "flags", "flags", ["adcs x0, x1, x2"]),
        (
            "adcs GPR[64]:W, GPR[64]:R, GPR[64]:R", "2", "1",
            ["cmp x17, #0", "adcs x0, x0, x1"],
        ),
        ("fmla VEC[2D]:RW, VEC[2D]:R, VEC[2D]:R", "1", "1", ["fmla v0.2d, v1.2d, v2.2d"]),
        (
            "fmla VEC[2D]:RW, VEC[2D]:R, VEC[2D]:R", "2", "1",
            ["movi v1.2d, #0", "fmla v1.2d, v0.2d, v2.2d", "and v0.16b, v1.16b, v1.16b"],
        ),
        (
            "ldr GPR[64]:W, MEM[64]:R", "2 address", "1",
            ["ldr x0, [x19, #0]", "eor x19, x19, x0", "eor x19, x19, x0"],
        ),
        ("ldr GPR[64]:W, MEM[64,post]:R", "2 address", "base", ["ldr x0, [x19], #0"]),
        ("ldr GPR[64]:W, MEM[64]:R", "2 data", "1", ["ldr x0, [x19, #0]", "str x0, [x19, #0]"]),
        (
            "ldr GPR[64]:W, MEM[64,base+index*8]:R", "2 index", "1",
            ["ldr x1, [x19, x0, lsl #3]", "eor x0, x0, x1", "eor x0, x0, x1"],
        ),
        (
            "str GPR[32]:R, MEM[32,base+sxtw*4]:W", "1", "2 data",
            ["mov x1, #0", "str w0, [x23, w1, sxtw #2]", "ldr w0, [x23, #0]"],
        ),
        ("ldp GPR[64]:W, GPR[64]:W, MEM[128,near]:R", "3 data", "2",
         ["ldp x1, x0, [x19, #0]", "str x0, [x19, #8]"]),
        ("cmp GPR[64]:R, GPR[64]:R", "1", "flags", ["cmp x0, x1", "cset x16, lo", "sxtw x0, w16"]),
        ("fmov GPR[64]:W, FPR[64]:R", "2", "1", ["fmov x0, d0", "sxtw x16, w0", "fmov d0, x16"]),
    ],
)  # fmt: skip
def test_chains_go_from_the_destination_back_to_the_source(
    text: str, source: str, destination: str, lines: list[str]
) -> None:
    chain = pairs_of(text)[source, destination].chains[0]
    assert list(chain.listing) == lines
    assert len(chain.code) == 4 * len(lines)
    assert chain.links[0] == ChainLink(text, source, destination)


def test_pairs_of_one_class_are_isolated_and_sums_say_that_they_are() -> None:
    found = pairs_of("ldr FPR[64]:W, MEM[64,pre]:R")
    assert set(found) == {
        *(("2 address", "1"), ("2 address", "base"), ("2 data", "1"), ("2 data", "base")),
    }
    assert found["2 address", "base"].isolated
    assert not found["2 address", "1"].isolated
    assert "only in sum" in found["2 address", "1"].why
    assert links_of("no such scheme") == ()


def test_what_cannot_be_chained_says_why() -> None:
    text = next(one for one in by_text() if one.startswith("ldaxr "))
    (pair,) = chains_of_pairs(links_of(text)[:1])
    assert pair.chains == ()
    assert "exclusive" in pair.why


def test_divisions_have_quick_and_slow_values_which_the_way_back_restores() -> None:
    pair = pairs_of("udiv GPR[64]:W, GPR[64]:R, GPR[64]:R")["3", "1"]
    assert [one.description for one in pair.classes] == ["0 / 1", "0x743a9ed744556677 / 3"]
    assert list(pair.chains[0].listing) == [
        *("mov x2, #0", "udiv x1, x2, x0", "mov x14, #0", "mov x15, #1"),
        *("and x0, x1, x14", "orr x0, x0, x15"),
    ]
    assert [chain.values for chain in pair.chains] == ["quick", "quick", "slow", "slow"]
    root = pairs_of("fsqrt VEC[4S]:W, VEC[4S]:R")["2", "1"].chains[-1].listing
    assert [line for line in root if line.startswith(("mov", "dup"))] == [
        *("mov x16, #0", "dup v30.2d, x16"),
        *("mov x16, #1267", "movk x16, #16309, lsl #16", "movk x16, #1267, lsl #32"),
        *("movk x16, #16309, lsl #48", "dup v31.2d, x16"),
    ]


def test_nearly_every_scheme_has_chains_and_all_of_them_are_of_known_schemes() -> None:
    found = every_pair()
    measurable = [one for one in found if not by_text()[one.link.scheme].exclusion]
    assert len(measurable) > 4000
    assert sum(bool(one.chains) for one in measurable) >= 0.99 * len(measurable)
    known = by_text().keys()
    assert {link.scheme for one in found for chain in one.chains for link in chain.links} <= known
    assert all(one.chains or one.why for one in found)


@pytest.mark.parametrize("seed", range(3))
def test_latencies_of_simulated_processors_are_found_again(seed: int) -> None:
    dice = random.Random(seed)
    pairs = dice.sample(every_pair(), 400)
    ways = chains_of_pairs(connectors())
    truth = sampled_latencies(seed, NAME)
    problem = LatencyProblem(pairs, ways)
    exact = infer_latencies(problem, SimulatedLatencies(truth))
    classes = {pair.link: pair.classes for pair in pairs}

    def truths(link: ChainLink) -> tuple[float, float]:
        links = [replace(link, values=one.name) for one in classes[link]] or [link]
        found = [truth(one) or 0.0 for one in links]
        return min(found), max(found)

    for one in exact.pairs:
        if one.is_isolated:
            assert (one.least, one.most) == pytest.approx(truths(one.link))
        elif one.at_most is not None:
            assert one.at_most >= truths(one.link)[1]
    noisy = infer_latencies(problem, SimulatedLatencies(truth, noise=0.01, outliers=0.02, seed=seed))
    isolated = [one for one in noisy.pairs if one.is_isolated]
    right = [one for one in isolated if _is_right(one.least, truths(one.link)[0])]
    assert len(isolated) == exact.isolated
    assert len(right) >= 0.99 * len(isolated)


def _is_right(value: float | None, truth: float) -> bool:
    return value is not None and abs(value - truth) <= max(0.1, 0.02 * truth)


@needs_qemu
def test_every_chain_runs_in_an_emulator(tmp_path) -> None:  # type: ignore[no-untyped-def]
    chains = {chain.code: chain for one in every_pair() for chain in one.chains}
    functions = [function(frame(), chain.code * 4) for chain in chains.values()]
    outcome = run(functions, tmp_path / "chains")
    listings = [chain.listing for chain in chains.values()]
    assert outcome.status == 0, "" if outcome.returned == len(listings) else str(listings[outcome.returned])
