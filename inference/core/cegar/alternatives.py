"""Alternatives to a result: other mappings that explain all measurements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from inference.core.cegar.problem import Alternative
from inference.core.identity import best_renaming, canonical, same_up_to_renaming
from inference.core.mapping import PortMapping, Uops

MAX_COPIES = 20
"""Matrices tried per alternative: in three levels many of them are equal up to a renaming of ports."""


class Alternatives:
    """At most `most` mappings that differ from the result and from one another by more than a renaming.

    `full`: at least one more exists.
    """

    def __init__(self, mapping: PortMapping, limit: int) -> None:
        self.mapping = canonical(mapping)
        self.listed: list[PortMapping] = []
        self.full = False  # one more than may be listed was found
        self._most = limit
        self._keys = {_key(self.mapping)}

    def add(self, other: PortMapping) -> None:
        """Add a mapping unless it equals one of them up to a renaming; beyond `most`, set `full`."""
        named = canonical(other)
        key = _key(named)
        if key in self._keys:
            return
        self._keys.add(key)
        if len(self.listed) < self._most:
            self.listed.append(named)
        else:
            self.full = True


@dataclass(frozen=True)
class SettledMapping:
    """The mapping for one shape, with `listed` alternatives; `more` where the list is incomplete.

    Attributes:
        limit: Which limit ended the search.
        reason: Why it is not unique otherwise; both are empty for none.
    """

    mapping: PortMapping
    listed: tuple[Alternative, ...]
    more: bool
    limit: str
    reason: str = ""


def match_ports(
    mapping: PortMapping, alternatives: Sequence[PortMapping], pulse: Callable[[], None]
) -> Iterator[tuple[PortMapping, tuple[str, ...]]]:
    """Yield each alternative, renamed to match the result, with the schemes whose µops differ.

    Matching each mapping by itself to as few differing schemes as possible can blame the wrong scheme: on
    Zen+, `add` on a port of the load looks the same as a load on a port of `add`. So all are matched
    together: first a minimal set of schemes is found outside of which all mappings agree, then each mapping
    gets the renaming with the fewest differing schemes within that set.
    """
    unclear = _unclear_schemes(mapping, alternatives, pulse)
    for other in alternatives:
        pulse()
        weighted = (_repeat_clear_schemes(side, unclear) for side in (mapping, other))
        named = best_renaming(*weighted).apply(other)
        yield named, _differing_schemes(mapping, named)


def _unclear_schemes(
    mapping: PortMapping, alternatives: Sequence[PortMapping], pulse: Callable[[], None]
) -> frozenset[str]:
    """A minimal set of schemes outside of which all mappings agree."""
    blamed: Counter[str] = Counter()
    for other in alternatives:
        pulse()
        blamed.update(_differing_schemes(mapping, best_renaming(mapping, other).apply(other)))
    unclear = frozenset(blamed)
    for scheme in sorted(blamed, key=lambda scheme: (blamed[scheme], scheme)):
        pulse()
        smaller = unclear - {scheme}
        clear = _restrict(mapping, mapping.usage.keys() - smaller)
        if all(same_up_to_renaming(clear, _restrict(other, clear.usage)) for other in alternatives):
            unclear = smaller
    return unclear


def _repeat_clear_schemes(mapping: PortMapping, unclear: Collection[str]) -> PortMapping:
    """The mapping with each clear scheme repeated, so that agreement in one outweighs all unclear ones."""
    usage = dict(mapping.usage)
    for scheme in mapping.usage.keys() - set(unclear):
        for copy in range(len(unclear)):
            usage[f"{scheme} #{copy}"] = mapping.usage[scheme]
    return replace(mapping, usage=dict(sorted(usage.items())))


def _restrict(mapping: PortMapping, schemes: Collection[str]) -> PortMapping:
    usage = {scheme: uops for scheme, uops in mapping.usage.items() if scheme in schemes}
    return replace(mapping, usage=usage)


def _differing_schemes(mapping: PortMapping, named: PortMapping) -> tuple[str, ...]:
    return tuple(sorted(s for s in mapping.usage if named.usage[s] != mapping.usage[s]))


def _key(named: PortMapping) -> tuple[tuple[str, Uops], ...]:
    return tuple(sorted(named.usage.items()))
