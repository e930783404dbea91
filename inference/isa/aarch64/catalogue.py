"""The schemes of AArch64, and which of them stand for what."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from inference.isa.aarch64 import DIVISIONS, DOCUMENT, by_text, instruction_set
from inference.isa.aarch64.microarchitectures import arm_microarchitecture
from inference.isa.microarchitecture import Microarchitecture
from inference.isa.scheme import Scheme

_ALWAYS = ("", "BASE")

divisions = DIVISIONS
probes: Collection[str] = ()
preferred: Sequence[str] = ()
work_of_others: Mapping[str, tuple[str, ...]] = {}


def schemes() -> Sequence[Scheme]:
    return instruction_set().schemes


def scheme_of(text: str) -> Scheme | None:
    """The scheme of a text, None where there is none."""
    return by_text().get(text)


def flag(extension: str) -> str:
    """The flag in /proc/cpuinfo that announces an extension, "" for what every processor has."""
    return "" if extension in _ALWAYS else extension.lower()


def missing_feature(scheme: Scheme, flags: Collection[str]) -> str:
    """What the scheme needs and a CPU with these flags has not, in words; "" where nothing is missing."""
    needed = flag(scheme.extension)
    return f"this CPU lacks {scheme.extension}" if needed and needed not in flags else ""


def version() -> str:
    """A digest of the document, which is not read for it."""
    return f"document {hashlib.sha256(DOCUMENT.read_bytes()).hexdigest()[:12]}"


def source() -> str:
    """What the document says of itself, and its digest."""
    return f"{instruction_set().source}, {version()}"


def core_of(facts: Mapping[str, Any]) -> Microarchitecture | None:
    """By the numbers of MIDR_EL1."""
    return arm_microarchitecture(facts.get("implementer"), facts.get("part"))


def same_work(text: str) -> tuple[str, ...]:
    return (text,)
