"""What is documented about a core, what tools call it, and which features its agent tells of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inference.isa.tables import table_beside


@dataclass(frozen=True, slots=True)
class Microarchitecture:
    """What is documented about a core.

    `ports`: how many an inference should start from: execution and store-data ports, at most the 13 that
    mappings are evaluated quickly with. `r_max`: instructions per cycle that rename or dispatch lets through
    (fused pairs count once), None where it is not documented for certain. `source`: where this is said.
    `widest`: the most ports that one µop may use, None where that is not documented for certain.
    """

    name: str
    ports: int
    r_max: float | None
    source: str
    widest: int | None = None


def flags_of(facts: Mapping[str, Any]) -> frozenset[str] | None:
    """The flags of a CPU by what an agent says of its computer; None where it says nothing.

    Those that the kernel lists, and those that the processor itself tells: an old kernel does not know all.
    """
    listed, told = facts.get("flags"), facts.get("cpuid")
    return None if listed is None else frozenset(listed) | frozenset(told or ())


@dataclass(frozen=True)
class ToolNames:
    """What other tools call a core: `osaca` of its `--arch`, `llvm` of `-mcpu`; "" where they lack it."""

    osaca: str = ""
    llvm: str = ""


NO_NAMES = ToolNames()

TOOL_NAMES = {core: ToolNames(**names) for core, names in table_beside(__file__).items()}
"""By `Microarchitecture.name`; the nearest relative where a tool has no model of the very core."""
