"""The features of a CPU by what its agent says of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def flags_of(facts: Mapping[str, Any]) -> frozenset[str] | None:
    """The flags of a CPU by what an agent says of its computer; None where it says nothing.

    Those that the kernel lists, and those that the processor itself tells: an old kernel does not know all.
    """
    listed, told = facts.get("flags"), facts.get("cpuid")
    return None if listed is None else frozenset(listed) | frozenset(told or ())
