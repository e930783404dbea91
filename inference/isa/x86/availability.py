"""CPU features: our names, Linux's flags in /proc/cpuinfo, and whether a CPU has what a scheme needs."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from inference.isa.scheme import Scheme
from inference.isa.tables import table_of_module

_ALWAYS = frozenset({"", "BASE", "X64", "MULTIBYTENOP", "PAUSE", "CPUID", "CET_IBT"})
"""Features of every x86-64 processor; `endbr64` is a no-op without CET."""

_TABLES = table_of_module(__file__)
EXTENSION_NAMES: Mapping[str, str] = _TABLES["names"]
"""{feature in iced's spelling: our name}, where they differ."""

_FLAGS: Mapping[str, str] = _TABLES["flags"]
"""Flags that differ from our names by more than case."""


def flag(extension: str) -> str:
    """The flag in /proc/cpuinfo that announces an extension; "" for those that every x86-64 processor has."""
    return "" if extension in _ALWAYS else _FLAGS.get(extension, extension.lower())


def missing_feature(scheme: Scheme, flags: Collection[str]) -> str:
    """The feature that the scheme needs and a CPU with these flags lacks, in words; "" for none.

    A flag requires that the operating system has enabled the corresponding registers: neither Linux nor the
    agent lists it otherwise.
    """
    for extension in scheme.extension.split("+"):
        needed = flag(extension)
        if needed and needed not in flags:
            return f"this CPU lacks {extension}"
    return ""
