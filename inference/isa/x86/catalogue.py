"""The schemes of x86-64, and which of them replace others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inference.isa.microarchitecture import Microarchitecture
from inference.isa.scheme import Scheme
from inference.isa.x86.availability import flag, missing_feature
from inference.isa.x86.equivalent_schemes import EQUIVALENT_SCHEMES, same_work
from inference.isa.x86.microarchitectures import microarchitecture
from inference.isa.x86.probes import PREFERRED, PROBES
from inference.isa.x86.scheme_set import SOURCE, scheme_and_form, schemes
from inference.isa.x86.starter_set import DIVISIONS

__all__ = [
    "core_of",
    "divisions",
    "equivalent_schemes",
    "flag",
    "missing_feature",
    "preferred",
    "probes",
    "same_work",
    "scheme_of",
    "schemes",
    "source",
    "version",
]

divisions = DIVISIONS
preferred = PREFERRED
probes = PROBES
equivalent_schemes = EQUIVALENT_SCHEMES

RULES = "0d66426223f5"
"""Identifies the schemes that this folder's rules make of the opcode tables: sites with another identifier
load them again. Change it where `tests/isa/test_versions_of_schemes.py` finds other schemes."""


def scheme_of(text: str) -> Scheme | None:
    """The scheme of a text, None where there is none; it describes those of one mnemonic instead of all."""
    pair = scheme_and_form(text)
    return None if pair is None else pair[0]


def version() -> str:
    """The version of the opcode tables, and the identifier of the rules."""
    return f"{SOURCE}, rules {RULES}"


def source() -> str:
    """The version, which names the source."""
    return version()


def core_of(facts: Mapping[str, Any]) -> Microarchitecture | None:
    """The core by vendor, family, model and, for hybrid processors, the kind of core."""
    if not all(type(facts.get(key)) is int for key in ("family", "model")):
        return None
    kind = str(facts.get("core_type") or "")
    return microarchitecture(str(facts.get("vendor", "")), facts["family"], facts["model"], kind)
