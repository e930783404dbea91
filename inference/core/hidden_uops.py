"""µops that no experiment can show, since the limit on slots or instructions always lasts as long.

An experiment takes as long as the µops that only some set of ports can run, evenly spread over it (Theorem
5.2). Where the slots of each scheme last as long as such a set is busy with it, those of all experiments do.
A µop that lies in no other sets can be left out or put onto more ports, and no throughput changes: of `add`
on the four ALUs of a core that issues four slots per cycle, no more is known than "1 µop on 4 or more ports".
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from inference.core.mapping import PortMapping, Uops

_MOST_KINDS = 12  # in a scheme: all unions of their port sets are looked at


@dataclass(frozen=True)
class HiddenUops:
    """So many µops of a scheme that can use `ports` ports or more, or none where none is `listed`."""

    number: int
    ports: int
    listed: bool

    def __str__(self) -> str:
        """`1 µop on 4 or more ports`, with `or none` where the mapping lists none."""
        many = f"{self.number} µop{'' if self.number == 1 else 's'} on {self.ports} or more ports"
        return many if self.listed else f"{many}, or none"


def hidden_kinds(mapping: PortMapping) -> frozenset[int]:
    """The port sets, as masks, of µops that no experiment over the mapping's schemes can show.

    Of two limits each is tried by itself. Schemes with more than twelve kinds of µops are taken to show all.
    """
    hidden: set[int] = set()
    kinds = {mask for uops in mapping.usage.values() for mask, _ in uops}
    for rate, counted in ((mapping.r_max, False), (mapping.issue_width, True)):
        if rate is None:
            continue
        taken = {(uops, mapping.slots_of(s) if counted else 1) for s, uops in mapping.usage.items()}
        rows = sorted(taken, key=lambda row: (len(row[0]), row))  # the simple ones show most
        hidden |= {kind for kind in kinds if not any(_shows(kind, *row, rate) for row in rows)}
    return frozenset(hidden)


def hidden_in(mapping: PortMapping, scheme: str, hidden: Collection[int]) -> HiddenUops | None:
    """What is hidden of one scheme, `hidden` being the mapping's hidden kinds; None where all its µops show.

    A scheme without any µop may have as many as slots.
    """
    rate = mapping.issue_width or mapping.r_max
    if rate is None:
        return None
    uops = mapping.usage[scheme]
    slots = mapping.slots_of(scheme) if mapping.issue_width else 1
    unseen = [(mask.bit_count(), count) for mask, count in uops if mask in hidden]
    number = sum(count for _, count in unseen) if uops else slots
    ports = min([math.ceil(rate), *(width for width, _ in unseen)])
    return HiddenUops(number, ports, bool(uops)) if number else None


def _shows(kind: int, uops: Uops, slots: int, rate: float) -> bool:
    """Whether ports around those of a kind are busy with a scheme for longer than its slots take."""
    if len(uops) > _MOST_KINDS:
        return True
    return any(
        sum(count for mask, count in uops if not mask & ~ports) * rate > slots * ports.bit_count()
        for ports in _around(kind, uops)
    )


def _around(kind: int, uops: Uops) -> Iterator[int]:
    """The unions of a kind's ports with those of some µops."""
    unions = {kind}
    for mask, _ in uops:
        unions |= {union | mask for union in unions}
    return iter(unions)
