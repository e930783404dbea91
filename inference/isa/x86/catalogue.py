"""The schemes of x86-64, and which of them replace others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inference.isa.microarchitecture import Microarchitecture
from inference.isa.scheme import Scheme
from inference.isa.x86 import availability, scheme_set
from inference.isa.x86 import equivalent_schemes as equivalences
from inference.isa.x86.microarchitectures import microarchitecture
from inference.isa.x86.probes import PREFERRED, PROBES
from inference.isa.x86.starter_set import DIVISIONS

divisions = DIVISIONS
preferred = PREFERRED
probes = PROBES
equivalent_schemes, same_work = equivalences.EQUIVALENT_SCHEMES, equivalences.same_work
flag, missing_feature = availability.flag, availability.missing_feature
schemes = scheme_set.schemes

RULES = "0d66426223f5"
"""Identifies the schemes that this folder's rules make of the opcode tables: sites with another identifier
load them again. Change it where `tests/isa/test_versions_of_schemes.py` finds other schemes."""


def scheme_of(text: str) -> Scheme | None:
    """The scheme of a text, None where there is none; it describes those of one mnemonic instead of all."""
    pair = scheme_set.scheme_and_form(text)
    return None if pair is None else pair[0]


def version() -> str:
    """The version of the opcode tables, and the identifier of the rules."""
    return f"{scheme_set.SOURCE}, rules {RULES}"


def source() -> str:
    """The version, which names the source."""
    return version()


def core_of(facts: Mapping[str, Any]) -> Microarchitecture | None:
    """The core by vendor, family, model and, for hybrid processors, the kind of core."""
    if not all(type(facts.get(key)) is int for key in ("family", "model")):
        return None
    kind = str(facts.get("core_type") or "")
    return microarchitecture(str(facts.get("vendor", "")), facts["family"], facts["model"], kind)
