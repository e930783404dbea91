"""Mappings beside the one of a search, under which schedulers are looked for.

A second µop may stand for what a scheduler wastes, and operations of one µop alone show schedulers. So second
µops are doubted before one is looked for. A search by times without waste may find them again: then they stay
only where simulated times are nearer to measured ones with them. Units that share some ports may share none
(`inference.core.waste`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from inference.core.pmevo.refit.usage import Usage
from inference.core.waste import disjoint_units

_SECOND = 2


def doubted(usage: Usage, domains: Sequence[str | None]) -> list[int]:
    """Schemes with two µops for one part of the core."""
    return [
        scheme
        for scheme, domain in enumerate(domains)
        if domain is not None and sum(count for _, count in usage.row(scheme)) == _SECOND
    ]


def without_second_uops(
    usage: Usage, domains: Sequence[str | None], value: Callable[[Usage], float], *, keep: bool
) -> Usage:
    """The mapping with the best single µop, of a kind in use, for the doubted schemes.

    Args:
        usage: Of schemes with `domains`, None for those of several or none.
        value: What is minimised.
        keep: Whether two µops stay where these are best.
    """
    kinds: defaultdict[str | None, set[int]] = defaultdict(set)
    for scheme, domain in enumerate(domains):
        kinds[domain].update(mask for mask, _ in usage.row(scheme))
    for scheme in doubted(usage, domains):
        tried = [(value(usage), 0, usage)] if keep else []
        for mask in sorted(kinds[domains[scheme]]):
            changed = usage.copy()
            changed.put(scheme, [(mask, 1)])
            changed.slots[scheme] = 1
            tried.append((value(changed), mask, changed))
        _, _, usage = min(tried, key=lambda each: each[:2])
    return usage


def with_disjoint_units(usage: Usage) -> Iterator[Usage]:
    """Mappings in which two units that share some ports share none; those stay of which most schemes are."""
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
