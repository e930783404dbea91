"""The schemes of RISC-V, V's in their modes included, and documented cores."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

from inference.isa.microarchitecture import Microarchitecture
from inference.isa.riscv64 import DIVISIONS, DOCUMENT, by_text, instruction_set, vector
from inference.isa.riscv64.vector.modes import vector_schemes
from inference.isa.scheme import Scheme

_ALWAYS = ("I", "M", "A", "F", "D", "C", "Zicsr", "Zifencei")
"""What RV64GC consists of: Linux distributions support no less."""

divisions = DIVISIONS
probes: Collection[str] = ()
preferred: Sequence[str] = ()
equivalent_schemes: Mapping[str, tuple[str, ...]] = {}


@cache
def schemes() -> Sequence[Scheme]:
    return (*instruction_set().schemes, *(entry.scheme for entry in vector_schemes().values()))


def scheme_of(text: str) -> Scheme | None:
    """The scheme of a text, None where there is none."""
    if (scheme := by_text().get(text)) is not None:
        return scheme
    entry = vector_schemes().get(text)
    return entry.scheme if entry is not None else None


def flag(extension: str) -> str:
    """The name of an extension among a CPU's features, "" for those that every RV64GC has."""
    return "" if extension in _ALWAYS else extension.lower()


def missing_feature(scheme: Scheme, flags: Collection[str]) -> str:
    """The feature that the scheme needs and a CPU with these flags lacks, in words; "" for none."""
    needed = flag(scheme.extension)
    return f"this CPU lacks {scheme.extension}" if needed and needed not in flags else ""


@cache
def version() -> str:
    """A digest of the documents, without parsing them."""
    content = DOCUMENT.read_bytes() + vector.DOCUMENT.read_bytes()
    return f"document {hashlib.sha256(content).hexdigest()[:12]}"


def source() -> str:
    """The document's own source and its digest."""
    return f"{instruction_set().source}, {version()}"


def core_of(facts: Mapping[str, Any]) -> Microarchitecture | None:
    """None: no core is documented here."""
    return None


def same_work(text: str) -> tuple[str, ...]:
    return (text,)
