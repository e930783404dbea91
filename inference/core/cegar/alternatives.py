"""The other mappings that explain everything measured, beside the result: its reported ambiguity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from inference.core.cegar.problem import Alternative
from inference.core.identity import best_renaming, canonical, same_up_to_renaming
from inference.core.mapping import PortMapping, Uops

MOST_COPIES = 20
"""Matrices looked at per alternative wanted: in three levels a renaming of ports makes many of them equal."""


class Alternatives:
    """Mappings that differ from the result, and from one another, by more than a renaming; at most `most`."""

    def __init__(self, mapping: PortMapping, most: int) -> None:
        self.mapping = canonical(mapping)
        self.listed: list[PortMapping] = []
        self.full = False  # one more than may be listed was found
        self._most = most
        self._seen = {_key(self.mapping)}

    def add(self, other: PortMapping) -> None:
        """List it if it is new and there is room."""
        named = canonical(other)
        key = _key(named)
        if key in self._seen:
            return
        self._seen.add(key)
        if len(self.listed) < self._most:
            self.listed.append(named)
        else:
            self.full = True


@dataclass(frozen=True)
class Settled:
    """A mapping and those that nothing tells from it; `more` where not all are listed.

    `limit`: why the search gave up, `reason`: why there are others even if it did not.
    """

    mapping: PortMapping
    listed: tuple[Alternative, ...]
    more: bool
    limit: str
    reason: str = ""


def matched(
    mapping: PortMapping, others: Sequence[PortMapping], pulse: Callable[[], None]
) -> Iterator[tuple[PortMapping, tuple[str, ...]]]:
    """(the other mapping with its ports named to match, the schemes with other µops) for each.

    One mapping alone would be matched so that as few schemes as possible differ. But where ports shared by an
    unclear scheme decide what a clear one is called, that blames the clear one: on Zen+, `add` on a port of
    the load is as well a load on a port of `add`. So all are matched together: of the schemes that differ
    anywhere, none could be left out, and within these, as few as possible differ in each.
    """
    unclear = _unclear(mapping, others, pulse)
    for other in others:
        pulse()
        weighted = (_repeated(each, unclear) for each in (mapping, other))
        named = best_renaming(*weighted).apply(other)
        yield named, _differing(mapping, named)


def _unclear(
    mapping: PortMapping, others: Sequence[PortMapping], pulse: Callable[[], None]
) -> frozenset[str]:
    """Schemes such that the mappings can agree in all the rest; in no fewer of these."""
    blamed: Counter[str] = Counter()
    for other in others:
        pulse()
        blamed.update(_differing(mapping, best_renaming(mapping, other).apply(other)))
    unclear = frozenset(blamed)
    for scheme in sorted(blamed, key=lambda scheme: (blamed[scheme], scheme)):
        pulse()
        fewer = unclear - {scheme}
        clear = _part(mapping, mapping.usage.keys() - fewer)
        if all(same_up_to_renaming(clear, _part(other, clear.usage)) for other in others):
            unclear = fewer
    return unclear


def _repeated(mapping: PortMapping, unclear: Collection[str]) -> PortMapping:
    """Clear schemes more often than there are unclear ones: their agreement matters most."""
    usage = dict(mapping.usage)
    for scheme in mapping.usage.keys() - set(unclear):
        for copy in range(len(unclear)):
            usage[f"{scheme} #{copy}"] = mapping.usage[scheme]
    return replace(mapping, usage=dict(sorted(usage.items())))


def _part(mapping: PortMapping, schemes: Collection[str]) -> PortMapping:
    usage = {scheme: uops for scheme, uops in mapping.usage.items() if scheme in schemes}
    return replace(mapping, usage=usage)


def _differing(mapping: PortMapping, named: PortMapping) -> tuple[str, ...]:
    return tuple(sorted(s for s in mapping.usage if named.usage[s] != mapping.usage[s]))


def _key(named: PortMapping) -> tuple[tuple[str, Uops], ...]:
    return tuple(sorted(named.usage.items()))
