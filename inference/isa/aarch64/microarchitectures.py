"""Arm's cores by the numbers that the kernel shows: ports to assume, and the documented width of the front.

Cores without a number of instructions per cycle are those whose guide gives one in micro-operations alone.
"""

from __future__ import annotations

from inference.isa.microarchitecture import Microarchitecture

_ARM = 0x41


def _guide(core: str) -> str:
    return f"Arm, {core} Software Optimization Guide"


_KNOWN = {
    # branch, two integer, multi-cycle, two floating-point, load, store; three instructions are decoded
    (_ARM, 0xD08): Microarchitecture("Cortex-A72", 8, 3.0, _guide("Cortex-A72")),
    # branch, two integer, integer and multi-cycle, two vector, two load/store; four are decoded
    (_ARM, 0xD0B): Microarchitecture("Cortex-A76", 8, 4.0, _guide("Cortex-A76")),
    (_ARM, 0xD0C): Microarchitecture("Neoverse N1", 8, 4.0, _guide("Neoverse N1")),
}


def arm_microarchitecture(implementer: object, part: object) -> Microarchitecture | None:
    """What is documented about the core with these numbers of MIDR_EL1; None where it is not known here."""
    if not isinstance(implementer, int) or not isinstance(part, int):
        return None
    return _KNOWN.get((implementer, part))
