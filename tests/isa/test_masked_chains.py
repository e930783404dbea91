"""Latencies of moves under a vector mask are measured with all and with none of it set."""

from __future__ import annotations

from inference.core.latency import LatencyProblem, infer_latencies
from inference.isa.chains import QUICK, SLOW, ChainLink
from inference.isa.x86 import schemes
from inference.isa.x86.chains import connectors, links_of, pair_chains
from inference.measuring.simulated_chains import SimulatedLatencies

LOAD = "vmaskmovpd YMM:W, YMM:R, MEM[256]:R"


def test_all_moves_under_a_vector_mask_are_measured_with_two_masks() -> None:
    """Else with whatever the harness leaves in vectors: nothing is moved, from memory that is not there."""
    pairs = [
        pair_chains(link)
        for scheme in schemes()
        if "maskmov" in scheme.mnemonic and not scheme.exclusion
        for link in links_of(scheme.text)
    ]
    measured = [pair for pair in pairs if pair.chains]
    assert len(measured) >= 32
    for pair in measured:
        assert [kind.name for kind in pair.classes] == [QUICK, SLOW], pair.link
        assert {chain.values for chain in pair.chains} == {QUICK, SLOW}, pair.link


def test_a_latency_says_with_which_mask_it_holds() -> None:
    def latency(link: ChainLink) -> float:
        return 300.0 if link.scheme == LOAD and link.values == SLOW else 1.0

    pairs = [pair_chains(link) for link in links_of(LOAD)]
    inferred = infer_latencies(
        LatencyProblem(pairs, [*map(pair_chains, connectors())]), SimulatedLatencies(latency)
    )
    through_mask = next(pair for pair in inferred.pairs if pair.link.source == "2")
    cycles = {entry.values.description: (entry.least, entry.most) for entry in through_mask.by_values}
    assert cycles["all of the mask set"][0] is not None
    assert cycles["all of the mask set"][0] < 2 < 299 < cycles["none of the mask set"][1]
