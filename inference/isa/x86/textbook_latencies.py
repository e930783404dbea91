"""Textbook latencies of pairs of operands, core by core: what chains of dependencies have to find.

An entry is a scheme, which stands for every way from a register of its operands (that of an address among
them) to its first operand, or a link as `ChainLink` prints it. A range is there where sources differ, where
values matter (divisions), or where the way back does (loads). Left out is what a rename stage may eliminate,
and of each core what its sources contradict each other about.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from inference.isa.chains import ChainLink, Latency
from inference.isa.x86.operand_places import DATA, FLAGS, links_of

_Entries = Mapping[str, Latency]

_FOG = "Agner Fog, Instruction tables; uops.info"
_INTEL = f"Intel, Optimization Reference Manual; LLVM's scheduling models; {_FOG}"
_ZEN2_GUIDE = f"AMD, Software Optimization Guide for the AMD Family 17h Processors; {_FOG}"
_ZEN_GUIDE = f"AMD, Software Optimization Guide for the AMD Family 19h Processors; {_FOG}"


def _take(least: float, *entries: str, most: float | None = None) -> _Entries:
    """Each entry takes `least` cycles, up to `most` where that is given."""
    return dict.fromkeys(entries, (least, least if most is None else most))


_ADDRESS = "2 address → 1"
_LOAD, _LOAD_BYTE = "mov GPR[64]:W, MEM[64]:R", "movzx GPR[32]:W, MEM[8]:R"
_ADD_LOADED = f"add GPR[64]:RW, MEM[64]:R: {_ADDRESS}"
_SCAN_FORWARD, _SCAN_REVERSE = (f"{name} GPR[64]:RW, GPR[64]:R: 2 → 1" for name in ("bsf", "bsr"))
_COUNT, _LEADING, _TRAILING = (f"{name} GPR[64]:W, GPR[64]:R" for name in ("popcnt", "lzcnt", "tzcnt"))
_DEPOSIT, _EXTRACT = (f"{name} GPR[64]:W, GPR[64]:R, GPR[64]:R" for name in ("pdep", "pext"))
_BIT_FIELD = "bextr GPR[64]:W, GPR[64]:R, GPR[64]:R"
_RESET_LOWEST = "blsr GPR[64]:W, GPR[64]:R"
_BYTES_OF_64 = "bswap GPR[64]:RW"
_ADD_DISPLACED = "lea GPR[64]:W, ADDR[B+D8]"
_INCREMENT = "inc GPR[64]:RW"
_INTEGER = (
    "add GPR[64]:RW, GPR[64]:R",
    "sub GPR[64]:RW, GPR[64]:R",
    "and GPR[64]:RW, GPR[64]:R",
    "or GPR[64]:RW, GPR[64]:R",
    "xor GPR[64]:RW, GPR[64]:R",
    "adc GPR[64]:RW, GPR[64]:R",
    "neg GPR[64]:RW",
    "not GPR[64]:RW",
    "lea GPR[64]:W, ADDR[B+I]",
    "movsx GPR[64]:W, GPR[8]:R",
    "movsx GPR[64]:W, GPR[16]:R",
    "movsxd GPR[64]:W, GPR[32]:R",
    "shl GPR[64]:RW, IMM[8]:R",
    "shr GPR[64]:RW, IMM[8]:R",
    "sar GPR[64]:RW, IMM[8]:R",
    "rorx GPR[64]:W, GPR[64]:R, IMM[8]:R",
    "bswap GPR[32]:RW",
    "cmove GPR[64]:RW, GPR[64]:R",
)
_BIT_OPERATIONS = (  # of these sources differ for Golden Cove
    "andn GPR[64]:W, GPR[64]:R, GPR[64]:R",
    "bzhi GPR[64]:W, GPR[64]:R, GPR[64]:R",
    "rol GPR[64]:RW, IMM[8]:R",
    "ror GPR[64]:RW, IMM[8]:R",
    "shlx GPR[64]:W, GPR[64]:R, GPR[64]:R",
)
_MULTIPLICATIONS = (
    "imul GPR[64]:RW, GPR[64]:R",
    "imul GPR[32]:W, GPR[32]:R, IMM[32]:R",
    "imul GPR[64]:W, GPR[64]:R, IMM[8]:R",
)
_CHECKSUM = "crc32 GPR[64]:RW, GPR[64]:R"

_FLOAT_ADD = ("vaddss XMM:W, XMM:R, XMM:R", "vaddpd YMM:W, YMM:R, YMM:R", "vsubps XMM:W, XMM:R, XMM:R")
_FLOAT_MULTIPLY = ("vmulsd XMM:W, XMM:R, XMM:R", "vmulps YMM:W, YMM:R, YMM:R")
_FUSED = ("vfmadd231ss XMM:RW, XMM:R, XMM:R", "vfmadd213pd YMM:RW, YMM:R, YMM:R")
_FLOAT_COMPARE = (
    "vmaxps XMM:W, XMM:R, XMM:R",
    "vminpd YMM:W, YMM:R, YMM:R",
    "vcmpps XMM:W, XMM:R, XMM:R, IMM[8]:R",
)
_DIVIDE_SINGLE = ("vdivss XMM:W, XMM:R, XMM:R", "vdivps XMM:W, XMM:R, XMM:R")
_DIVIDE_DOUBLE = ("vdivsd XMM:W, XMM:R, XMM:R", "vdivpd XMM:W, XMM:R, XMM:R")
_ROOT_SINGLE, _ROOT_DOUBLE = "vsqrtps XMM:W, XMM:R", "vsqrtpd XMM:W, XMM:R"
_ROUND = "vroundps XMM:W, XMM:R, IMM[8]:R"
_CONVERSIONS = ("vcvtdq2ps XMM:W, XMM:R", "vcvttps2dq XMM:W, XMM:R")
_RESIZING_CONVERSIONS = ("vcvtps2pd XMM:W, XMM:R", "vcvtpd2ps XMM:W, XMM:R")

_VECTOR = (
    "vandps XMM:W, XMM:R, XMM:R",
    "vpaddd XMM:W, XMM:R, XMM:R",
    "vpaddq YMM:W, YMM:R, YMM:R",
    "vpsubd XMM:W, XMM:R, XMM:R",
    "vpand XMM:W, XMM:R, XMM:R",
    "vpor XMM:W, XMM:R, XMM:R",
    "vpxor YMM:W, YMM:R, YMM:R",
    "vpcmpeqd XMM:W, XMM:R, XMM:R",
    "vpminsd XMM:W, XMM:R, XMM:R",
    "vpmaxub YMM:W, YMM:R, YMM:R",
    "vpslld XMM:W, XMM:R, IMM[8]:R",
    "vpsrlq XMM:W, XMM:R, IMM[8]:R",
    "vpshufd XMM:W, XMM:R, IMM[8]:R",
    "vshufps XMM:W, XMM:R, XMM:R, IMM[8]:R",
    "vunpcklps XMM:W, XMM:R, XMM:R",
    "vpunpcklwd XMM:W, XMM:R, XMM:R",
    "vpermilps XMM:W, XMM:R, IMM[8]:R",
    "vblendps XMM:W, XMM:R, XMM:R, IMM[8]:R",
    "vpblendd YMM:W, YMM:R, YMM:R, IMM[8]:R",
)
_SATURATING = ("vpabsd XMM:W, XMM:R", "vpavgb XMM:W, XMM:R, XMM:R")
_BYTE_SHUFFLES = (
    "vpshufb XMM:W, XMM:R, XMM:R",
    "vpalignr XMM:W, XMM:R, XMM:R, IMM[8]:R",
    "vpmovzxbw XMM:W, XMM:R",
)
_VECTOR_MULTIPLY = (
    "vpmullw XMM:W, XMM:R, XMM:R",
    "vpmuludq XMM:W, XMM:R, XMM:R",
    "vpmaddwd XMM:W, XMM:R, XMM:R",
)
_MULTIPLY_32 = "vpmulld XMM:W, XMM:R, XMM:R"
_DIFFERENCES = "vpsadbw XMM:W, XMM:R, XMM:R"
_PACK = "vpackssdw XMM:W, XMM:R, XMM:R"
_BLEND_BY_REGISTER = "vpblendvb XMM:W, XMM:R, XMM:R, XMM:R"
_LANES = "vperm2f128 YMM:W, YMM:R, YMM:R, IMM[8]:R"
_ACROSS_LANES = ("vpermd YMM:W, YMM:R, YMM:R", "vpermq YMM:W, YMM:R, IMM[8]:R")
_ENCRYPT = ("vaesenc XMM:W, XMM:R, XMM:R", "vaesdec XMM:W, XMM:R, XMM:R")
_CARRYLESS = "vpclmulqdq XMM:W, XMM:R, XMM:R, IMM[8]:R"

_WIDE_VECTOR = (
    "vpaddd ZMM:W, ZMM:R, ZMM:R",
    "vpandd ZMM:W, ZMM:R, ZMM:R",
    "vpxorq ZMM:W, ZMM:R, ZMM:R",
    "vpaddd ZMM{k}:RW, ZMM:R, ZMM:R: 1 → 1",
    "vpaddd ZMM{k}:RW, ZMM:R, ZMM:R: 2 → 1",
    "vpaddd ZMM{k}{z}:W, ZMM:R, ZMM:R: 2 → 1",
)
_MASKS = ("kandw K:W, K:R, K:R", "korw K:W, K:R, K:R", "kxorw K:W, K:R, K:R")
_MASK_SHIFTS = ("kshiftlw K:W, K:R, IMM[8]:R", "kshiftrw K:W, K:R, IMM[8]:R")
_WIDE_FLOAT = ("vmulpd ZMM:W, ZMM:R, ZMM:R", "vfmadd231pd ZMM:RW, ZMM:R, ZMM:R")

_OLD_VECTOR = ("paddd MM:RW, MM:R", "pand MM:RW, MM:R", "pshufw MM:W, MM:R, IMM[8]:R")
_OLD_MULTIPLY = ("pmullw MM:RW, MM:R", "pmaddwd MM:RW, MM:R")
_STACK_ADD, _STACK_MULTIPLY = (f"{name} st0:RW, ST:R: 1 → 1" for name in ("fadd", "fmul"))
_COMMON: _Entries = {
    **_take(1, *_INTEGER, *_VECTOR, *_OLD_VECTOR),
    **_take(3, *_MULTIPLICATIONS, _CHECKSUM, _DIFFERENCES),
}

_INTEL_CORES: _Entries = {
    **_COMMON,
    **_take(1, _RESET_LOWEST, *_SATURATING, *_BYTE_SHUFFLES),
    **_take(2, _BYTES_OF_64),
    **_take(3, _STACK_ADD),
    **_take(4, _STACK_MULTIPLY, most=5),
    **_take(5, *_OLD_MULTIPLY),
    **_take(3, _COUNT, _LEADING, _TRAILING, _SCAN_FORWARD, _SCAN_REVERSE, _DEPOSIT, _EXTRACT),
    **_take(3, _LANES, *_ACROSS_LANES),
    **_take(4, *_FLOAT_MULTIPLY, *_FUSED, *_FLOAT_COMPARE, *_CONVERSIONS),
    **_take(5, *_RESIZING_CONVERSIONS, *_VECTOR_MULTIPLY),
    **_take(8, _ROUND),
    **_take(10, _MULTIPLY_32),
    **_take(11, *_DIVIDE_SINGLE),
    **_take(13, *_DIVIDE_DOUBLE, most=14),
    **_take(12, _ROOT_SINGLE),
    **_take(1, *_WIDE_VECTOR, *_MASKS),
    **_take(4, *_WIDE_FLOAT, *_MASK_SHIFTS),
}
_SKYLAKE: _Entries = {
    **_INTEL_CORES,
    **_take(1, *_BIT_OPERATIONS, _INCREMENT, _ADD_DISPLACED, _PACK),
    **_take(2, _BIT_FIELD, _BLEND_BY_REGISTER),
    **_take(4, *_FLOAT_ADD, *_ENCRYPT),
    **_take(6, _CARRYLESS, most=7),
    **_take(15, _ROOT_DOUBLE, most=18),
    **_take(4, _LOAD, _LOAD_BYTE, most=5),
    **_take(5, _ADD_LOADED, most=6),
}
_ICE_LAKE: _Entries = {
    **_SKYLAKE,
    **_take(3, *_ENCRYPT, _PACK),
    **_take(6, _CARRYLESS),
    **_take(5, _LOAD, _LOAD_BYTE),
    **_take(6, _ADD_LOADED),
}
_GOLDEN_COVE: _Entries = {
    **_INTEL_CORES,
    **_take(2, *_FLOAT_ADD, most=3),  # two cycles from one addition to the next
    **_take(3, *_ENCRYPT, _CARRYLESS, _PACK),
    **_take(3, f"{_BLEND_BY_REGISTER}: 4 → 1"),  # sources do not say how soon it needs what it chooses from
    **_take(5, _LOAD, _LOAD_BYTE),
    **_take(6, _ADD_LOADED),
}

_ZEN2: _Entries = {
    **_COMMON,
    **_take(3, *_OLD_MULTIPLY),
    **_take(1, *_BIT_OPERATIONS, _INCREMENT, _ADD_DISPLACED, _BIT_FIELD, _BYTES_OF_64, _COUNT, _LEADING),
    **_take(2, _TRAILING, _RESET_LOWEST),
    **_take(3, _SCAN_FORWARD),
    **_take(4, _SCAN_REVERSE, _LOAD, _LOAD_BYTE),
    **_take(5, _ADD_LOADED),
    **_take(1, *_FLOAT_COMPARE, *_SATURATING, *_BYTE_SHUFFLES, _PACK, _BLEND_BY_REGISTER),
    **_take(3, *_FLOAT_ADD, *_FLOAT_MULTIPLY, *_VECTOR_MULTIPLY, *_CONVERSIONS, _ROUND, _LANES),
    **_take(4, _MULTIPLY_32, *_ENCRYPT, _CARRYLESS),
    **_take(5, *_FUSED),
    **_take(10, *_DIVIDE_SINGLE),
    **_take(13, *_DIVIDE_DOUBLE),
    **_take(14, _ROOT_SINGLE),
    **_take(20, _ROOT_DOUBLE),
}
_ZEN3: _Entries = {
    **_ZEN2,
    **_take(3, _DEPOSIT, _EXTRACT, _MULTIPLY_32, *_RESIZING_CONVERSIONS),
    **_take(3, _LANES, most=3.5),
    **_take(4, *_FUSED),
    **_take(10, *_DIVIDE_SINGLE, most=11),
    **_take(13, *_DIVIDE_DOUBLE, most=13.5),
    **_take(14, _ROOT_SINGLE, most=15),
    **_take(20, _ROOT_DOUBLE, most=21),
}
_ZEN4: _Entries = {
    **_ZEN3,
    **_take(1, _TRAILING, _RESET_LOWEST, _SCAN_FORWARD, _SCAN_REVERSE),
    **_take(2, *_FLOAT_COMPARE, *_SATURATING, *_BYTE_SHUFFLES, _PACK),
    **_take(3, _LANES),
    **_take(4, *_ACROSS_LANES),
}

_TABLES: Mapping[str, tuple[_Entries, str]] = {
    "Skylake": (_SKYLAKE, _INTEL),
    "Skylake-SP": (_SKYLAKE, _INTEL),
    "Ice Lake": (_ICE_LAKE, _INTEL),
    "Ice Lake-SP": (_ICE_LAKE, _INTEL),
    "Tiger Lake": (_ICE_LAKE, _INTEL),  # and Rocket Lake: Ice Lake's execution units with other caches
    "Rocket Lake": (_ICE_LAKE, _INTEL),
    "Golden Cove": (_GOLDEN_COVE, _INTEL),
    "Raptor Cove": (_GOLDEN_COVE, _INTEL),  # Golden Cove's execution units with a larger cache
    "Zen 2": (_ZEN2, _ZEN2_GUIDE),
    "Zen 3": (_ZEN3, _ZEN_GUIDE),
    "Zen 4": (_ZEN4, _ZEN_GUIDE),
}
DOCUMENTED_CORES = tuple(_TABLES)


@cache
def known_latencies(core: str) -> Mapping[ChainLink, Latency]:
    """What is documented of the core with this name; empty for one without a table."""
    entries, _ = _TABLES.get(core, ({}, ""))
    return {link: cycles for entry, cycles in entries.items() for link in _links(entry)}


def documented_latency(core: str, link: ChainLink) -> Latency | None:
    """The least and the most cycles that a link takes on a core; None where that is not documented."""
    return known_latencies(core).get(link)


def latency_source(core: str) -> str:
    """Who says so; "" of a core without a table."""
    return _TABLES[core][1] if core in _TABLES else ""


def _links(entry: str) -> list[ChainLink]:
    """What an entry of a table stands for."""
    if "→" in entry:
        text, _, way = entry.rpartition(": ")
        source, destination = way.split(" → ")
        return [ChainLink(text, source, destination)]
    return [
        link
        for link in links_of(entry)
        if link.destination == "1" and link.source != FLAGS and not link.source.endswith(DATA)
    ]
