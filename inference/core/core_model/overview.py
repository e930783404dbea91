"""A core as people draw it: slots, ports, and the kinds of instructions that each port runs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from inference.core.core_model.model import CoreModel, FrontEndLimits, chained_latency
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping, Uops
from inference.core.throughput import inverse_throughput

MOST = 0.5
"""Share of the schemes of a kind with a µop on a port from which the port counts as one of its units."""


@dataclass(frozen=True)
class UnitKind:
    """A kind of instructions. `schemes`: how many are described; `ports`: those that run most of them.

    `cycles`: the inverse throughput of its quickest scheme alone. `latencies`: cycles from the quickest to
    the slowest scheme in a chain; None where none is known.
    """

    name: str
    schemes: int
    ports: tuple[str, ...]
    cycles: float
    latencies: tuple[float, float] | None


@dataclass(frozen=True)
class KindOnPort:
    """A kind on one port: how many of its schemes have a µop for it. `most`: at least half of them."""

    kind: UnitKind
    schemes: int
    most: bool


@dataclass(frozen=True)
class PortOfCore:
    """A port by its name in the mapping, with what it runs and how many schemes of any kind can use it."""

    name: str
    kinds: tuple[KindOnPort, ...]
    schemes: int


@dataclass(frozen=True)
class CoreOverview:
    """`instructions`, `slots`: most per cycle that go to the ports, None where there is no such limit.

    `kinds`: all of them, in the order asked for; those without a port need no unit.
    """

    ports: tuple[PortOfCore, ...]
    kinds: tuple[UnitKind, ...]
    instructions: float | None
    slots: float | None
    front_end: FrontEndLimits | None


def core_overview(
    model: CoreModel, kinds: Mapping[str, str], order: Sequence[str], whole: Collection[str]
) -> CoreOverview:
    """Of the schemes that `kinds` gives one, {scheme: kind}, kinds in `order`.

    A scheme with several kinds of µops counts for the ports of those with the fewest: the others are what any
    instruction may need beside. Of kinds in `whole` all µops count. Empty for a model without ports.
    """
    mapping = model.mapping
    if mapping is None:
        return CoreOverview((), (), None, None, model.front_end)
    members: defaultdict[str, list[str]] = defaultdict(list)
    for scheme in mapping.usage:
        if name := kinds.get(scheme, ""):
            members[name].append(scheme)
    able = {}
    for name in (one for one in order if one in members):
        masks = (_ports_of(mapping.usage[scheme], whole=name in whole) for scheme in members[name])
        able[name] = _on_each_port(masks, mapping)
    any_kind = _on_each_port((_ports_of(uops, whole=True) for uops in mapping.usage.values()), mapping)
    found = {name: _kind(model, mapping, name, members[name], able[name]) for name in able}
    ports = tuple(
        PortOfCore(
            port,
            tuple(
                KindOnPort(kind, able[name][place], port in kind.ports)
                for name, kind in found.items()
                if able[name][place]
            ),
            any_kind[place],
        )
        for place, port in enumerate(mapping.ports)
    )
    return CoreOverview(ports, tuple(found.values()), mapping.r_max, mapping.issue_width, model.front_end)


def _ports_of(uops: Uops, *, whole: bool) -> int:
    """The ports of the µops that say what a scheme is for, as a mask."""
    fewest = min((mask.bit_count() for mask, _ in uops), default=0)
    ports = 0
    for mask, _ in uops:
        if whole or mask.bit_count() == fewest:
            ports |= mask
    return ports


def _on_each_port(masks: Iterable[int], mapping: PortMapping) -> list[int]:
    """How many of the sets of ports have each port."""
    counted = Counter(masks)
    return [
        sum(number for mask, number in counted.items() if mask >> port & 1)
        for port in range(len(mapping.ports))
    ]


def _kind(
    model: CoreModel, mapping: PortMapping, name: str, members: Sequence[str], able: Sequence[int]
) -> UnitKind:
    needing = sum(bool(mapping.usage[scheme]) for scheme in members)
    ports = tuple(
        port
        for port, schemes in zip(mapping.ports, able, strict=True)
        if schemes and schemes >= MOST * needing
    )
    # Of many schemes few have other µops than those before.
    alike = {(mapping.usage[scheme], mapping.slots_of(scheme)): scheme for scheme in members}
    known = [latency for one in members if (latency := chained_latency(model, one)) is not None]
    return UnitKind(
        name,
        len(members),
        ports,
        min(inverse_throughput(mapping, Experiment.of([scheme])) for scheme in alike.values()),
        (min(known), max(known)) if known else None,
    )
