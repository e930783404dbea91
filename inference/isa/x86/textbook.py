"""Textbook inverse throughputs of single schemes of the starter set: what a measurement has to find.

Cycles per instruction; only what the vendors' guides and Agner Fog's instruction tables agree about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

_FOG = "Agner Fog, Instruction tables"
_INTEL = f"Intel, Optimization Reference Manual; {_FOG}"
_AMD = f"AMD, Software Optimization Guides; {_FOG}"

_ALU = (
    "add GPR[64]:RW, GPR[64]:R",
    "add GPR[64]:RW, IMM[8]:R",
    "sub GPR[64]:RW, GPR[64]:R",
    "and GPR[64]:RW, GPR[64]:R",
    "xor GPR[64]:RW, GPR[64]:R",
    "cmp GPR[64]:R, GPR[64]:R",
    "test GPR[64]:R, GPR[64]:R",
    "neg GPR[64]:RW",
    "mov GPR[64]:W, IMM[32]:R",
)
_SHIFTS = ("shl GPR[64]:RW, IMM[8]:R", "sar GPR[64]:RW, 0x1")
_ROTATION = "ror GPR[64]:RW, IMM[8]:R"  # keeps some flags: on Intel's cores a chain, for which sources differ
_SHIFT_WITHOUT_FLAGS = "shlx GPR[64]:W, GPR[64]:R, GPR[64]:R"
_BIT_TEST = "bt GPR[64]:R, GPR[64]:R"
_COUNTS = ("lzcnt GPR[64]:W, GPR[64]:R", "popcnt GPR[64]:W, GPR[64]:R")
_DEPOSIT = "pdep GPR[64]:W, GPR[64]:R, GPR[64]:R"
_MULTIPLICATIONS = (
    "imul GPR[64]:RW, GPR[64]:R",
    "imul GPR[32]:W, GPR[32]:R, IMM[32]:R",
    "imul GPR[64]:RW, MEM[64]:R",
)
_FLOAT = (
    "vmulps YMM:W, YMM:R, YMM:R",
    "vaddpd YMM:W, YMM:R, YMM:R",
    "vaddpd YMM:W, YMM:R, MEM[256]:R",
    "vfmadd231pd YMM:RW, YMM:R, YMM:R",
    "vmaxpd YMM:W, YMM:R, YMM:R",
)
_CONVERSION = "vcvtdq2ps YMM:W, YMM:R"
_VECTOR_ADD, _VECTOR_AND = "vpaddd YMM:W, YMM:R, YMM:R", "vpand YMM:W, YMM:R, YMM:R"
_VECTOR_COMPARE, _VECTOR_MINIMUM = "vpcmpeqd YMM:W, YMM:R, YMM:R", "vpminsd YMM:W, YMM:R, YMM:R"
_VECTOR_SHIFT = "vpslld YMM:W, YMM:R, IMM[8]:R"
_VECTOR_MULTIPLICATION = "vpmulld YMM:W, YMM:R, YMM:R"
_BLEND = "vblendps YMM:W, YMM:R, YMM:R, IMM[8]:R"
_SHUFFLES = (
    "vpshufb YMM:W, YMM:R, YMM:R",
    "vpshufb YMM:W, YMM:R, MEM[256]:R",
    "vshufps YMM:W, YMM:R, YMM:R, IMM[8]:R",
    "vpunpcklwd YMM:W, YMM:R, YMM:R",
)
_ACROSS_LANES = "vpermd YMM:W, YMM:R, YMM:R"
_TO_GENERAL = "vmovd GPR[32]:W, XMM:R"
_LOADS = ("mov GPR[64]:W, MEM[64]:R", "movzx GPR[32]:W, MEM[8]:R", "add GPR[64]:RW, MEM[64]:R")
_VECTOR_LOAD = "vmovaps YMM:W, MEM[256]:R"
_STORE, _VECTOR_STORE = "mov MEM[64]:W, GPR[64]:R", "vmovaps MEM[256]:W, YMM:R"
_MODIFY = "add MEM[64]:RW, GPR[64]:R"
_DIVISION = "vdivps XMM:W, XMM:R, XMM:R"

_QUARTER, _THIRD, _HALF = 1 / 4, 1 / 3, 1 / 2

_Groups = tuple[tuple[float, tuple[str, ...]], ...]

_INTEL_SINCE_SKYLAKE: _Groups = (
    (_QUARTER, _ALU),
    (_HALF, (*_SHIFTS, _SHIFT_WITHOUT_FLAGS, _BIT_TEST)),
    (1.0, (*_COUNTS, _DEPOSIT, *_MULTIPLICATIONS)),
    (_HALF, (*_FLOAT, _CONVERSION, _VECTOR_COMPARE, _VECTOR_MINIMUM, _VECTOR_SHIFT)),
    (_THIRD, (_VECTOR_ADD, _VECTOR_AND, _BLEND)),
    (1.0, (_VECTOR_MULTIPLICATION, _ACROSS_LANES, _TO_GENERAL)),
    (_HALF, (*_LOADS, _VECTOR_LOAD)),
    (3.0, (_DIVISION,)),
)
_SKYLAKE: _Groups = (*_INTEL_SINCE_SKYLAKE, (1.0, (*_SHUFFLES, _STORE, _VECTOR_STORE, _MODIFY)))
_ICE_LAKE: _Groups = (*_INTEL_SINCE_SKYLAKE, (_HALF, _SHUFFLES))

_ZEN_SINCE_2: _Groups = (
    (_QUARTER, (*_ALU, *_COUNTS, _VECTOR_AND)),
    (1.0, (*_MULTIPLICATIONS, _VECTOR_STORE)),
    (_HALF, (*_FLOAT, *_SHUFFLES, _VECTOR_LOAD)),
)
_ZEN2: _Groups = (*_ZEN_SINCE_2, (_HALF, _LOADS), (1.0, (_STORE, _MODIFY)))
_ZEN_SINCE_3: _Groups = (
    *_ZEN_SINCE_2,
    (_THIRD, _LOADS),
    (_QUARTER, (_VECTOR_ADD,)),
    (_HALF, (*_SHIFTS, _ROTATION, _SHIFT_WITHOUT_FLAGS, _BIT_TEST, _VECTOR_SHIFT, _CONVERSION, _STORE)),
    (1.0, (_DEPOSIT,)),
)

_GROUPS: dict[str, tuple[_Groups, str]] = {
    "Skylake": (_SKYLAKE, _INTEL),
    "Skylake-SP": (_SKYLAKE, _INTEL),
    "Ice Lake": (_ICE_LAKE, _INTEL),
    "Ice Lake-SP": (_ICE_LAKE, _INTEL),
    "Zen 2": (_ZEN2, _AMD),
    "Zen 3": (_ZEN_SINCE_3, _AMD),
    "Zen 4": (_ZEN_SINCE_3, _AMD),
}


@cache
def known_cpi(name: str) -> Mapping[str, tuple[float, str]]:
    """{scheme text: (cycles per instruction, source)} of a microarchitecture; empty for an unknown name."""
    if name not in _GROUPS:
        return {}
    groups, source = _GROUPS[name]
    return {text: (cycles, source) for cycles, text in _flat(groups)}


def _flat(groups: _Groups) -> Iterator[tuple[float, str]]:
    for cycles, texts in groups:
        for text in texts:
            yield cycles, text
