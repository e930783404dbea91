"""Idioms and false dependencies are found where they are, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pytest

from inference.core.latency import (
    ChainReading,
    Idiom,
    IdiomKind,
    LatencyProblem,
    LatencyResult,
    infer_latencies,
)
from inference.core.latency.algorithm import _Readings
from inference.isa.blocks import block_of_bytes
from inference.isa.chains import OLD_VALUE, SAME_REGISTER, ChainLink
from inference.isa.x86.chains import connectors, idioms_of, links_of, pair_chains, reference_additions
from inference.measuring.simulated_chains import Latency, SimulatedLatencies

SUB, SBB = "sub GPR[64]:RW, GPR[64]:R", "sbb GPR[64]:RW, GPR[64]:R"
MOV, POPCNT = "mov GPR[64]:W, GPR[64]:R", "popcnt GPR[64]:W, GPR[64]:R"
XOR_VECTOR, SET = "vpxor XMM:W, XMM:R, XMM:R", "setb GPR[8]:W"
SHLD = "shld GPR[64]:RW, GPR[64]:R, IMM[8]:R"
SCHEMES = (SUB, SBB, MOV, POPCNT, XOR_VECTOR, SET, SHLD)


def core(said: Mapping[tuple[str, str], float | None] = MappingProxyType({})) -> Latency:
    """Two cycles for everything, but what is said of (scheme, source)."""
    quick = set(connectors())

    def latency(link: ChainLink) -> float | None:
        usual = 1.0 if link in quick else None if link.source == OLD_VALUE else 2.0
        return said.get((link.scheme, link.source), usual)

    return latency


def inferred(latency: Latency, **quirks: float) -> LatencyResult:
    pairs = [pair_chains(link) for text in SCHEMES for link in links_of(text)]
    idioms = [asked for text in SCHEMES for asked in idioms_of(text)]
    problem = LatencyProblem(
        pairs, [pair_chains(link) for link in connectors()], idioms, reference_additions()
    )
    return infer_latencies(problem, SimulatedLatencies(latency, **quirks))  # type: ignore[arg-type]


def kinds(result: LatencyResult) -> dict[tuple[str, IdiomKind], Idiom]:
    return {(idiom.scheme, idiom.kind): idiom for idiom in result.idioms}


@pytest.mark.parametrize("seed", range(5))
def test_an_ordinary_core_has_none(seed: int) -> None:
    assert inferred(core(), noise=0.01, outliers=0.02, seed=seed).idioms == ()


@pytest.mark.parametrize("seed", range(5))
def test_each_kind_is_found_with_its_two_measurements(seed: int) -> None:
    said = {
        (SUB, SAME_REGISTER): None,
        (XOR_VECTOR, SAME_REGISTER): None,
        (SHLD, SAME_REGISTER): 1.0,
        (POPCNT, OLD_VALUE): 3.0,
        (SET, OLD_VALUE): 1.0,
        (MOV, "2"): 0.0,
    }
    result = inferred(core(said), noise=0.005, outliers=0.02, seed=seed)
    found = kinds(result)
    assert found.keys() == {
        (SUB, IdiomKind.BREAKING),
        (XOR_VECTOR, IdiomKind.BREAKING),
        (SHLD, IdiomKind.QUICKER),
        (POPCNT, IdiomKind.FALSE_DEPENDENCY),
        (SET, IdiomKind.PARTIAL_REGISTER),
        (MOV, IdiomKind.ELIMINATED),
    }
    broken = found[SUB, IdiomKind.BREAKING]
    assert broken.latency is None
    assert broken.measured.cycles is not None
    assert broken.compared.cycles is not None
    assert broken.measured.cycles < 3 < broken.compared.cycles
    overwritten = found[POPCNT, IdiomKind.FALSE_DEPENDENCY]
    assert overwritten.latency == pytest.approx(3.0, abs=0.1)
    (asked,) = [asked for asked in idioms_of(POPCNT) if asked.regular_link is None]
    assert (overwritten.measured.chain, overwritten.compared.chain) == (
        asked.pair.chains[0],
        asked.independent,
    )
    assert found[SHLD, IdiomKind.QUICKER].latency == pytest.approx(1.0, abs=0.1)


def test_a_zero_idiom_is_quicker_than_ports_allow() -> None:
    class WithoutPort(SimulatedLatencies):
        def _read(self, chain, repeat):  # type: ignore[no-untyped-def]
            reading = super()._read(chain, repeat)
            if chain.loop and chain.code == next(iter(idioms_of(SUB))).independent.code:
                return type(reading)(chain, reading.cycles * 0.6)
            return reading

    pairs = [pair_chains(link) for link in links_of(SUB)]
    ways = [pair_chains(link) for link in connectors()]
    problem = LatencyProblem(pairs, ways, idioms_of(SUB), reference_additions())
    latency = core({(SUB, SAME_REGISTER): None})
    (idiom,) = infer_latencies(problem, WithoutPort(latency)).idioms
    assert (idiom.kind, idiom.needs_port) == (IdiomKind.ZEROING, False)


def test_what_two_readings_rule_out_is_measured_no_further() -> None:
    measured = {reading.chain.code for reading in inferred(core({(POPCNT, OLD_VALUE): 3.0})).readings}

    def closed(text: str) -> set[bytes]:
        (asked,) = [asked for asked in idioms_of(text) if asked.regular_link is None]
        return {chain.code for chain in asked.pair.chains[1:]}

    assert closed(POPCNT) <= measured
    assert not closed(MOV) & measured


def test_what_was_only_asked_about_is_not_measured() -> None:
    chain = reference_additions()
    readings = _Readings()
    assert not readings.is_sure((chain.code, chain.loop))
    assert readings.of([chain]) == []


def test_chains_are_loops_where_the_end_of_a_loop_changes_nothing() -> None:
    def loops(text: str) -> set[bool]:
        return {chain.loop for link in links_of(text) for chain in pair_chains(link).chains}

    assert loops("imul GPR[64]:RW, GPR[64]:R") == loops("setb GPR[8]:W") == {True}
    assert loops("vaddps XMM:W, XMM:R, XMM:R") == loops("mov GPR[64]:W, MEM[64]:R") == {True}
    assert loops("adc GPR[64]:RW, GPR[64]:R") == {True, False}  # from flags to flags, nothing else has it
    assert loops("div GPR[64]:R") == {False}  # the quotient is another value
    (chain, *_) = [
        chain
        for link in links_of("cmovb GPR[64]:RW, GPR[64]:R")
        for chain in pair_chains(link).chains
        if link.source == "flags"
    ]
    assert block_of_bytes(chain.code).text.splitlines()[-1].startswith("cmovb")  # not the flags at the end


def test_codes_keep_what_is_not_asked_apart() -> None:
    (sbb,) = idioms_of(SBB)
    listing = block_of_bytes(sbb.pair.chains[0].code).text.splitlines()
    assert listing == ["test r15d, r15d", "sbb rbx, rbx"]  # the carry flag is ready
    (overwritten,) = [asked for asked in idioms_of(POPCNT) if asked.regular_link is None]
    assert block_of_bytes(overwritten.pair.chains[1].code).text.splitlines() == [
        "popcnt rbx, r8",
        "movsxd rbx, ebx",
    ]
    assert (
        len(set(block_of_bytes(overwritten.independent.code).text.splitlines()))
        == overwritten.independent.instances
    )


def test_schemes_without_a_register_that_they_write_are_not_asked() -> None:
    assert idioms_of("cmp GPR[64]:R, GPR[64]:R") == ()
    assert idioms_of("mov MEM[64]:W, GPR[64]:R") == ()
    assert idioms_of("no such scheme") == ()


def test_what_throughput_alone_explains_is_no_false_dependency() -> None:
    """A slow instruction of which nothing but the chain with itself has settled."""

    class Slow(SimulatedLatencies):
        def measure(self, chains, repeat=0):  # type: ignore[no-untyped-def]
            for chain in chains:
                closed = len(chain.links) > 1
                yield ChainReading(chain, None if closed else 5.0 * chain.instances)

    problem = LatencyProblem([], [], idioms_of(POPCNT), reference_additions())
    assert infer_latencies(problem, Slow(core())).idioms == ()
