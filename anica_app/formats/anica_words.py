"""Translates the published AnICA's terms for features of instructions, those of XED and uops.info, to ours.

One of their terms may stand for several of ours, any of which may hold: their categories often name the
instruction set (AVX, SSE) in place of the operation, ours always name the operation. Terms that are not
listed are unknown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from anica_app.core.domain.features import SIZE, operand_types
from inference.isa.name_parsing import read
from inference.isa.names import SchemeNames
from inference.isa.targets import DEFAULT, target_of

Words = Mapping[str, tuple[str, ...]]

_VECTOR = (
    *("arithmetic", "bit", "blend", "checksum", "compare", "crypto", "divide", "dot-product", "extend"),
    *("horizontal", "minimum-maximum", "move", "move-mask", "multiply", "narrow", "reciprocal", "round"),
    *("shift", "shuffle", "square-root", "state", "string-compare"),
)
_CATEGORIES = {
    "arithmetic": ("ADOX_ADCX",),
    "bit": ("LZCNT", "TBM"),
    "broadcast": ("BROADCAST",),
    "cache": ("CLZERO",),
    "call": ("CALL",),
    "conditional-move": ("CMOV",),
    "conditional-set": ("SETCC",),
    "crypto": ("AES", "GFNI", "PCLMULQDQ", "SHA", "VAES", "VPCLMULQDQ"),
    "dot-product": ("VEX",),
    "exchange": ("SEMAPHORE",),
    "fused-multiply-add": ("FMA4", "VFMA"),
    "interrupt": ("INTERRUPT",),
    "nop": ("NOP", "WIDENOP"),
    "prefetch": ("PREFETCH", "PREFETCHWT1"),
    "random": ("RDRAND", "RDSEED"),
    "return": ("RET", "SYSRET"),
    "rotate": ("ROTATE",),
    "shift": ("SHIFT",),
    "stack": ("POP", "PUSH"),
    "string": ("STRINGOP",),
    "string-compare": ("STTNI",),
    "system": ("IO", "PKU", "PTWRITE", "SGX"),
}
"""{our category: their categories that mean it alone}."""

CATEGORIES: Words = {
    **{theirs: (ours,) for ours, words in _CATEGORIES.items() for theirs in words},
    "AVX": _VECTOR,
    "AVX2": _VECTOR,
    "BINARY": ("arithmetic", "compare", "divide", "multiply"),
    "BITBYTE": ("bit", "shuffle"),
    "BMI1": ("bit", "logical"),
    "BMI2": ("bit", "multiply", "rotate", "shift"),
    "COND_BR": ("branch", "transaction"),
    "CONVERT": ("convert", "extend"),
    "DATAXFER": ("byte-swap", "exchange", "extend", "move", "move-mask", "shuffle"),
    "FLAGOP": ("flags", "system"),
    "LOGICAL": ("compare", "logical", "transaction"),
    "LOGICAL_FP": ("compare", "logical"),
    "MISC": ("address", "fence", "interrupt", "move", "nop", "stack", "system"),
    "SSE": _VECTOR,
    "UNCOND_BR": ("jump", "transaction"),
}

_SAME = (
    *("AES", "AVX", "AVX2", "AVX_VNNI", "BMI1", "BMI2", "CLZERO", "F16C", "FMA", "FMA4", "LZCNT"),
    *("MONITORX", "MOVBE", "PCLMULQDQ", "PKU", "PREFETCHWT1", "PTWRITE", "RDRAND", "RDSEED", "SHA", "SSE"),
    *("SSE2", "SSE3", "SSSE3", "TBM", "VAES", "VPCLMULQDQ"),
)
EXTENSIONS: Words = {
    **{word: (word,) for word in _SAME},
    "3DNOW_PREFETCH": ("PREFETCHW",),
    "ADOX_ADCX": ("ADX",),
    "AVX": ("AVX", "PCLMULQDQ+AVX"),
    "AVXAES": ("AES+AVX",),
    "BASE": ("BASE",),
    "GFNI": ("AVX+GFNI", "GFNI"),
    "LONGMODE": ("BASE",),
    "MMX": ("MMX", "SSE"),
    "PAUSE": ("BASE",),
    "RTM": ("HLE_OR_RTM", "RTM"),
    "SGX": ("SGX1",),
    "SSE4": ("POPCNT", "SSE4"),
    "SSE4a": ("SSE4a",),
}
ISA_SETS: Words = {
    **{word: (word,) for word in _SAME},
    "ADOX_ADCX": ("ADX",),
    "AVX": ("AVX", "PCLMULQDQ+AVX"),
    "AVXAES": ("AES+AVX",),
    "AVX_GFNI": ("AVX+GFNI",),
    "CMOV": ("CMOV",),
    "CMPXCHG16B": ("CMPXCHG16B",),
    "FAT_NOP": ("MULTIBYTENOP",),
    "FXSAVE": ("FXSR",),
    "FXSAVE64": ("FXSR",),
    "GFNI": ("GFNI",),
    "I186": ("INTEL186", "INTEL386", "X64"),
    "I386": ("INTEL386", "X64"),
    "I486": ("SMM",),
    "I486REAL": ("CPUID", "INTEL486", "X64"),
    "I86": ("INTEL386", "INTEL8086", "X64"),
    "LAHF": ("INTEL8086",),
    "LONGMODE": ("X64",),
    "PAUSE": ("PAUSE",),
    "PENTIUMMMX": ("MMX", "SSE"),
    "PENTIUMREAL": ("CX8",),
    "POPCNT": ("POPCNT",),
    "PPRO": ("INTEL286",),
    "PREFETCH_NOP": ("PREFETCHW",),
    "RTM": ("HLE_OR_RTM", "RTM"),
    "SGX": ("SGX1",),
    "SSE4": ("SSE4_1",),
    "SSE42": ("SSE4_2",),
    "SSE4a": ("SSE4A",),
    "SSEMXCSR": ("SSE",),
    "SSE_PREFETCH": ("SSE",),
}

_FLAG = re.compile(r"(RW|R|W):flag_([a-z0-9]+)")
_NO_WIDTH = "mem[0,"
_MEMORY_SIZE = re.compile(r"S:([0-9]{1,6})")


def operand(word: str, width: str = "") -> str | None:
    """Our type of an operand such as `RW:GPR:64` or `W:flag_cf`; None for an unknown one.

    `width`: bits of the instruction's memory, which their `R:es:[rdi]` omits.
    """
    if flag := _FLAG.fullmatch(word):
        return _operands().get(f"{flag[2]}:{flag[1]}".lower())
    reading = read(f"x {word}")
    if reading is None or len(reading.operands) != 1:
        return None
    kind, access = reading.operands[0].replace(_NO_WIDTH, f"mem[{width},"), reading.accesses[0]
    return _operands().get(f"{kind}:{access}" if access else kind)


def memory(word: str) -> str | None:
    """Our term for `R`, `W` or a size such as `S:64`; None for any other."""
    if size := _MEMORY_SIZE.fullmatch(word):
        return f"{SIZE}{size[1]}"
    return word if word in ("R", "W") else None


def scheme(name: str) -> str | None:
    """The text of the scheme with their name, None where there is none."""
    return _names().resolve(name)


@cache
def _operands() -> Mapping[str, str]:
    """{type of operand in lower case: type as in schemes}."""
    types = {
        operand_type
        for scheme in target_of(DEFAULT).schemes.schemes()
        for operand in scheme.operands
        for operand_type in operand_types(operand)
    }
    return {operand_type.lower(): operand_type for operand_type in sorted(types)}


@cache
def _names() -> SchemeNames:
    return SchemeNames([scheme.text for scheme in target_of(DEFAULT).schemes.schemes()])
