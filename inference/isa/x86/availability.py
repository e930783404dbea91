"""Whether a CPU has what a scheme needs: our names of CPU features, and Linux's in /proc/cpuinfo."""

from __future__ import annotations

from collections.abc import Collection

from inference.isa.scheme import Scheme

_ALWAYS = frozenset({"", "BASE", "X64", "MULTIBYTENOP", "PAUSE", "CPUID", "CET_IBT"})
"""Every x86-64 processor has these; `endbr64` is a no-operation where CET is unknown."""

_FLAGS = {
    "3DNow!": "3dnow",
    "3DNow!+": "3dnowext",
    "CLFSH": "clflush",
    "CMPXCHG16B": "cx16",
    "CET_SS": "user_shstk",
    "HLE_OR_RTM": "rtm",
    "LZCNT": "abm",
    "PKU": "ospke",
    "PREFETCHW": "3dnowprefetch",
    "SGX1": "sgx",
    "SHA": "sha_ni",
    "SSE3": "pni",
    "SSE4.1": "sse4_1",
    "SSE4.2": "sse4_2",
    "AVX512_IFMA": "avx512ifma",
    "AVX512_VBMI": "avx512vbmi",
}
"""Names that differ by more than upper and lower case."""


def flag(extension: str) -> str:
    """The flag in /proc/cpuinfo that announces an extension; empty for what every x86-64 processor has."""
    return "" if extension in _ALWAYS else _FLAGS.get(extension, extension.lower())


def missing_feature(scheme: Scheme, flags: Collection[str]) -> str:
    """What the scheme needs and a CPU with these flags has not, in words; empty where nothing is missing.

    A flag counts only if the operating system has switched on the registers that come with it: neither Linux
    nor the agent lists it otherwise.
    """
    for extension in scheme.extension.split("+"):
        needed = flag(extension)
        if needed and needed not in flags:
            return f"this CPU lacks {extension}"
    return ""
