"""Tables of documented numbers of cores, with groups of entries and inheritance between cores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class CoreTable:
    """Documented numbers of a core: {entry: the number as written}, and the document."""

    numbers: Mapping[str, str] = field(default_factory=dict)
    source: str = ""


def core_table(tables: Mapping[str, Any], core: str) -> CoreTable:
    """The table of a core including those that it is `like`; empty for an undocumented core."""
    return _table(tables, tables["cores"][core]) if core in tables["cores"] else CoreTable()


def _table(tables: Mapping[str, Any], name: str) -> CoreTable:
    rows = dict(tables["tables"][name])
    parent = _table(tables, rows.pop("like")) if "like" in rows else CoreTable()
    source = rows.pop("source", parent.source)
    numbers = {
        entry: number
        for number, items in rows.items()
        for item in items
        for entry in tables["groups"].get(item, [item])
    }
    return CoreTable({**parent.numbers, **numbers}, source)
