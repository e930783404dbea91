"""Tables of what documents say of cores: numbers of groups of entries, and which core is like which other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class CoreTable:
    """What is documented of a core: {entry: the number as it is written}, and who says so."""

    numbers: Mapping[str, str] = field(default_factory=dict)
    source: str = ""


def core_table(tables: Mapping[str, Any], core: str) -> CoreTable:
    """The table of a core, the tables that it is `like` included; an empty one for a core without."""
    return _table(tables, tables["cores"][core]) if core in tables["cores"] else CoreTable()


def _table(tables: Mapping[str, Any], name: str) -> CoreTable:
    rows = dict(tables["tables"][name])
    above = _table(tables, rows.pop("like")) if "like" in rows else CoreTable()
    source = rows.pop("source", above.source)
    own = {
        entry: number
        for number, items in rows.items()
        for item in items
        for entry in tables["groups"].get(item, [item])
    }
    return CoreTable({**above.numbers, **own}, source)
