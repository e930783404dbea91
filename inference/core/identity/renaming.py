"""The renaming of ports that makes one mapping most like another."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from inference.core.identity.canonical import canonical_order, same_up_to_renaming
from inference.core.identity.matching import Matching
from inference.core.identity.renumbering import part_of, renumbered
from inference.core.mapping import PortMapping


@dataclass(frozen=True)
class Renaming:
    """What the ports of a mapping `b` are called in a mapping `a`.

    `ports[k]` is the index in `a` of the port with index k in `b`, None where `a` has fewer ports. `names`
    are the names of a's ports. `exact`: no other renaming gives more schemes equal µops.
    """

    ports: tuple[int | None, ...]
    names: tuple[str, ...]
    exact: bool

    def apply(self, b: PortMapping) -> PortMapping:
        """`b` with the port indices and names of `a`; ports that `a` lacks keep their names, with a prime."""
        names = list(self.names)
        for port, name in zip(self.ports, b.ports, strict=True):
            if port is None:
                names.append(_free(name, names))
        extra = itertools.count(len(self.names))
        order = [next(extra) if port is None else port for port in self.ports]
        known = {uops: renumbered(uops, order) for uops in set(b.usage.values())}
        usage = {scheme: known[uops] for scheme, uops in b.usage.items()}
        return replace(b, ports=tuple(names), usage=usage)

    def inverse(self, names: Sequence[str]) -> Renaming:
        """What the ports of `a` are called in `b`, whose ports have these names."""
        at = {port: k for k, port in enumerate(self.ports) if port is not None}
        return Renaming(tuple(at.get(port) for port in range(len(self.names))), tuple(names), self.exact)


def best_renaming(a: PortMapping, b: PortMapping) -> Renaming:
    """The renaming of b's ports under which most of the schemes that both describe have equal µops.

    Guaranteed: when some renaming makes all of these schemes equal, one that does is returned, and `exact` is
    set. Otherwise the ports are matched by the work that both mappings put on them, which is improved by
    swaps and then by branch and bound; `exact` says whether that proved that no renaming has more equal
    schemes (it gives up after `matching.MOST_STEPS` steps). Among renamings with equally many, one with the
    most work on equal ports is preferred, which no single swap can improve. Deterministic.
    """
    common = sorted(a.usage.keys() & b.usage.keys())
    n = max(len(a.ports), len(b.ports))
    first, second = part_of(a, common, n), part_of(b, common, n)
    alike = [
        sum(1 << p for p, name in enumerate(a.ports) if k < len(b.ports) and name == b.ports[k])
        for k in range(n)
    ]
    matching = Matching(first, second, common, alike)
    if same_up_to_renaming(first, second):
        at = {position: port for port, position in enumerate(canonical_order(first))}
        matched, exact = matching.improved([at[position] for position in canonical_order(second)]), True
    else:
        matched, exact = matching.best()
    ports = tuple(port if port < len(a.ports) else None for port in matched[: len(b.ports)])
    return Renaming(ports, a.ports, exact)


def _free(name: str, taken: Sequence[str]) -> str:
    return _free(name + "′", taken) if name in taken else name
