"""Latencies of a core model as OSACA wants them: one per form, and those of loads and of forwarding apart.

OSACA weighs what leads out of an instruction with its latency, whatever leads in. So a form with memory has
the latency of its chain through registers, a load that of its address, and what is stored the rest of the way
to the load that waits for it. See docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Mapping

from inference.core.core_model import CoreModel
from inference.formats.exported import ExportedScheme
from inference.formats.exported_core import ExportedCore
from inference.isa.targets import AARCH64, X86

UNKNOWN = 1.0
"""Cycles of what was not measured: as the core model takes it."""

_X86_LOADS: Mapping[str, tuple[str, ...]] = {
    "gpr": ("mov GPR[64]:W, MEM[64]:R", "mov GPR[32]:W, MEM[32]:R"),
    "mm": ("movq MM:W, MEM[64]:R",),
    "xmm": ("movaps XMM:W, MEM[128]:R", "vmovaps XMM:W, MEM[128]:R", "movdqa XMM:W, MEM[128]:R"),
    "ymm": ("vmovaps YMM:W, MEM[256]:R", "vmovdqa YMM:W, MEM[256]:R"),
    "zmm": ("vmovaps ZMM:W, MEM[512]:R", "vmovdqa64 ZMM:W, MEM[512]:R"),
}
_ARM_LOADS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys("wx", ("ldr GPR[64]:W, MEM[64]:R",)),
    **dict.fromkeys("bhsdqv", ("ldr FPR[128]:W, MEM[128]:R",)),
}
LOADS = {X86: _X86_LOADS, AARCH64: _ARM_LOADS}
"""{instruction set: {class of registers: schemes that load into one, the first that is known counts}}."""

_GENERAL = {X86: "gpr", AARCH64: "x"}


class OsacaLatencies:
    def __init__(self, core: ExportedCore) -> None:
        self._core = core
        self.loads: dict[str, float | None] = {
            name: next((found for text in texts if (found := core.chained(text)) is not None), None)
            for name, texts in LOADS[core.mapping.isa].items()
        }

    @property
    def forwarding(self) -> float:
        """Cycles that a stored value takes beyond those of the load that waits for it."""
        load = self.loads.get(_GENERAL[self._core.mapping.isa]) or 0.0
        return max(_forwarded(self._core.model) - load, 0.0)

    def of(self, scheme: ExportedScheme) -> float:
        accesses = "".join(each["access"] for each in scheme.operands if each["kind"] == "memory")
        if "W" not in accesses:
            known = self._core.chained(scheme.text)
            return UNKNOWN if known is None else known
        if "R" not in accesses:
            return 0.0  # counts with the load
        through = self._core.through_memory(scheme.text)
        if through is None:
            through = _forwarded(self._core.model) + UNKNOWN
        return max(through - self.forwarding, 0.0)


def _forwarded(model: CoreModel) -> float:
    """Cycles from a stored value to what a load of the same place and width has."""
    return model.memory.cycles(64, 64, 0, vector=False)
