"""The canonical form of a port mapping: equal for mappings that differ only in the names of their ports.

Ports are distinguished by colours. Refinement splits ports of one colour by the µops that can use them and by
the colours of the other ports of those µops, until nothing splits any more. Where several ports of one colour
remain, each of them is singled out in turn and the smallest of the resulting forms wins; of ports that a
symmetry of the mapping exchanges, one suffices. Symmetries are recognised directly (two ports that can be
swapped) or when two branches end in the same form, as in McKay's graph canonisation. In the two-level model
refinement alone leaves only ports with equal columns, which can be swapped.

Also here: parts of mappings, and mappings with renumbered ports.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from inference.core.mapping import PortMapping, Uops, ports_in, uops_of


def renumbered(uops: Uops, order: Sequence[int]) -> Uops:
    """The µops with port k called `order[k]`; the new numbers must differ."""
    return uops_of((sum(1 << order[port] for port in ports_in(mask)), count) for mask, count in uops)


def part_of(mapping: PortMapping, schemes: Iterable[str], n_ports: int) -> PortMapping:
    """The µops of some schemes in a mapping, without its limits, on `n_ports` ports, some maybe unused."""
    return PortMapping(
        tuple(str(k) for k in range(n_ports)), {scheme: mapping.usage[scheme] for scheme in schemes}
    )


def side_by_side(mappings: Iterable[PortMapping], r_max: float | None) -> PortMapping:
    """Mappings of different schemes as one: their ports one after another, named by number."""
    usage: dict[str, Uops] = {}
    ports = 0
    for mapping in mappings:
        order = range(ports, ports + len(mapping.ports))
        usage |= {scheme: renumbered(uops, order) for scheme, uops in mapping.usage.items()}
        ports += len(mapping.ports)
    return PortMapping(tuple(map(str, range(ports))), dict(sorted(usage.items())), r_max)


Colours = tuple[int, ...]
"""For each port, how many ports have a smaller colour: a permutation once all ports are distinguished."""

ColouredKinds = tuple[tuple[int, ...], tuple[tuple[int, tuple[int, ...]], ...]]
"""A mapping in which only the colours of ports are visible."""


def canonical(mapping: PortMapping) -> PortMapping:
    """The mapping with ports "0", "1", … in one fixed order, its schemes sorted, its limits unchanged.

    Two mappings have equal canonical forms exactly when a renaming of ports makes them equal: same schemes
    with the same µops and slots, same number of ports (unused ones included), same limits. Time is polynomial
    where ports of one colour are symmetric, as they are in port mappings of processors; µops that form a
    highly regular graph without symmetries could take longer, and the result stays exact.
    """
    order = canonical_order(mapping)
    usage = {scheme: renumbered(mapping.usage[scheme], order) for scheme in sorted(mapping.usage)}
    return replace(mapping, ports=tuple(str(k) for k in range(len(order))), usage=usage)


def same_up_to_renaming(a: PortMapping, b: PortMapping) -> bool:
    """Whether a renaming of ports makes the mappings equal, limits and slots included."""
    return (
        len(a.ports) == len(b.ports)
        and a.limits == b.limits
        and a.slots == b.slots
        and _widths(a) == _widths(b)
        and canonical(a) == canonical(b)
    )


def canonical_order(mapping: PortMapping) -> tuple[int, ...]:
    return _Search(len(mapping.ports), labelled_kinds(mapping)).order()


def labelled_kinds(mapping: PortMapping) -> dict[int, int]:
    """{port mask of a kind of µops: label}; kinds with equal labels serve the same schemes equally often.

    Labels are numbered in the order of the schemes that they stand for, which no renaming of ports changes.
    """
    users: dict[int, list[tuple[str, int]]] = {}
    for scheme in sorted(mapping.usage):
        for mask, count in mapping.usage[scheme]:
            users.setdefault(mask, []).append((scheme, count))
    number = {label: k for k, label in enumerate(sorted({tuple(label) for label in users.values()}))}
    return {mask: number[tuple(label)] for mask, label in users.items()}


def can_swap(labels: Mapping[int, int], first: int, second: int) -> bool:
    """Whether a mapping with these labelled kinds stays the same when the two ports change places."""
    both = 1 << first | 1 << second
    return all(
        labels.get(mask ^ both) == label for mask, label in labels.items() if (mask & both).bit_count() == 1
    )


def _widths(mapping: PortMapping) -> dict[str, list[tuple[int, int]]]:
    """{scheme: [(ports of a µop, its count)]}: unchanged by a renaming of ports, and quick to compare."""
    return {
        scheme: sorted((mask.bit_count(), count) for mask, count in uops)
        for scheme, uops in mapping.usage.items()
    }


@dataclass
class _Leaf:
    """All ports distinguished: `path` are the ports singled out, `trace` the coloured kinds on the way."""

    path: tuple[int, ...]
    trace: tuple[ColouredKinds, ...]
    colours: Colours


@dataclass
class _Search:
    """The smallest form so far, and the symmetries found so far."""

    n_ports: int
    labels: dict[int, int]
    best: _Leaf | None = None
    symmetries: list[tuple[int, ...]] = field(default_factory=list)

    def order(self) -> tuple[int, ...]:
        self._kinds = [(label, tuple(ports_in(mask))) for mask, label in self.labels.items()]
        self._visit((0,) * self.n_ports, (), ())
        assert self.best is not None, "the first way always ends in a form"
        return self.best.colours

    def _visit(self, colours: Colours, path: tuple[int, ...], trace: tuple[ColouredKinds, ...]) -> int:
        """Visit all forms below; returns how many of the singled-out ports remain singled out afterwards."""
        colours = self._refinement(colours)
        trace = (*trace, self._picture(colours))
        if self.best is not None and trace > self.best.trace[: len(trace)]:
            return len(path)
        cell = _cell(colours)
        if not cell:
            return self._record_leaf(_Leaf(path, trace, colours))
        tried: list[int] = []
        for port in cell:
            if self._is_symmetric_to(port, tried, path):
                continue
            tried.append(port)
            singled = tuple(
                colour + (colour == colours[port] and other != port) for other, colour in enumerate(colours)
            )
            back = self._visit(singled, (*path, port), trace)
            if back < len(path):
                return back
        return len(path)

    def _record_leaf(self, leaf: _Leaf) -> int:
        best = self.best
        if best is None or leaf.trace < best.trace:
            self.best = leaf
            return len(leaf.path)
        # Equal forms: a symmetry takes one to the other, and all that is below the parting of their ways.
        at = {colour: port for port, colour in enumerate(leaf.colours)}
        self.symmetries.append(tuple(at[colour] for colour in best.colours))
        pairs = zip(leaf.path, best.path, strict=True)
        return next(depth for depth, (ours, theirs) in enumerate(pairs) if ours != theirs)

    def _refinement(self, colours: Colours) -> Colours:
        while True:
            uses: list[list[tuple[int, tuple[int, ...]]]] = [[] for _ in colours]
            for label, ports in self._kinds:
                use = (label, tuple(sorted([colours[port] for port in ports])))
                for port in ports:
                    uses[port].append(use)
            keys = [(colour, tuple(sorted(use))) for colour, use in zip(colours, uses, strict=True)]
            first: dict[tuple[int, tuple[tuple[int, tuple[int, ...]], ...]], int] = {}
            for rank, key in enumerate(sorted(keys)):
                first.setdefault(key, rank)
            finer = tuple(first[key] for key in keys)
            if finer == colours:
                return colours
            colours = finer

    def _picture(self, colours: Colours) -> ColouredKinds:
        kinds = sorted(
            (label, tuple(sorted([colours[port] for port in ports]))) for label, ports in self._kinds
        )
        return tuple(sorted(colours)), tuple(kinds)

    def _is_symmetric_to(self, port: int, tried: Sequence[int], path: Sequence[int]) -> bool:
        """Whether a symmetry that fixes the path takes a port that was tried to this one."""
        if any(can_swap(self.labels, port, other) for other in tried):
            return True
        stabilisers = [g for g in self.symmetries if all(g[fixed] == fixed for fixed in path)]
        orbit = list(tried)
        for reached in orbit:
            orbit += [image for image in {g[reached] for g in stabilisers} if image not in orbit]
        return port in orbit


def _cell(colours: Colours) -> list[int]:
    """The ports of the smallest colour class with several ports, of equal ones the first; [] for none."""
    cells: dict[int, list[int]] = {}
    for port, colour in enumerate(colours):
        cells.setdefault(colour, []).append(port)
    several = [(len(ports), colour) for colour, ports in cells.items() if len(ports) > 1]
    return cells[min(several)[1]] if several else []
