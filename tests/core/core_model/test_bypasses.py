"""Latencies that depend on the instructions beside are found on a core that has them, and predicted."""

from __future__ import annotations

from functools import cache

import pytest

from inference.core.core_model import CodeShape, CoreModel, FrontEndLimits, predict_core
from inference.core.core_model.dependences import BYPASS_BASIS
from inference.core.latency import LatencyProblem, LatencyResult, infer_latencies
from inference.formats.core_model_json import core_model_json, read_core_model
from inference.formats.quoting import json_text
from inference.isa.blocks import accesses_of, read_blocks
from inference.isa.x86.chains import (
    connectors,
    idioms_of,
    links_of,
    pair_chains,
    reference_additions,
)
from inference.isa.x86.chains.mixing import MixedChains
from inference.storage.latencies import latencies_of_schemes
from tests.core.core_model.dataflow import DataflowCore, OperandWait, WaitingTime
from tests.drawn import fewer

WIDTH = 8
ONE_CYCLE = ("vpaddd", "vpsubd", "vpand", "vpor", "vandpd", "vorpd", "vpxor", "pxor", "paddd", "pand")
ADDING = ("vaddps", "vaddpd", "vsubps", "addps", "subps")
MULTIPLYING = ("vmulps", "vmulpd", "mulps", "mulpd")
LATENCIES = {
    **dict.fromkeys(ONE_CYCLE, 1.0),
    **dict.fromkeys(ADDING, 2.0),
    **dict.fromkeys(MULTIPLYING, 3.0),
    **dict.fromkeys(("vfmadd231ps", "vfmadd213ps"), 4.0),
    **dict.fromkeys(("aesenc", "aesdec"), 4.0),
    "vpexpandd": 5.0,
}
FALSE = ("blsr", "blsi", "blsmsk", "vpexpandd")
SCHEMES = (
    *(f"{name} XMM:W, XMM:R, XMM:R" for name in LATENCIES if name.startswith(("vpa", "vps", "va", "vs"))),
    *(f"{name} XMM:W, XMM:R, XMM:R" for name in ("vmulps", "vmulpd", "vpxor", "vpor", "vorpd")),
    *(f"{name} XMM:RW, XMM:R, XMM:R" for name in ("vfmadd231ps", "vfmadd213ps")),
    *(f"{name} XMM:RW, XMM:R" for name in ("aesenc", "aesdec", "pxor", "paddd", "pand", "addps", "subps")),
    *(f"{name} XMM:RW, XMM:R" for name in ("mulps", "mulpd")),
    *(f"{name} GPR[64]:W, GPR[64]:R" for name in ("blsr", "blsi", "blsmsk")),
    "vpexpandd ZMM{k}{z}:W, ZMM:R",
    "add GPR[64]:RW, GPR[64]:R",
    "imul GPR[64]:RW, GPR[64]:R",
)


def mnemonic(scheme: str | None) -> str:
    return (scheme or "").partition(" ")[0]


def zen5(wait: OperandWait) -> float | None:
    """Additions reach only each other a cycle sooner; of one cycle is only what was not queued."""
    name, producer = mnemonic(wait.instruction.scheme), mnemonic(wait.by.scheme)
    if not wait.is_read and (name not in FALSE or wait.source == "flags"):
        return None
    cycles = LATENCIES.get(name, 3.0 if name == "imul" else 1.0)
    if name in ONE_CYCLE and wait.is_queued:
        cycles += 1
    leaves_adders = producer in ADDING and name not in ADDING
    return cycles + (1 if leaves_adders else 0)


def plain(wait: OperandWait) -> float | None:
    """No bypasses and no queues that matter."""
    return LATENCIES.get(mnemonic(wait.instruction.scheme), 1.0) if wait.is_read else None


@cache
def inferred(core: WaitingTime, noise: float = 0.0, seed: int = 1) -> LatencyResult:
    pairs = [pair_chains(link) for text in SCHEMES for link in links_of(text)]
    idioms = [idiom for text in SCHEMES for idiom in idioms_of(text)]
    ways = [*map(pair_chains, connectors())]
    problem = LatencyProblem(pairs, ways, idioms, reference_additions(), mixer=MixedChains())
    return infer_latencies(problem, DataflowCore(core, WIDTH, noise, seed))


@cache
def model_of(core: WaitingTime, noise: float = 0.0, seed: int = 1) -> CoreModel:
    result = inferred(core, noise, seed)
    rows = [
        (
            text,
            [pair.as_json() for pair in result.pairs if pair.link.scheme == text],
            [idiom.as_json() for idiom in result.idioms if idiom.scheme == text],
        )
        for text in SCHEMES
    ]
    known = latencies_of_schemes(rows)
    return CoreModel(
        latencies=known.latencies,
        front_end=FrontEndLimits(slots=float(WIDTH)),
        bypasses=known.bypasses,
        unqueued=known.unqueued,
        false_dependences=known.false_dependences,
    )


