"""Mappings in which two units that share some ports share none.

Where schedulers waste, units that bind µops to ports in vain look as if they shared some of these: three
multiplications and three shifts on six ports take as long as on five. Only with what a scheduler wastes can
both mappings be compared, so each is a candidate of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from inference.core.mapping import ports_in
from inference.core.pmevo.refit.usage import Usage


def with_disjoint_units(usage: Usage) -> Iterator[Usage]:
    """For each two kinds that share ports among those of a third with room for both: they share none.

    Those of the most schemes come first.
    """
    kinds = usage.kinds()
    ranked = sorted(kinds, key=lambda mask: (-len(usage.users(mask)), mask))
    for kept, moved in combinations(ranked, 2):
        shared = kept & moved
        if not shared or shared in (kept, moved):
            continue
        around = [wide for wide in ranked if wide not in (kept, moved) and not (kept | moved) & ~wide]
        free = [port for wide in around[:1] for port in ports_in(wide & ~(kept | moved))]
        if len(free) >= shared.bit_count():
            instead = moved & ~shared | sum(1 << port for port in free[: shared.bit_count()])
            yield _exchanged(usage, moved, instead)


def _exchanged(usage: Usage, mask: int, instead: int) -> Usage:
    changed = usage.copy()
    for scheme in usage.users(mask):
        row = dict(usage.row(scheme))
        row[instead] = row.get(instead, 0) + row.pop(mask)
        changed.put(scheme, sorted(row.items()))
    return changed
