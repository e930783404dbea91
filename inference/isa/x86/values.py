"""Classes of operand values: some instructions take longer with some (thesis §3.2.1 uses only one).

Divisions stop early for short quotients, `pdep` and `pext` of Zen and Zen 2 take time for every set bit, and
multiplications by zero are quick on some cores. No class contains denormal numbers: neither half of a vector
pattern is one as a float, nor all of it as a double.
"""

from __future__ import annotations

from dataclasses import dataclass

from inference.isa.machine_bodies import USUAL, ZERO
from inference.isa.scheme import Scheme

_ORDER = ("rax", "rcx", "rdx", "rbx", "rbp", "rdi", "r8", "r9", "r10", "r11", "r12", "r13")
# Every value is below 16, so that a bit of that number lies within any memory operand, and odd.
_SMALL = (7, 5, 3, 9, 11, 13, 15, 7, 5, 3, 9, 11)
# The low byte, word and half of each are neither 0, 1 nor −1, which no division of bytes could take.
_MIXED = (
    0x9E3779B97F4A7C15, 0xD1B54A32D192ED03, 0x8CB92BA72F3D8DD7, 0xAAAAAAAB6B43A9B5,
    0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x27D4EB2F165667C5, 0xFF51AFD7ED558CCD,
    0xC4CEB9FE1A85EC53, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0x2545F4914F6CDD1D,
)  # fmt: skip


@dataclass(frozen=True)
class Values:
    """Start values of general-purpose registers, and the 64-bit pattern of vector registers and memory."""

    registers: tuple[int, ...]
    pattern: int

    def by_name(self) -> dict[str, int]:
        return dict(zip(_ORDER, self.registers, strict=True))


VALUES = {
    USUAL: Values(_SMALL, 0x3F8CCCCD3F8CCCCD),
    ZERO: Values((0,) * len(_ORDER), 0),
    "one": Values((1,) * len(_ORDER), 0x3F8000013F800001),
    "large": Values(
        tuple(0x7FFFFFFFFFFFFFE0 + value for value in _SMALL),
        0x7E8CCCCD7E8CCCCD,
    ),
    "random": Values(_MIXED, 0x3FB504F33F9E3779),
}
"""{name in `inference.isa.machine_bodies.VALUES`: values}."""

_BIT_TESTS = frozenset({"bt", "bts", "btr", "btc"})


def obstacle(scheme: Scheme, name: str) -> str:
    """Why a scheme cannot be measured with these values, "" where it can."""
    if name == ZERO and scheme.category == "divide" and scheme.encoding == "legacy":
        return "divides by zero with these values" if _is_general(scheme) else ""
    if name in {"large", "random"} and scheme.mnemonic in _BIT_TESTS and _counts_bits_from_memory(scheme):
        return "counts its bit from the operand's address: with these values it lies elsewhere"
    return ""


def _is_general(scheme: Scheme) -> bool:
    return scheme.mnemonic in {"div", "idiv"}


def _counts_bits_from_memory(scheme: Scheme) -> bool:
    names = [operand.name for operand in scheme.operands]
    return names[0].startswith("MEM") and names[1].startswith("GPR")