CODES = {
    "vmulps xmm0, xmm0, xmm1\nvaddps xmm0, xmm0, xmm1": 6,
    "vfmadd231ps xmm0, xmm1, xmm2\nvaddps xmm0, xmm0, xmm1": 7,
    "vpaddd xmm0, xmm0, xmm1\nvaddps xmm0, xmm0, xmm1": 5,
    "vaddps xmm0, xmm0, xmm1\nvsubps xmm0, xmm0, xmm1": 4,
    "vmulps xmm0, xmm0, xmm1\nvaddps xmm0, xmm0, xmm1\nvpaddd xmm0, xmm0, xmm1": 8,
    "vmulps xmm0, xmm0, xmm1\nvaddps xmm0, xmm0, xmm1\nvmulpd xmm0, xmm0, xmm1\nvsubps xmm0, xmm0, xmm1": 12,
    "vpaddd xmm0, xmm0, xmm1": 2,
    "vpaddd xmm0, xmm0, xmm1\n" + "nop\n" * 7: 1,
    "vmulps xmm0, xmm0, xmm1\nvpaddd xmm0, xmm0, xmm1": 5,
    "pxor xmm0, xmm1\n" + "aesenc xmm0, xmm1\n" * 10: 42,
    "mulps xmm0, xmm1\naddps xmm0, xmm1": 6,
    "blsr rax, rbx": 1,
    "blsr rax, rbx\nimul rax, rcx": 4,
    "vpexpandd zmm1{k1}{z}, zmm2": 5,
}


@pytest.mark.parametrize("code", CODES)
def test_a_chain_takes_what_its_neighbours_make_of_it(code: str) -> None:
    (block,) = read_blocks(code, 1)
    accesses = accesses_of(block)
    shape = CodeShape(len(block.code), loop=False, copied=True)
    measured = DataflowCore(zen5, WIDTH).per_turn(accesses)
    assert measured == pytest.approx(CODES[code], rel=0.01)
    assert predict_core(accesses, shape, model_of(zen5)).cycles == pytest.approx(measured, rel=0.03)


@pytest.mark.parametrize("seed", range(fewer(3)))
def test_noise_makes_no_other_kinds(seed: int) -> None:
    noisy, exact = model_of(zen5, 0.005, seed), model_of(zen5)
    for code in CODES:
        (block,) = read_blocks(code, 1)
        shape = CodeShape(len(block.code), loop=False, copied=True)
        predictions = [predict_core(accesses_of(block), shape, model).cycles for model in (noisy, exact)]
        assert predictions[0] == pytest.approx(predictions[1], rel=0.03), code
    assert not model_of(plain, 0.005, seed).bypasses.excess


def test_a_set_says_what_takes_less_alone_and_what_more_beside_others() -> None:
    pairs = {(pair.link.scheme, pair.link.source): pair for pair in inferred(zen5).pairs}
    alone = pairs["vpaddd XMM:W, XMM:R, XMM:R", "2"]
    assert (alone.least, alone.queued, alone.most) == pytest.approx((1.0, 2.0, 2.0))
    adding, multiplying = (pairs[f"v{name}ps XMM:W, XMM:R, XMM:R", "2"] for name in ("add", "mul"))
    assert adding.kind != multiplying.kind
    assert multiplying.kind is not None
    assert adding.beside[multiplying.kind] == pytest.approx(1.0)
    assert pairs["vfmadd231ps XMM:RW, XMM:R, XMM:R", "1"].kind == multiplying.kind
    codes = {reading.chain.links for reading in multiplying.readings}
    assert any({link.scheme for link in links} > {multiplying.link.scheme} for links in codes)


def test_the_chain_says_what_neighbours_add() -> None:
    (block,) = read_blocks("vmulps xmm0, xmm0, xmm1\nvaddps xmm0, xmm0, xmm1", 1)
    found = predict_core(accesses_of(block), CodeShape(len(block.code), loop=False), model_of(zen5))
    steps = sorted((step.cycles, step.basis) for step in found.chain)
    assert steps == [(pytest.approx(cycles), BYPASS_BASIS) for cycles in (2.5, 3.5)]


def test_a_core_without_bypasses_has_no_kinds() -> None:
    assert all((pair.kind, pair.queued) == (None, None) for pair in inferred(plain).pairs)
    model = model_of(plain)
    assert (model.bypasses.kinds, model.bypasses.excess, model.unqueued) == ({}, (), {})
    document = core_model_json(model, name="m", isa="x86-64")
    assert document.keys().isdisjoint({"bypasses", "unqueued", "by_immediate"})


def test_a_file_keeps_bypasses() -> None:
    model = model_of(zen5)
    again = read_core_model(json_text(core_model_json(model, name="m", isa="x86-64"))).model()
    assert (again.bypasses, again.unqueued) == (model.bypasses, model.unqueued)
