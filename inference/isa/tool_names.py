"""What OSACA and LLVM call the cores that are documented here."""

from __future__ import annotations

from dataclasses import dataclass

from inference.isa.tables import table_beside


@dataclass(frozen=True)
class ToolNames:
    """What other tools call a core: `osaca` of its `--arch`, `llvm` of `-mcpu`; "" where they lack it."""

    osaca: str = ""
    llvm: str = ""


NO_NAMES = ToolNames()

TOOL_NAMES = {core: ToolNames(**names) for core, names in table_beside(__file__).items()}
"""By `Microarchitecture.name`; the nearest relative where a tool has no model of the very core."""
