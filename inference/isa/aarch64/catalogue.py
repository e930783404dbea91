"""The schemes of AArch64, and documented cores."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from inference.isa.aarch64 import DIVISIONS, DOCUMENT, by_text, instruction_set
from inference.isa.microarchitecture import Microarchitecture
from inference.isa.scheme import Scheme

_ARM = 0x41  # the implementer's number in MIDR_EL1


def _guide(core: str) -> str:
    return f"Arm, {core} Software Optimization Guide"


_CORES = {
    # branch, two integer, multi-cycle, two floating-point, load, store; three instructions are decoded
    (_ARM, 0xD08): Microarchitecture("Cortex-A72", 8, 3.0, _guide("Cortex-A72")),
    # branch, two integer, integer and multi-cycle, two vector, two load/store; four are decoded
    (_ARM, 0xD0B): Microarchitecture("Cortex-A76", 8, 4.0, _guide("Cortex-A76")),
    (_ARM, 0xD0C): Microarchitecture("Neoverse N1", 8, 4.0, _guide("Neoverse N1")),
}


def arm_microarchitecture(implementer: object, part: object) -> Microarchitecture | None:
    """The documented core with these numbers of MIDR_EL1; None where unknown."""
    if not isinstance(implementer, int) or not isinstance(part, int):
        return None
    return _CORES.get((implementer, part))


_ALWAYS = ("", "BASE")

divisions = DIVISIONS
probes: Collection[str] = ()
preferred: Sequence[str] = ()
equivalent_schemes: Mapping[str, tuple[str, ...]] = {}


def schemes() -> Sequence[Scheme]:
    return instruction_set().schemes


def scheme_of(text: str) -> Scheme | None:
    """The scheme of a text, None where there is none."""
    return by_text().get(text)


def flag(extension: str) -> str:
    """The flag in /proc/cpuinfo that announces an extension, "" for those that every processor has."""
    return "" if extension in _ALWAYS else extension.lower()


def missing_feature(scheme: Scheme, flags: Collection[str]) -> str:
    """The feature that the scheme needs and a CPU with these flags lacks, in words; "" for none."""
    needed = flag(scheme.extension)
    return f"this CPU lacks {scheme.extension}" if needed and needed not in flags else ""


def version() -> str:
    """A digest of the document, without parsing it."""
    return f"document {hashlib.sha256(DOCUMENT.read_bytes()).hexdigest()[:12]}"


def source() -> str:
    """The document's own source and its digest."""
    return f"{instruction_set().source}, {version()}"


def core_of(facts: Mapping[str, Any]) -> Microarchitecture | None:
    """The core by the numbers of MIDR_EL1."""
    return arm_microarchitecture(facts.get("implementer"), facts.get("part"))


def same_work(text: str) -> tuple[str, ...]:
    return (text,)
