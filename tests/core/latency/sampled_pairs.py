"""Schemes with chains of every kind, for tests of latencies."""

from __future__ import annotations

from functools import cache

from inference.core.latency import LatencyResult, PairLatency
from inference.isa.chains import ChainLink, PairChains
from inference.isa.x86.chains import links_of, pair_chains

SCHEMES = (
    "add GPR[64]:RW, GPR[64]:R",
    "adc GPR[32]:RW, GPR[32]:R",
    "imul GPR[64]:W, GPR[64]:R, IMM[8]:R",
    "mul GPR[64]:R",
    "shl GPR[16]:RW, cl:R",
    "lea GPR[64]:W, ADDR[B+S*I]",
    "xchg GPR[64]:RW, GPR[64]:RW",
    "mov GPR[64]:W, MEM[64]:R",
    "mov MEM[32]:W, GPR[32]:R",
    "add GPR[64]:RW, MEM[64]:R",
    "vaddpd XMM:W, XMM:R, XMM:R",
    "vpaddd YMM:W, YMM:R, MEM[256]:R",
    "vfmadd231pd XMM:RW, XMM:R, XMM:R",
    "vmovq GPR[64]:W, XMM:R",
    "vcomisd XMM:R, XMM:R",
    "setb GPR[8]:W",
    "div GPR[32]:R",
    "idiv MEM[16]:R",
    "vdivsd XMM:W, XMM:R, MEM[64]:R",
    "divps XMM:RW, XMM:R",
    "pext GPR[64]:W, GPR[64]:R, GPR[64]:R",
    "vpgatherqd XMM:RW, MEM[32,YMM]:R, XMM:RW",
    "vgatherdpd ZMM{k}:RW, MEM[64,YMM]:R",
    "vpaddd ZMM{k}:RW, ZMM:R, ZMM:R",
    "vsqrtps ZMM{k}{z}:W, ZMM:R",
    "vptestmd K{k}:W, XMM:R, XMM:R",
    "kandw K:W, K:R, K:R",
    "kmovw GPR[32]:W, K:R",
    "vmovdqu32 MEM[512]{k}:RW, ZMM:R",
    "pmullw MM:RW, MM:R",
    "pshufw MM:W, MM:R, IMM[8]:R",
    "cvtpi2ps XMM:RW, MM:R",
)


@cache
def pairs() -> tuple[PairChains, ...]:
    return tuple(pair_chains(link) for text in SCHEMES for link in links_of(text))


def by_name(result: LatencyResult, text: str, source: str, destination: str) -> PairLatency:
    return next(one for one in result.pairs if one.link == ChainLink(text, source, destination))
