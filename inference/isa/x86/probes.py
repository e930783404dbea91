"""Probes: one or two schemes for each kind of execution unit, with which a core's ports are found in seconds.

Each is a single µop on nearly every core since Sandy Bridge and Zen, by Agner Fog's instruction tables and
uops.info; a run leaves those out that, measured alone, do not look like one µop. Vectors are of 128 bits,
since Zen, Zen+ and narrower cores split longer ones, and are VEX-encoded, for which AVX suffices. There are
no stores: on Intel's cores a store has two µops, address and data.
"""

from __future__ import annotations

_INTEGER = (
    "add GPR[64]:RW, GPR[64]:R",  # any ALU
    "lea GPR[64]:W, ADDR[B+D8]",  # any ALU, or those that compute addresses
    "shl GPR[64]:RW, IMM[8]:R",
    "imul GPR[64]:RW, GPR[64]:R",
    "popcnt GPR[64]:W, GPR[64]:R",
)
_VECTOR = (
    "vpaddd XMM:W, XMM:R, XMM:R",
    "vpand XMM:W, XMM:R, XMM:R",
    "vpslld XMM:W, XMM:R, IMM[8]:R",
    "vpshufb XMM:W, XMM:R, XMM:R",
    "vaddpd XMM:W, XMM:R, XMM:R",
    "vmulpd XMM:W, XMM:R, XMM:R",
    "vpmuludq XMM:W, XMM:R, XMM:R",
)
_LOAD = (
    "mov GPR[64]:W, MEM[64]:R",
    "vmovaps XMM:W, MEM[128]:R",
)

PREFERRED = (
    # Any ALU, and of all the fewest registers to read: where many are read in a cycle, a Golden Cove lets a
    # store wait that shares no port with them.
    "not GPR[64]:RW",
    "not GPR[32]:RW",
    *_INTEGER,
    *_VECTOR,
    "vpor XMM:W, XMM:R, XMM:R",
    "vminps XMM:W, XMM:R, XMM:R",
    "vbroadcastss XMM:W, XMM:R",
    "vpaddsw XMM:W, XMM:R, XMM:R",
    "vaddps XMM:W, XMM:R, XMM:R",
    "vroundps XMM:W, XMM:R, IMM[8]:R",
    *_LOAD,
    "mov MEM[64]:W, GPR[64]:R",
    "vmovaps MEM[128]:W, XMM:R",
)
"""The schemes that stand best for others with the same ports, the best first: common and well behaved."""

PROBES = frozenset(_INTEGER + _VECTOR + _LOAD)
"""Their texts; all are in the default inference set."""
