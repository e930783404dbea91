"""Whether a CPU has what a scheme needs: our names of CPU features, and Linux's in /proc/cpuinfo."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from inference.isa.scheme import Scheme
from inference.isa.tables import table_beside

_ALWAYS = frozenset({"", "BASE", "X64", "MULTIBYTENOP", "PAUSE", "CPUID", "CET_IBT"})
"""Every x86-64 processor has these; `endbr64` is a no-operation where CET is unknown."""

_TABLES = table_beside(__file__)
EXTENSION_NAMES: Mapping[str, str] = _TABLES["names"]
"""{feature as iced calls it: our name}, where it is another."""
_FLAGS: Mapping[str, str] = _TABLES["flags"]
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
