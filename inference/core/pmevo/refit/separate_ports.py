"""Separate ports for parts of a core, where measurements cannot decide whether these share ports.

A core that dispatches eight instructions per cycle hides whether its loads have ports besides the six that
compute: nine busy ports look like eight. So parts get separate ports unless a time shows that they share
some.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence, Set

import numpy as np

from inference.core.mapping import ports_in
from inference.core.pmevo.refit.usage import Usage
from inference.core.tables import Floats, Int64s
from inference.core.throughput import natural_width


def prefer_apart(
    usage: Usage,
    n_ports: int,
    domains: Sequence[str | None],
    value: Callable[[Usage, int], float],
    max_price: float,
    most_alone: float,
    most_ports: int,
) -> tuple[Usage, int]:
    """The mapping with own ports for each part of the core, and its number of ports.

    Args:
        usage: Usage of schemes with `domains`, None for those of several or none.
        n_ports: Ports of `usage`.
        value: The objective of a mapping on so many ports, smaller being better.
        max_price: Amount by which the objective may grow for each part.
        most_alone: The same for each kind of µop that only schemes for several parts have, as stores do.
        most_ports: Beyond which no part gets ports of its own.
    """
    usage, n_ports = without_unused_ports(usage)
    current = value(usage, n_ports)
    named = sorted({domain for domain in domains if domain})
    alone = sum(not domain for domain in _parts(usage, domains).values())
    for number in range(len(named) + alone):
        parts = _parts(usage, domains)
        if number < len(named):
            own_masks, limit = {mask for mask, part in parts.items() if part == named[number]}, max_price
        else:
            kinds = sorted(mask for mask, part in parts.items() if not part)
            own_masks, limit = set(kinds[number - len(named) : number - len(named) + 1]), most_alone
        split, further_split = without_unused_ports(_split(usage, n_ports, own_masks))
        if further_split == n_ports or further_split > most_ports:
            continue
        cost = value(split, further_split)
        if cost <= current + limit:
            usage, n_ports, current = split, further_split, cost
    return usage, n_ports


def with_own_units(
    usage: Usage, n_ports: int, schemes: Sequence[int], alone: Floats, domains: Sequence[str | None]
) -> tuple[Usage, int]:
    """The mapping with new ports for some schemes, and its number of ports.

    Beside three slots per cycle, two ALUs limit additions alone: neither a port more nor ports of other units
    explain what two ports of their own do.

    Args:
        usage: On `n_ports` ports.
        n_ports: Before.
        schemes: Schemes that get a kind of their own: as many ports as their time suggests, the same for
            those of a part that are equally quick.
        alone: Cycles of every scheme alone.
        domains: The part of the core that each scheme is for.
    """
    usage, units = usage.copy(), dict[tuple[str | None, int], int]()
    for scheme in schemes:
        time = float(alone[scheme])
        width = natural_width(time)
        unit = domains[scheme], width
        if unit not in units:
            units[unit] = ((1 << width) - 1) << n_ports
            n_ports += width
        usage.set_row(scheme, [(units[unit], max(1, round(time * width)))])
    return usage, n_ports


def own_ports(usage: Usage, n_ports: int, domains: Sequence[str | None]) -> Int64s:
    """For each scheme the mask of all ports except those that only other parts of the core use.

    Args:
        usage: Usage of schemes with `domains`, None for those of several or none, which may use any port.
        n_ports: Ports in all.
    """
    used: defaultdict[str, int] = defaultdict(int)
    for scheme, domain in enumerate(domains):
        if domain is not None:
            for mask, _ in usage.row(scheme):
                used[domain] |= mask
    every = (1 << n_ports) - 1
    allowed = []
    for domain in domains:
        foreign = 0
        for other, ports in used.items():
            foreign |= ports if other != domain else 0
        allowed.append(every if domain is None else every & ~(foreign & ~used[domain]))
    return np.array(allowed, dtype=np.int64)


def without_unused_ports(usage: Usage) -> tuple[Usage, int]:
    """The mapping with its used ports renumbered, and their number, at least 1."""
    used = 0
    for mask in usage.kinds():
        used |= mask
    number = {port: place for place, port in enumerate(ports_in(used))}
    return _rename_ports(usage, lambda mask: sum(1 << number[port] for port in ports_in(mask))), max(
        1, len(number)
    )


def _parts(usage: Usage, domains: Sequence[str | None]) -> Mapping[int, str | None]:
    """{kind of µop: the commonest domain of its schemes}; None where no scheme has one."""
    counted: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for scheme, domain in enumerate(domains):
        for mask, _ in usage.row(scheme):
            counted[mask].update([domain] if domain else [])
    return {
        mask: max(counts, key=lambda part: (counts[part], part)) if counts else None
        for mask, counts in counted.items()
    }


def _split(usage: Usage, n_ports: int, own_masks: Set[int]) -> Usage:
    """The mapping with new ports for the kinds `own_masks`, in place of those that other kinds use, too."""
    foreign = 0
    for mask in usage.kinds():
        if mask not in own_masks:
            foreign |= mask
    copies = {port: n_ports + place for place, port in enumerate(ports_in(foreign))}
    return _rename_ports(
        usage,
        lambda mask: (
            sum(1 << copies.get(port, port) for port in ports_in(mask)) if mask in own_masks else mask
        ),
    )


def _rename_ports(usage: Usage, renamed: Callable[[int], int]) -> Usage:
    changed = usage.copy()
    for scheme in range(len(usage.sizes)):
        changed.set_row(scheme, sorted((renamed(mask), count) for mask, count in usage.row(scheme)))
    return changed
