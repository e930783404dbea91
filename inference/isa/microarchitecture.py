"""Documented facts about cores, their names in other tools, and the features that agents report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inference.isa.tables import table_of_module


@dataclass(frozen=True, slots=True)
class Microarchitecture:
    """Documented facts about a core.

    Attributes:
        ports: Number that an inference starts from: execution and store-data ports, at most the 13 that
            mappings are evaluated quickly with.
        r_max: Instructions per cycle that rename or dispatch accepts (fused pairs count once), None where not
            reliably documented.
        source: The document.
        widest: The most ports of one µop, None where not reliably documented.
    """

    name: str
    ports: int
    r_max: float | None
    source: str
    widest: int | None = None


def flags_of(facts: Mapping[str, Any]) -> frozenset[str] | None:
    """The flags of a CPU from an agent's facts; None without facts.

    They are those of the kernel and those of `cpuid`: an old kernel does not know all.

    >>> sorted(flags_of({"flags": ["avx"], "cpuid": ["avx2"]}))
    ['avx', 'avx2']
    """
    by_kernel, by_cpuid = facts.get("flags"), facts.get("cpuid")
    return None if by_kernel is None else frozenset(by_kernel) | frozenset(by_cpuid or ())


@dataclass(frozen=True)
class ToolNames:
    """A core's name in other tools: for OSACA's `--arch` and LLVM's `-mcpu`; "" where they lack it.

    `llvm_model`: the file of the scheduling model that LLVM 19.1.0 has for it, without its ending, in the
    folder of its instruction set.
    """

    osaca: str = ""
    llvm: str = ""
    llvm_model: str = ""


NO_NAMES = ToolNames()

TOOL_NAMES = {core: ToolNames(**names) for core, names in table_of_module(__file__).items()}
"""By `Microarchitecture.name`; the nearest relative where a tool has no model of the core itself."""
