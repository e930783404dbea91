"""Variants of a mapping under which schedulers are inferred.

A second µop may stand for a scheduler's waste, which operations of one µop reveal. So second µops are removed
before a scheduler is inferred. A search with times without waste may add them again: they are kept only where
they lower the simulation's error. Units that share some ports may in fact share none
(`inference.core.waste`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter

from inference.core.pmevo.refit.usage import Usage
from inference.core.waste import disjoint_units

_SECOND = 2


def two_uop_schemes(usage: Usage, domains: Sequence[str | None]) -> list[int]:
    return [
        scheme
        for scheme, domain in enumerate(domains)
        if domain is not None and sum(count for _, count in usage.row(scheme)) == _SECOND
    ]


def without_second_uops(
    usage: Usage, domains: Sequence[str | None], value: Callable[[Usage], float], *, keep: bool
) -> Usage:
    """The mapping with a single µop, the best of the kinds in use, for schemes with two.

    Args:
        usage: Usage of schemes with `domains`, None for those of several or none.
        value: What is minimised.
        keep: Whether two µops stay where these are best.
    """
    kinds: defaultdict[str | None, set[int]] = defaultdict(set)
    for scheme, domain in enumerate(domains):
        kinds[domain].update(mask for mask, _ in usage.row(scheme))
    for scheme in two_uop_schemes(usage, domains):
        tried = [(value(usage), 0, usage)] if keep else []
        for mask in sorted(kinds[domains[scheme]]):
            changed = usage.copy()
            changed.set_row(scheme, [(mask, 1)])
            changed.slots[scheme] = 1
            tried.append((value(changed), mask, changed))
        _, _, usage = min(tried, key=itemgetter(0, 1))
    return usage


def with_disjoint_units(usage: Usage) -> Iterator[Usage]:
    """Mappings with two overlapping units on disjoint ports; the unit with more schemes keeps its ports."""
    ranked = sorted(usage.kinds(), key=lambda mask: (-len(usage.users(mask)), mask))
    for moved, instead in disjoint_units(ranked):
        yield _replace_kind(usage, moved, instead)


def _replace_kind(usage: Usage, mask: int, instead: int) -> Usage:
    changed = usage.copy()
    for scheme in usage.users(mask):
        row = dict(usage.row(scheme))
        row[instead] = row.get(instead, 0) + row.pop(mask)
        changed.set_row(scheme, sorted(row.items()))
    return changed
