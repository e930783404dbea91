"""What OSACA and LLVM call the cores that are documented here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ToolNames:
    """What other tools call a core: `osaca` of its `--arch`, `llvm` of `-mcpu`; "" where they lack it."""

    osaca: str = ""
    llvm: str = ""


NO_NAMES = ToolNames()

TOOL_NAMES = {
    "Sandy Bridge": ToolNames("SNB", "sandybridge"),
    "Ivy Bridge": ToolNames("IVB", "ivybridge"),
    "Haswell": ToolNames("HSW", "haswell"),
    "Broadwell": ToolNames("BDW", "broadwell"),
    "Skylake": ToolNames("SKX", "skylake"),
    "Skylake-SP": ToolNames("SKX", "skylake-avx512"),
    "Ice Lake": ToolNames("ICL", "icelake-client"),
    "Ice Lake-SP": ToolNames("ICX", "icelake-server"),
    "Tiger Lake": ToolNames("ICL", "tigerlake"),
    "Rocket Lake": ToolNames("ICL", "rocketlake"),
    "Alder Lake (Golden Cove or Gracemont)": ToolNames("SPR", "alderlake"),
    "Raptor Lake (Raptor Cove or Gracemont)": ToolNames("SPR", "raptorlake"),
    "Golden Cove": ToolNames("SPR", "sapphirerapids"),
    "Raptor Cove": ToolNames("SPR", "emeraldrapids"),
    "Zen": ToolNames("ZEN1", "znver1"),
    "Zen+": ToolNames("ZEN1", "znver1"),
    "Zen 2": ToolNames("ZEN2", "znver2"),
    "Zen 3": ToolNames("ZEN3", "znver3"),
    "Zen 4": ToolNames("ZEN4", "znver4"),
    "Zen 5": ToolNames("", "znver5"),
    "Cortex-A72": ToolNames("A72", "cortex-a72"),
    "Cortex-A76": ToolNames("", "cortex-a76"),
    "Neoverse N1": ToolNames("N1", "neoverse-n1"),
}
"""By `Microarchitecture.name`; the nearest relative where a tool has no model of the very core."""
