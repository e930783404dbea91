"""The other mappings that explain everything measured: the reported ambiguity of a result."""

from __future__ import annotations

from collections.abc import Callable

from inference.core.cegar.problem import Alternative
from inference.core.identity import canonical
from inference.core.mapping import PortMapping, Uops

MOST_COPIES = 20
"""Matrices looked at per alternative wanted: in three levels a renaming of ports makes many of them equal."""


class Alternatives:
    """Mappings that differ from the result, and from one another, by more than a renaming; at most `most`."""

    def __init__(
        self, mapping: PortMapping, most: int, described: Callable[[PortMapping, PortMapping], Alternative]
    ) -> None:
        self.mapping = canonical(mapping)
        self.listed: list[Alternative] = []
        self.complete = True
        self._most = most
        self._described = described
        self._seen = {_key(mapping)}

    @property
    def full(self) -> bool:
        """Whether nothing more is listed; one more alternative shows that there are more."""
        return not self.complete

    def add(self, other: PortMapping) -> Alternative | None:
        """List it if it is new and there is room."""
        key = _key(other)
        if key in self._seen:
            return None
        self._seen.add(key)
        if len(self.listed) >= self._most:
            self.complete = False
            return None
        self.listed.append(self._described(self.mapping, canonical(other)))
        return self.listed[-1]


def _key(mapping: PortMapping) -> tuple[tuple[str, Uops], ...]:
    return tuple(sorted(canonical(mapping).usage.items()))
