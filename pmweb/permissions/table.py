"""All rules, by the names of addresses."""

from __future__ import annotations

from collections.abc import Mapping

from pmweb.permissions import anica, house, inference
from pmweb.permissions.rules import Rule


def merged(*parts: Mapping[str, Rule]) -> dict[str, Rule]:
    """One table of several; raises `ValueError` where two of them claim a name."""
    rules: dict[str, Rule] = {}
    for part in parts:
        if twice := rules.keys() & part.keys():
            raise ValueError(f"two rules for {', '.join(sorted(twice))}")
        rules |= part
    return rules


TABLE = merged(house.RULES, inference.RULES, anica.RULES)


def rule_of(view_name: str | None) -> Rule | None:
    """The rule of an address by its name, with its name space; None where there is none."""
    return TABLE.get(view_name or "")
