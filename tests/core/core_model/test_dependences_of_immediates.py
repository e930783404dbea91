"""What takes another time with another immediate is measured with several, and predicted with its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inference.core.core_model import CodeShape, CoreModel, predict_core
from inference.core.latency import LatencyProblem, LatencyResult, infer_latencies
from inference.formats.core_model_json import core_model_json, read_core_model
from inference.formats.quoting import json_text
from inference.isa.blocks import accesses_of, read_blocks
from inference.isa.chains import QUICK, SLOW, ChainLink
from inference.isa.x86 import schemes
from inference.isa.x86.chains import connectors, links_of, pair_chains
from inference.isa.x86.link_ends import MEMORY, destinations, sources
from inference.isa.x86.scheme_set import scheme_and_form
from inference.measuring.simulated_chains import SimulatedLatencies
from inference.storage.latencies import latencies_of_schemes
from tests.core.core_model.dataflow import DataflowCore, OperandWait

EXTRACT, SHUFFLE = "vextractf128 XMM:W, YMM:R, IMM[8]:R", "vpermilps XMM:W, XMM:R, IMM[8]:R"
SHIFT = "shl GPR[32]:RW, cl:R"


def zen5(wait: OperandWait) -> float | None:
    """Of one cycle, but what moves a half of a register: two, and three for the upper one."""
    if not wait.is_read:
        return None
    if wait.instruction.scheme == EXTRACT:
        return 3.0 if (wait.instruction.immediate or 0) & 1 else 2.0
    return 1.0


def inferred(*texts: str) -> LatencyResult:
    pairs = [pair_chains(link) for text in texts for link in links_of(text)]
    return infer_latencies(LatencyProblem(pairs, [*map(pair_chains, connectors())]), DataflowCore(zen5))


@pytest.fixture(scope="module")
def model() -> CoreModel:
    rows = [(pair.link.scheme, [pair.as_json()], []) for pair in inferred(EXTRACT, SHUFFLE).pairs]
    measured = latencies_of_schemes(rows)
    return CoreModel(latencies=measured.latencies, by_immediate=measured.by_immediate)


def test_a_latency_says_with_which_immediate_it_holds() -> None:
    extract, shuffle = inferred(EXTRACT, SHUFFLE).pairs
    assert (extract.least, extract.most) == pytest.approx((2.0, 3.0))
    of = {one.values.immediate: one.least for one in extract.by_values}
    assert of == pytest.approx({43: 3.0, 0: 2.0, 1: 3.0, 255: 3.0})
    assert (shuffle.least, shuffle.most, shuffle.by_values) == (pytest.approx(1.0), pytest.approx(1.0), ())


@pytest.mark.parametrize("immediate", [0, 1])
def test_a_block_takes_what_its_own_immediate_takes(model: CoreModel, immediate: int) -> None:
    (block,) = read_blocks(f"vextractf128 xmm0, ymm0, {immediate}\nvpermilps xmm0, xmm0, 3", 1)
    accesses = accesses_of(block)
    predicted = predict_core(accesses, CodeShape(len(block.code), loop=False), model).cycles
    assert predicted == pytest.approx(DataflowCore(zen5).per_turn(accesses), rel=0.03)


def test_a_file_keeps_what_depends_on_immediates(model: CoreModel) -> None:
    document = core_model_json(model, name="m", isa="x86-64")
    assert read_core_model(json_text(document)).model().by_immediate == model.by_immediate
    assert "by_immediate" not in core_model_json(replace(model, by_immediate={}), name="m", isa="x86-64")


def test_all_schemes_with_an_immediate_of_8_bits_are_measured_with_several() -> None:
    """But through memory, where the immediate chooses no way, and where values matter as well."""
    asked = 0
    for scheme in schemes():
        free = [one for one in scheme.operands if one.kind == "immediate" and not one.implicit]
        if scheme.exclusion or [(one.width, one.name) for one in free] != [(8, "IMM[8]")]:
            continue
        for link in links_of(scheme.text):
            pair = pair_chains(link)
            if not pair.chains or MEMORY in _banks(link):
                continue
            asked += 1
            immediates = {one.immediate for one in pair.classes}
            assert {0, 1, 255} <= immediates, str(link)
            assert {chain.values for chain in pair.chains} == {one.name for one in pair.classes}
    assert asked > 300


def _banks(link: ChainLink) -> set[str]:
    found = scheme_and_form(link.scheme)
    assert found is not None
    ends = [(sources(found[0]), link.source), (destinations(found[0]), link.destination)]
    return {place.bank for places, name in ends for place in places if place.name == name}


def test_shifts_by_no_bits_do_not_stand_for_others() -> None:
    """A Zen 5 takes some 40 cycles to the flags where `cl` is 0, which they are left by as they were."""

    def latency(link: ChainLink) -> float:
        return 40.0 if link.scheme == SHIFT and link.values == SLOW and link.destination == "flags" else 1.0

    pairs = [pair_chains(link) for link in links_of(SHIFT)]
    problem = LatencyProblem(pairs, [*map(pair_chains, connectors())])
    found = infer_latencies(problem, SimulatedLatencies(latency)).pairs
    known = latencies_of_schemes([(SHIFT, [pair.as_json() for pair in found], [])]).latencies[SHIFT]
    assert {ends: cycles for ends, cycles in known.items() if cycles != pytest.approx(1.0, abs=0.1)} == {}
    to_flags = [pair for pair in found if pair.link.destination == "flags"]
    assert all({one.values.name for one in pair.by_values} == {QUICK, SLOW} for pair in to_flags)
    assert all(pair.at_most == pytest.approx(40.0) for pair in to_flags)


def test_all_shifts_by_cl_are_measured_with_two_counts() -> None:
    found = [
        link
        for scheme in schemes()
        if not scheme.exclusion and any(one.registers == ("cl",) for one in scheme.operands)
        for link in links_of(scheme.text)
        if pair_chains(link).chains
    ]
    assert len(found) > 100
    assert all(len(pair_chains(link).classes) == 2 for link in found)
