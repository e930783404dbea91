"""A core for a diagram: slots, ports, and the kinds of instructions that each port runs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from inference.core.core_model.model import CoreModel, FrontEndLimits, chained_latency
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping, Uops
from inference.core.throughput import inverse_throughput

MIN_UNIT_SHARE = 0.5
"""Share of the schemes of a kind with a µop on a port, from which the port counts as one of its units."""


@dataclass(frozen=True)
class UnitKind:
    """A kind of instructions. `schemes`: number of described schemes; `ports`: ports that run most of them.

    `cycles`: the inverse throughput of its quickest scheme alone. `latencies`: cycles of the quickest and the
    slowest scheme in a chain; None where none is known.
    """

    name: str
    schemes: int
    ports: tuple[str, ...]
    cycles: float
    latencies: tuple[float, float] | None


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
        return CoreOverview((), (), (), None, None, model.front_end)
    # Eliminated moves wait for issue slots, which an inference may take for ports.
    usage = {scheme: () if scheme in model.moves else uops for scheme, uops in mapping.usage.items()}
    members: defaultdict[str, list[str]] = defaultdict(list)
    for scheme in usage:
        if name := kinds.get(scheme, ""):
            members[name].append(scheme)
    users = {}
    for name in (kind for kind in order if kind in members):
        masks = (_ports_of(usage[scheme], all_uops=name in all_uops) for scheme in members[name])
        users[name] = _count_by_port(masks, mapping)
    any_kind = _count_by_port((_ports_of(uops, all_uops=True) for uops in usage.values()), mapping)
    units = {}
    for name, counts in users.items():
        needing = sum(bool(usage[scheme]) for scheme in members[name])
        ports_of_kind = tuple(
            port
            for port, schemes in zip(mapping.ports, counts, strict=True)
            if schemes and schemes >= MIN_UNIT_SHARE * needing
        )
        units[name] = _kind(model, mapping, name, members[name], ports_of_kind)
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
        ports, idle, tuple(units.values()), mapping.r_max, mapping.issue_width, model.front_end
    )


def _ports_of(uops: Uops, *, all_uops: bool) -> int:
    """The ports of the µops that characterise a scheme, as a mask."""
    fewest = min((mask.bit_count() for mask, _ in uops), default=0)
    ports = 0
    for mask, _ in uops:
        if all_uops or mask.bit_count() == fewest:
            ports |= mask
    return ports


def _count_by_port(masks: Iterable[int], mapping: PortMapping) -> list[int]:
    """For each port, how many of the masks contain it."""
    counted = Counter(masks)
    return [
        sum(number for mask, number in counted.items() if mask >> port & 1)
        for port in range(len(mapping.ports))
    ]


def _kind(
    model: CoreModel, mapping: PortMapping, name: str, members: Sequence[str], ports: tuple[str, ...]
) -> UnitKind:
    # Of many schemes few have other µops than those before.
    distinct = {(mapping.usage[scheme], mapping.slots_of(scheme)): scheme for scheme in members}
    latencies = [latency for member in members if (latency := chained_latency(model, member)) is not None]
    return UnitKind(
        name,
        len(members),
        ports,
        min(inverse_throughput(mapping, Experiment.of([scheme])) for scheme in distinct.values()),
        (min(latencies), max(latencies)) if latencies else None,
    )
