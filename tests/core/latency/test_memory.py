"""How stored values reach loads, told from cycles."""

from __future__ import annotations

import pytest

from inference.core.latency import ChainReading, Forwarding, LatencyProblem, MemoryLatency, infer_latencies
from inference.isa.blocks import block_of_bytes
from inference.isa.chains import ChainLink, MemoryChain
from inference.isa.x86.chains import connectors, memory_chains, pair_chains
from inference.measuring.simulated_chains import SimulatedLatencies

LOAD, STORE, FORWARDED, FAILED = 4.0, 0.25, 7.0, 19.0


def truth(asked: MemoryChain) -> tuple[float, Forwarding | None]:
    """A core that renames whole registers through the same base, and forwards what a store contains."""
    if not asked.chain.links:
        return STORE, None
    if not asked.stored:
        return LOAD, None
    contained = asked.offset * 8 + asked.loaded <= asked.stored
    if not contained:
        return FAILED, Forwarding.FAILED
    if (
        asked.register_class == "general"
        and asked.stored == asked.loaded == 64
        and asked.address == "same base"
    ):
        return 1.0, Forwarding.RENAMED
    return FORWARDED, Forwarding.FORWARDED


CYCLES = {asked.chain.links[0]: truth(asked)[0] for asked in memory_chains() if asked.chain.links}


def latency(link: ChainLink) -> float:
    return CYCLES.get(link, 1.0)


def measured(**quirks: float) -> tuple[MemoryLatency, ...]:
    ways = [pair_chains(link) for link in connectors()]
    problem = LatencyProblem([], ways, memory=memory_chains())
    return infer_latencies(problem, SimulatedLatencies(latency, **quirks)).memory  # type: ignore[arg-type]


def test_every_case_is_told_apart() -> None:
    for found in measured(noise=0.005, outliers=0.02, seed=0):
        cycles, how = truth(found.memory_chain)
        assert found.how is how, found.memory_chain
        if found.memory_chain.isolated:
            assert found.cycles == pytest.approx(cycles, abs=0.3), found.memory_chain


def test_what_has_not_settled_says_why() -> None:
    class Restless(SimulatedLatencies):
        def measure(self, chains, repeat=0):  # type: ignore[no-untyped-def]
            return (ChainReading(chain, None, note="passes do not agree") for chain in chains)

    problem = LatencyProblem([], [], memory=memory_chains())
    for found in infer_latencies(problem, Restless(latency)).memory:
        assert (found.cycles, found.how) == (None, None)
        assert found.as_json()["note"] == "passes do not agree"


def test_chains_lead_from_the_store_to_the_load() -> None:
    by_name = {(m.stored, m.loaded, m.offset, m.address, m.between): m for m in memory_chains()}
    asked = by_name[64, 32, 4, "same base", 1]
    assert block_of_bytes(asked.chain.code).text.splitlines()[:3] == [
        "mov qword ptr [rsi], rax",
        "mov eax, dword ptr [rsi+4]",
        "movsxd rax, eax",
    ]


def test_what_is_relative_to_the_instruction_pointer_is_one_place_and_aligned() -> None:
    for asked in memory_chains():
        if asked.address != "instruction pointer":
            continue
        assert len(asked.chain.code) % 16 == 0
        store, load = block_of_bytes(asked.chain.code).instructions[:2]
        distances = [int.from_bytes(one.code[-4:], "little") for one in (store, load)]
        assert distances[0] == distances[1] + len(load.code)
