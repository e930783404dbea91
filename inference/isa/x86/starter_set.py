"""The starter set: schemes for a first inference that takes minutes and still shows every part of a core."""

from __future__ import annotations

_ALU = (
    "add GPR[64]:RW, GPR[64]:R",
    "sub GPR[64]:RW, GPR[64]:R",
    "and GPR[64]:RW, GPR[64]:R",
    "xor GPR[64]:RW, GPR[64]:R",
    "cmp GPR[64]:R, GPR[64]:R",
    "test GPR[64]:R, GPR[64]:R",
    "add GPR[64]:RW, IMM[8]:R",
    "neg GPR[64]:RW",
    "mov GPR[64]:W, IMM[32]:R",
    "movzx GPR[32]:W, GPR[8]:R",
    "lea GPR[64]:W, ADDR[B+D8]",
    "lea GPR[64]:W, ADDR[B+S*I+D8]",
)
_SHIFT_AND_BITS = (
    "shl GPR[64]:RW, IMM[8]:R",
    "sar GPR[64]:RW, 0x1",
    "ror GPR[64]:RW, IMM[8]:R",
    "shlx GPR[64]:W, GPR[64]:R, GPR[64]:R",
    "bswap GPR[64]:RW",
    "bt GPR[64]:R, GPR[64]:R",
    "andn GPR[64]:W, GPR[64]:R, GPR[64]:R",
    "bextr GPR[64]:W, GPR[64]:R, GPR[64]:R",
    "lzcnt GPR[64]:W, GPR[64]:R",
    "popcnt GPR[64]:W, GPR[64]:R",
    "pdep GPR[64]:W, GPR[64]:R, GPR[64]:R",
)
_MULTIPLY = (
    "imul GPR[64]:RW, GPR[64]:R",
    "imul GPR[32]:W, GPR[32]:R, IMM[32]:R",
)
_VECTOR_INTEGER = (
    "vpaddd YMM:W, YMM:R, YMM:R",
    "vpmulld YMM:W, YMM:R, YMM:R",
    "vpand YMM:W, YMM:R, YMM:R",
    "vpcmpeqd YMM:W, YMM:R, YMM:R",
    "vpslld YMM:W, YMM:R, IMM[8]:R",
    "vpminsd YMM:W, YMM:R, YMM:R",
)
_VECTOR_FLOAT = (
    "vaddpd YMM:W, YMM:R, YMM:R",
    "vmulps YMM:W, YMM:R, YMM:R",
    "vfmadd231pd YMM:RW, YMM:R, YMM:R",
    "vdivps XMM:W, XMM:R, XMM:R",
    "vmaxpd YMM:W, YMM:R, YMM:R",
    "vcvtdq2ps YMM:W, YMM:R",
)
_SHUFFLE = (
    "vpshufb YMM:W, YMM:R, YMM:R",
    "vshufps YMM:W, YMM:R, YMM:R, IMM[8]:R",
    "vpermd YMM:W, YMM:R, YMM:R",
    "vpunpcklwd YMM:W, YMM:R, YMM:R",
    "vblendps YMM:W, YMM:R, YMM:R, IMM[8]:R",
    "vmovd GPR[32]:W, XMM:R",
)
_MEMORY = (
    "mov GPR[64]:W, MEM[64]:R",
    "mov MEM[64]:W, GPR[64]:R",
    "movzx GPR[32]:W, MEM[8]:R",
    "add GPR[64]:RW, MEM[64]:R",
    "add MEM[64]:RW, GPR[64]:R",
    "imul GPR[64]:RW, MEM[64]:R",
    "vmovaps YMM:W, MEM[256]:R",
    "vmovaps MEM[256]:W, YMM:R",
    "vaddpd YMM:W, YMM:R, MEM[256]:R",
    "vpshufb YMM:W, YMM:R, MEM[256]:R",
)


# What compilers emit, counted in 750 programs and libraries of Debian 12 as `benchmarks/emitted.py` does: the
# share of each in per cent, of integer instructions from 0.5 on, of SSE2's from 0.04 on. Of what can stand in
# a loop body (no jumps, calls, push or pop) those above, which tell units apart, are 28 %; with these it is
# 74 %. SSE2 is measured in its VEX encoding, beside which the legacy one cannot stand; moves of one size and
# direction count together.
_EMITTED = (
    "mov GPR[64]:W, GPR[64]:R",  # 9.28
    "lea GPR[64]:W, ADDR[RIP+D]",  # 3.83
    "xor GPR[32]:RW, GPR[32]:R",  # 3.74
    "mov GPR[32]:W, IMM[32]:R",  # 3.73
    "mov GPR[32]:W, MEM[32]:R",  # 2.37
    "mov GPR[32]:W, GPR[32]:R",  # 2.28
    "test GPR[32]:R, GPR[32]:R",  # 1.76
    "mov MEM[32]:W, GPR[32]:R",  # 1.13
    "cmp GPR[32]:R, IMM[8]:R",  # 0.83
    "sub GPR[64]:RW, IMM[8]:R",  # 0.76
    "mov MEM[32]:W, IMM[32]:R",  # 0.65
    "mov MEM[64]:W, IMM[32]:R",  # 0.57
)
_EMITTED_SSE2 = (
    "vmovaps MEM[128]:W, XMM:R",  # 0.67
    "vpxor XMM:W, XMM:R, XMM:R",  # 0.52
    "vmovdqa XMM:W, MEM[128]:R",  # 0.37
    "vmovdqa XMM:W, XMM:R",  # 0.24
    "vmovss XMM:W, MEM[32]:R",  # 0.12
    "vmovq XMM:W, GPR[64]:R",  # 0.11
    "vmovsd XMM:W, MEM[64]:R",  # 0.10
    "vmovss MEM[32]:W, XMM:R",  # 0.07
    "vpunpcklqdq XMM:W, XMM:R, XMM:R",  # 0.07
    "vmulss XMM:W, XMM:R, XMM:R",  # 0.05
    "vmovsd MEM[64]:W, XMM:R",  # 0.05
    "vpaddd XMM:W, XMM:R, XMM:R",  # 0.05
    "vaddss XMM:W, XMM:R, XMM:R",  # 0.04
)
STARTER_SET = frozenset(
    (
        *(_ALU + _SHIFT_AND_BITS + _MULTIPLY + _VECTOR_INTEGER + _VECTOR_FLOAT + _SHUFFLE + _MEMORY),
        *_EMITTED,
        *_EMITTED_SSE2,
    )
)
"""Texts of the starter schemes; all of them are in the default inference set and need no more than AVX2."""
DIVISIONS = frozenset(
    (
        *(f"{name} GPR[{width}]:R" for name in ("div", "idiv") for width in (32, 64)),
        "vdivsd XMM:W, XMM:R, XMM:R",
        "vsqrtsd XMM:W, XMM:R, XMM:R",
    )
)
"""What a starter set of latencies has beside that of throughputs."""
