"""Mappings in which two units that share some ports share none; see `inference.core.waste`."""

from __future__ import annotations

from collections.abc import Iterator

from inference.core.pmevo.refit.usage import Usage
from inference.core.waste import disjoint_units


def with_disjoint_units(usage: Usage) -> Iterator[Usage]:
    """The mappings; those units stay of which most schemes are."""
    ranked = sorted(usage.kinds(), key=lambda mask: (-len(usage.users(mask)), mask))
    for moved, instead in disjoint_units(ranked):
        yield _exchanged(usage, moved, instead)


def _exchanged(usage: Usage, mask: int, instead: int) -> Usage:
    changed = usage.copy()
    for scheme in usage.users(mask):
        row = dict(usage.row(scheme))
        row[instead] = row.get(instead, 0) + row.pop(mask)
        changed.put(scheme, sorted(row.items()))
    return changed
