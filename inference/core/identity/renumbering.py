"""Parts of port mappings, and mappings with their ports numbered anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from inference.core.mapping import PortMapping, Uops, ports_in, uops_of


def renumbered(uops: Uops, order: Sequence[int]) -> Uops:
    """The µops with port k called `order[k]`; the new numbers must differ."""
    return uops_of((sum(1 << order[port] for port in ports_in(mask)), count) for mask, count in uops)


def part_of(mapping: PortMapping, schemes: Iterable[str], n_ports: int) -> PortMapping:
    """What a mapping says of the µops of some schemes, without its limits, with ports that nothing uses added
    up to `n_ports`.
    """
    return PortMapping(
        tuple(str(k) for k in range(n_ports)), {scheme: mapping.usage[scheme] for scheme in schemes}
    )


def side_by_side(mappings: Iterable[PortMapping], r_max: float | None) -> PortMapping:
    """Mappings of different schemes as one: the ports of one after those of the other, named by number."""
    usage: dict[str, Uops] = {}
    ports = 0
    for mapping in mappings:
        order = range(ports, ports + len(mapping.ports))
        usage |= {scheme: renumbered(uops, order) for scheme, uops in mapping.usage.items()}
        ports += len(mapping.ports)
    return PortMapping(tuple(map(str, range(ports))), dict(sorted(usage.items())), r_max)
