"""The schemes of x86-64, and which of them stand for what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inference.isa.microarchitecture import Microarchitecture
from inference.isa.scheme import Scheme
from inference.isa.x86.availability import flag, missing_feature
from inference.isa.x86.microarchitectures import microarchitecture
from inference.isa.x86.probes import PREFERRED, PROBES
from inference.isa.x86.same_work import WORK_OF_OTHERS, same_work
from inference.isa.x86.scheme_set import SOURCE, described, schemes
from inference.isa.x86.starter_set import DIVISIONS

__all__ = [
    "core_of",
    "divisions",
    "flag",
    "missing_feature",
    "preferred",
    "probes",
    "same_work",
    "scheme_of",
    "schemes",
    "source",
    "version",
    "work_of_others",
]

divisions = DIVISIONS
preferred = PREFERRED
probes = PROBES
work_of_others = WORK_OF_OTHERS

RULES = "fe7ff8b7319e"
"""Names the schemes that this folder's rules make of the opcode tables: sites with another name load
them anew. Choose another one where `tests/isa/test_versions_of_schemes.py` finds other schemes."""


def scheme_of(text: str) -> Scheme | None:
    """The scheme of a text, None where there is none; describes those of one mnemonic instead of all."""
    pair = described(text)
    return None if pair is None else pair[0]


def version() -> str:
    """The version of the opcode tables, and the name of what the rules make of them."""
    return f"{SOURCE}, rules {RULES}"


def source() -> str:
    """The same: it says all."""
    return version()


def core_of(facts: Mapping[str, Any]) -> Microarchitecture | None:
    """By vendor, family, model and, of hybrid processors, the kind of core."""
    if not all(type(facts.get(key)) is int for key in ("family", "model")):
        return None
    kind = str(facts.get("core_type") or "")
    return microarchitecture(str(facts.get("vendor", "")), facts["family"], facts["model"], kind)
