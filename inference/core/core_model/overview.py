"""A core for a diagram: slots, ports with their names, and the kinds of instructions that each port runs."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from inference.core.core_model.front_end_limits import FrontEndLimits
from inference.core.core_model.model import CoreModel, chained_latency
from inference.core.experiment import Experiment
from inference.core.mapping import MAX_PORTS, PortMapping, Uops, ports_in
from inference.core.simulation.program import IssueOrder
from inference.core.throughput import inverse_throughput, port_bound

MIN_UNIT_SHARE = 0.5
"""Share of the schemes of a kind with a µop on a port, from which the port counts as one of its units."""


@dataclass(frozen=True)
class UnitKind:
    """A kind of instructions.

    Attributes:
        schemes: Number of described schemes.
        ports: Ports that run most of them.
        cycles: The inverse throughput of its quickest scheme alone.
        latencies: Cycles of the quickest and the slowest scheme in a chain; None where none is known.
        typical: A scheme with `uops`, the characteristic µops that most of its schemes have.
    """

    name: str
    schemes: int
    ports: tuple[str, ...]
    cycles: float
    latencies: tuple[float, float] | None
    typical: str = ""
    uops: Uops = ()


@dataclass(frozen=True)
class KindOnPort:
    """A kind on one port: the number of its schemes with a µop for the port. `most`: at least half of
    them.
    """

    kind: UnitKind
    schemes: int
    most: bool


@dataclass(frozen=True)
class PortOfCore:
    """A port by its name and place in the mapping, the kinds that it runs, and the number of schemes that
    can use it.
    """

    name: str
    place: int
    kinds: tuple[KindOnPort, ...]
    schemes: int


@dataclass(frozen=True)
class CoreOverview:
    """`instructions`, `slots`: most per cycle that go to the ports, None where there is no such limit.

    `ports`: those that some scheme needs; `idle`: the names of the others. `kinds`: all of them, in the
    requested order, including those without a port.
    """

    ports: tuple[PortOfCore, ...]
    idle: tuple[str, ...]
    kinds: tuple[UnitKind, ...]
    instructions: float | None
    slots: float | None
    front_end: FrontEndLimits | None
    issue: IssueOrder | None = None


def core_overview(
    model: CoreModel, kinds: Mapping[str, str], order: Sequence[str], all_uops: Collection[str]
) -> CoreOverview:
    """The overview of the schemes that have a kind; empty for a model without ports.

    Args:
        model: A core.
        kinds: {scheme: kind}.
        order: Kinds in the order of the result.
        all_uops: Kinds of which all µops count. Otherwise a scheme with several kinds of µops counts for the
            ports of those with the fewest: other µops are of the kind that any instruction may need.
    """
    mapping = model.mapping
    if mapping is None:
        return CoreOverview((), (), (), None, None, model.front_end, model.issue)
    # Eliminated moves wait for issue slots, which an inference may take for ports.
    usage = {scheme: () if scheme in model.moves else uops for scheme, uops in mapping.usage.items()}
    members = _members(usage, kinds)
    users = {
        name: _users(mapping, usage, members[name], all_uops=name in all_uops)
        for name in order
        if name in members
    }
    any_kind = _count_by_port((_ports_of(uops, all_uops=True) for uops in usage.values()), mapping)
    units = {}
    for name, counts in users.items():
        is_unit = _is_unit(counts, usage, members[name])
        ports_of_kind = tuple(port for port, here in zip(mapping.ports, is_unit, strict=True) if here)
        uops_of = {
            scheme: _characteristic(usage[scheme], all_uops=name in all_uops) for scheme in members[name]
        }
        units[name] = _kind(model, mapping, name, uops_of, ports_of_kind)
    ports = tuple(
        PortOfCore(
            port,
            place,
            tuple(
                KindOnPort(kind, users[name][place], port in kind.ports)
                for name, kind in units.items()
                if users[name][place]
            ),
            any_kind[place],
        )
        for place, port in enumerate(mapping.ports)
        if any_kind[place]
    )
    idle = tuple(port for port, schemes in zip(mapping.ports, any_kind, strict=True) if not schemes)
    return CoreOverview(
        ports,
        idle,
        tuple(units.values()),
        mapping.r_max,
        mapping.issue_width,
        model.front_end,
        model.issue,
    )


def unit_port_names(
    mapping: PortMapping, kinds: Mapping[str, str], groups: Mapping[str, str], all_uops: Collection[str]
) -> dict[str, str]:
    """{port: its name by the groups of units that it has}: `ALU0`, `ALU/FP1`, `LD0`; `P0` for an idle one.

    Ports of one name are numbered in the mapping's order. Names follow from the mapping alone: they are the
    same wherever it is shown.

    Args:
        mapping: Ports and µops.
        kinds: {scheme: kind}.
        groups: {kind: group of units}, in the order in which a name has them; of kinds that tell units apart.
        all_uops: As for `core_overview`.
    """
    members = _members(mapping.usage, kinds)
    on_port = [Counter[str]() for _ in mapping.ports]
    beside = [Counter[str]() for _ in mapping.ports]  # of less than half of a kind
    for kind, group in groups.items():
        counts = _users(mapping, mapping.usage, members[kind], all_uops=kind in all_uops)
        for place, is_unit in enumerate(_is_unit(counts, mapping.usage, members[kind])):
            (on_port if is_unit else beside)[place][group] += counts[place]
    order = [*dict.fromkeys(groups.values())]
    stems = [
        _stem(+is_frequent or +is_rare, order) for is_frequent, is_rare in zip(on_port, beside, strict=True)
    ]
    numbers = Counter[str]()
    names = {}
    for port, stem in zip(mapping.ports, stems, strict=True):
        names[port] = f"{stem}{numbers[stem]}"
        numbers[stem] += 1
    return names


COMPUTING, MEMORY, BRANCHES = ("ALU", "FP"), ("LD", "ST"), "BR"
"""Groups of units in the names of ports."""


def _stem(counts: Counter[str], order: Sequence[str]) -> str:
    """The name of a port by the number of schemes of each group. Branches count where nothing else runs:
    they share ports with arithmetic.
    """
    if not counts:
        return "P"
    sides = [tuple(name for name in order if name in side and counts[name]) for side in (COMPUTING, MEMORY)]
    largest_side = max(sides, key=lambda side: sum(counts[name] for name in side))
    return "/".join(largest_side) or BRANCHES


def _members(usage: Mapping[str, Uops], kinds: Mapping[str, str]) -> defaultdict[str, list[str]]:
    members: defaultdict[str, list[str]] = defaultdict(list)
    for scheme in usage:
        if name := kinds.get(scheme, ""):
            members[name].append(scheme)
    return members


def _users(
    mapping: PortMapping, usage: Mapping[str, Uops], members: Iterable[str], *, all_uops: bool
) -> list[int]:
    """How many members of a kind each port characterises."""
    return _count_by_port((_ports_of(usage[scheme], all_uops=all_uops) for scheme in members), mapping)


def _is_unit(counts: Sequence[int], usage: Mapping[str, Uops], members: Iterable[str]) -> list[bool]:
    """For each port, whether it is one of the units of a kind."""
    needing = sum(bool(usage[scheme]) for scheme in members)
    return [schemes > 0 and schemes >= MIN_UNIT_SHARE * needing for schemes in counts]


def _characteristic(uops: Uops, *, all_uops: bool) -> Uops:
    """The µops that characterise a scheme."""
    fewest = min((mask.bit_count() for mask, _ in uops), default=0)
    return uops if all_uops else tuple(uop for uop in uops if uop[0].bit_count() == fewest)


def _ports_of(uops: Uops, *, all_uops: bool) -> int:
    """The ports of the µops that characterise a scheme, as a mask."""
    return _all_ports(_characteristic(uops, all_uops=all_uops))


def _count_by_port(masks: Iterable[int], mapping: PortMapping) -> list[int]:
    """For each port, how many of the masks contain it."""
    counted = Counter(masks)
    return [
        sum(number for mask, number in counted.items() if mask >> port & 1)
        for port in range(len(mapping.ports))
    ]


def _kind(
    model: CoreModel,
    mapping: PortMapping,
    name: str,
    members: Mapping[str, Uops],
    ports: tuple[str, ...],
) -> UnitKind:
    """A kind; `members`: {scheme: the µops that characterise it}."""
    # Of many schemes few have other µops than those before.
    distinct = {(mapping.usage[scheme], mapping.slots_of(scheme)): scheme for scheme in members}
    latencies = [latency for member in members if (latency := chained_latency(model, member)) is not None]
    usual = Counter(members.values()).most_common(1)[0][0]
    return UnitKind(
        name,
        len(members),
        ports,
        min(inverse_throughput(mapping, Experiment.of([scheme])) for scheme in distinct.values()),
        (min(latencies), max(latencies)) if latencies else None,
        min(scheme for scheme, uops in members.items() if uops == usual),
        usual,
    )


@dataclass(frozen=True)
class KindGroup:
    """Kinds whose typical schemes use the same ports in the same shares.

    `names`: of the kinds; `ports`: names; `uops`: the least whole numbers of µops with these shares.
    """

    names: tuple[str, ...]
    typical: str
    ports: tuple[str, ...]
    uops: Uops


@dataclass(frozen=True)
class KindPair:
    """Two groups of kinds that compete.

    Attributes:
        shared: The ports that both can use.
        together: Cycles of as many schemes of each as take one cycle alone; 1 where they do not delay each
            other, 2 where they take turns.
    """

    first: KindGroup
    second: KindGroup
    shared: tuple[str, ...]
    together: float


@dataclass(frozen=True)
class KindCompetition:
    """Groups of kinds that need ports, and for each two of them how they compete: `pairs[i][j]`."""

    groups: tuple[KindGroup, ...]
    pairs: tuple[tuple[KindPair, ...], ...]

    @property
    def strongest(self) -> list[KindPair]:
        """The pairs of different groups that delay each other, the strongest first."""
        pairs = [pair for place, row in enumerate(self.pairs) for pair in row[:place] if pair.together > 1]
        return sorted(pairs, key=lambda pair: -pair.together)


def kind_competition(core: CoreOverview) -> KindCompetition:
    """How the kinds of a core compete for its ports, by their typical schemes; other limits do not count."""
    kinds: defaultdict[Uops, list[UnitKind]] = defaultdict(list)
    for kind in core.kinds:
        if kind.uops:
            parts = math.gcd(*(count for _, count in kind.uops))
            kinds[tuple((mask, count // parts) for mask, count in kind.uops)].append(kind)
    names = {port.place: port.name for port in core.ports}
    groups = tuple(
        KindGroup(
            tuple(kind.name for kind in members),
            members[0].typical,
            tuple(names[port] for port in ports_in(_all_ports(uops))),
            uops,
        )
        for uops, members in kinds.items()
    )
    pairs = tuple(tuple(_pair(first, second) for second in groups) for first in groups)
    return KindCompetition(groups, pairs)


def _all_ports(uops: Uops) -> int:
    ports = 0
    for mask, _ in uops:
        ports |= mask
    return ports


def _pair(first: KindGroup, second: KindGroup) -> KindPair:
    # Work is in whole µops: each side is multiplied by the other's cycles, so that both take as long.
    cycles = [
        Fraction(port_bound(dict(group.uops))).limit_denominator(MAX_PORTS) for group in (first, second)
    ]
    unit = cycles[0].denominator * cycles[1].denominator
    work: Counter[int] = Counter()
    for group, partner_cycles in ((first, cycles[1]), (second, cycles[0])):
        for mask, count in group.uops:
            work[mask] += int(count * partner_cycles * unit)
    shared = tuple(port for port in first.ports if port in second.ports)
    return KindPair(first, second, shared, port_bound(work) / float(cycles[0] * cycles[1] * unit))
