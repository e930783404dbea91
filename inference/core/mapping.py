"""Three-level port mappings as values (thesis §3.1, Remark 3.13: a µop *is* its set of ports).

A port set is a bit mask over the mapping's ordered ports: bit k stands for `ports[k]`. The µops of a scheme
are a tuple of (mask, count), sorted by mask. The two-level model is the case of one µop counted once.

Some µops are hidden (`HiddenUops`): no experiment can show them, because the limit on slots or instructions
always takes as long. An experiment takes as long as the µops that only some set of ports can run, evenly
spread over it (Theorem 5.2). Where the slots of each scheme take as long as such a set is busy with it, those
of all experiments do. A µop that lies in no other set can be removed or moved to more ports without changing
any throughput. So for `add` on the four ALUs of a core that issues four slots per cycle, "1 µop on 4 or more
ports" is all that can be known.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from inference.core.errors import InvalidInputError, UnknownSchemeError
from inference.core.tunables import check_number

MAX_PORTS = 63  # masks travel as signed 64-bit integers through numpy and the database
R_MAX_RANGE = (1e-3, 1e3)  # instructions or slots per cycle; beyond it, no processor was described
MAX_SLOTS = 10_000  # of one scheme: microcode takes hundreds

_MAX_KINDS = 12  # in a scheme: all unions of their port sets are looked at

Uops = tuple[tuple[int, int], ...]
"""The µops of one scheme: ((port mask, count ≥ 1), …), sorted by mask; () for a scheme that uses no port."""


def uops_of(pairs: Iterable[tuple[int, int]]) -> Uops:
    """Canonical µops from (mask, count) pairs in any order; counts of equal masks add up.

    >>> uops_of([(2, 1), (1, 1), (2, 2)])
    ((1, 1), (2, 3))
    """
    total: dict[int, int] = {}
    for mask, count in pairs:
        total[mask] = total.get(mask, 0) + count
    return tuple(sorted(total.items()))


def ports_in(mask: int) -> Iterator[int]:
    """The port indices in a mask, ascending.

    >>> list(ports_in(0b1101))
    [0, 2, 3]
    """
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def unions_of(masks: Iterable[int], ports: int = 0) -> set[int]:
    """The unions of `ports` with any number of the port sets.

    >>> sorted(unions_of([0b01, 0b10]))
    [0, 1, 2, 3]
    """
    unions = {ports}
    for mask in masks:
        unions |= {union | mask for union in unions}
    return unions


@dataclass(frozen=True)
class PortMapping:
    """Which ports the µops of each instruction scheme can use, with the limits outside the ports.

    Args:
        ports: Names, which differ and are not empty; index = bit.
        usage: {scheme text: µops}.
        r_max: Instructions per cycle (§3.2.2); None for no limit.
        issue_width: Issue slots per cycle; None for no limit.
        slots: {scheme: its issue slots}, where that is not 1. An instruction takes a slot even if it needs no
            port; a memory operand may share one with the rest of its instruction.

    Raises:
        InvalidInputError: For values that no mapping can have; the message names the scheme.
        UnknownSchemeError: For slots of a scheme without usage.

    >>> PortMapping(("0", "1"), {"add": ((0b11, 1),)}).describe("add")
    '1×[0,1]'
    """

    ports: tuple[str, ...]
    usage: Mapping[str, Uops]
    r_max: float | None = None
    issue_width: float | None = None
    slots: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_ports(len(self.ports))
        for name in self.ports:
            if not isinstance(name, str) or not name:
                raise InvalidInputError(f"the name of a port is a text that is not empty, not {name!r}")
        if len(set(self.ports)) != len(self.ports):
            raise InvalidInputError(f"port names must differ: {', '.join(self.ports)}")
        if self.r_max is not None:
            check_number("R_max", self.r_max, *R_MAX_RANGE)
        if self.issue_width is not None:
            check_number("the issue width", self.issue_width, *R_MAX_RANGE)
        for scheme, uops in self.usage.items():
            check_uops(scheme, uops, len(self.ports))
        for scheme, number in self.slots.items():
            check_slots(scheme, number)
            if scheme not in self.usage:
                raise UnknownSchemeError([scheme])
        # One slot is what a scheme takes unless something else is said: equal mappings compare equal.
        slots = {scheme: number for scheme, number in self.slots.items() if number != 1}
        object.__setattr__(self, "slots", slots)

    def slots_of(self, scheme: str) -> int:
        """Issue slots of a scheme, 1 unless the mapping says otherwise."""
        return self.slots.get(scheme, 1)

    @property
    def limits(self) -> dict[str, float]:
        """The limits outside the ports, per cycle, without those that are None.

        Keys: "instructions" for R_max, "slots" for the issue width.
        """
        return limits_of(self.r_max, self.issue_width)

    def restricted(self, schemes: Iterable[str]) -> PortMapping:
        """The mapping of some schemes alone, in their order. Raises `UnknownSchemeError`."""
        selection = list(schemes)
        unknown = [scheme for scheme in selection if scheme not in self.usage]
        if unknown:
            raise UnknownSchemeError(unknown)
        return replace(
            self,
            usage={scheme: self.usage[scheme] for scheme in selection},
            slots={scheme: self.slots[scheme] for scheme in selection if scheme in self.slots},
        )

    @property
    def digest(self) -> str:
        """SHA-256 of the mapping in hexadecimal digits; equal for equal mappings only."""
        r_max = None if self.r_max is None else float(self.r_max)
        facts: list[object] = [list(self.ports), r_max, sorted(self.usage.items())]
        if self.issue_width is not None or self.slots:
            width = None if self.issue_width is None else float(self.issue_width)
            facts += [width, sorted(self.slots.items())]
        return hashlib.sha256(repr(facts).encode()).hexdigest()

    @property
    def uop_kinds(self) -> int:
        """Number of distinct port sets in use."""
        return len({mask for uops in self.usage.values() for mask, _ in uops})

    @property
    def volume(self) -> int:
        """µop volume V(M) = Σ count · |ports| (§5.1.3)."""
        return sum(count * mask.bit_count() for uops in self.usage.values() for mask, count in uops)

    def describe(self, scheme: str) -> str:
        """`2×[0,1,5,6] + 1×[2,3]`, or "no ports". Raises `UnknownSchemeError`."""
        if scheme not in self.usage:
            raise UnknownSchemeError([scheme])
        return described(self.usage[scheme], self.ports)


def with_sums(mapping: PortMapping, sums: Mapping[str, Sequence[str]]) -> PortMapping:
    """The mapping with further schemes, each of which has the µops and slots of several others together.

    Args:
        mapping: Stays unchanged.
        sums: {new scheme: its parts}; a scheme without parts takes a slot and no port. Schemes that the
            mapping describes already are skipped, and those with a part that it does not describe.
    """
    new = {
        scheme: parts
        for scheme, parts in sums.items()
        if scheme not in mapping.usage and all(part in mapping.usage for part in parts)
    }
    if not new:
        return mapping
    usage = {
        scheme: uops_of(uop for part in parts for uop in mapping.usage[part]) for scheme, parts in new.items()
    }
    slots = {scheme: sum(map(mapping.slots_of, parts)) or 1 for scheme, parts in new.items()}
    return replace(mapping, usage={**mapping.usage, **usage}, slots={**mapping.slots, **slots})


def limits_of(r_max: float | None, issue_width: float | None) -> dict[str, float]:
    """{"instructions": r_max, "slots": issue_width} without the limits that are None."""
    rates = {"instructions": r_max, "slots": issue_width}
    return {unit: rate for unit, rate in rates.items() if rate is not None}


def check_ports(number: int) -> None:
    """Raise `InvalidInputError` unless a mapping can have this number of ports."""
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= MAX_PORTS:
        raise InvalidInputError(f"a port mapping has 1 to {MAX_PORTS} ports, not {number!r}")


def check_uops(scheme: str, uops: Uops, n_ports: int) -> None:
    """Raise `InvalidInputError`, naming the scheme, for what cannot be its µops on this many ports."""
    limit = 1 << n_ports
    for mask, count in uops:
        _check_uop(scheme, mask, count, limit, n_ports)
    if any(first[0] >= second[0] for first, second in pairwise(uops)):
        raise InvalidInputError(f"µops of {scheme!r} must be sorted by port set, without repeats")


def check_slots(scheme: str, number: int) -> None:
    """Raise `InvalidInputError`, naming the scheme, for what cannot be the number of its issue slots."""
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= MAX_SLOTS:
        raise InvalidInputError(
            f"{scheme!r}: a scheme takes a whole number of slots from 1 to {MAX_SLOTS}, not {number!r}"
        )


def described(uops: Uops, ports: Sequence[str]) -> str:
    """µops as text.

    Args:
        uops: (mask of ports, count ≥ 1) pairs; () for a scheme that needs no port.
        ports: Names by index; index = bit of the masks.

    >>> described(((0b11, 2), (0b100, 1)), ("0", "1", "5"))
    '2×[0,1] + 1×[5]'
    >>> described((), ("0",))
    'no ports'
    """
    if not uops:
        return "no ports"
    return " + ".join(f"{count}×[{','.join(ports[k] for k in ports_in(mask))}]" for mask, count in uops)


def _check_uop(scheme: str, mask: int, count: int, limit: int, n_ports: int) -> None:
    if isinstance(mask, bool) or not isinstance(mask, int) or mask < 1:
        raise InvalidInputError(f"{scheme!r}: the port set of a µop must not be empty (mask {mask!r})")
    if mask >= limit:
        raise InvalidInputError(f"{scheme!r}: port set {mask:#x} names a port beyond the {n_ports} there are")
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise InvalidInputError(f"{scheme!r}: a µop count must be a whole number ≥ 1, not {count!r}")


@dataclass(frozen=True)
class HiddenUops:
    """`number` µops of a scheme on `ports` or more ports.

    `listed`: False where the mapping lists none of them.
    """

    number: int
    ports: int
    listed: bool

    def __str__(self) -> str:
        """`1 µop on 4 or more ports`, with `or none` where the mapping lists none."""
        many = f"{self.number} µop{'' if self.number == 1 else 's'} on {self.ports} or more ports"
        return many if self.listed else f"{many}, or none"


def hidden_kinds(mapping: PortMapping) -> frozenset[int]:
    """The port sets of µops that no experiment over the mapping's schemes can show.

    The limits outside the ports always take at least as long.

    Args:
        mapping: Without `r_max` and `issue_width`, all its µops can be shown.

    Returns:
        Masks of ports. Of two limits each is examined by itself. A scheme with more than twelve kinds of
            µops counts as showing all of them, since the number of unions grows exponentially.
    """
    hidden: set[int] = set()
    kinds = {mask for uops in mapping.usage.values() for mask, _ in uops}
    for rate, counts_slots in ((mapping.r_max, False), (mapping.issue_width, True)):
        if rate is None:
            continue
        distinct = {(uops, mapping.slots_of(s) if counts_slots else 1) for s, uops in mapping.usage.items()}
        rows = sorted(distinct, key=lambda row: (len(row[0]), row))  # the simple ones show most
        hidden |= {kind for kind in kinds if not any(_is_observable(kind, *row, rate) for row in rows)}
    return frozenset(hidden)


def hidden_in(mapping: PortMapping, scheme: str, hidden: Collection[int]) -> HiddenUops | None:
    """The hidden µops of one scheme; None where all its µops show.

    Args:
        mapping: Mapping with a limit outside the ports; without one nothing is hidden.
        scheme: One of the mapping.
        hidden: Masks of ports, the result of `hidden_kinds`.

    Returns:
        Number and ports of the hidden µops. A scheme without any µop may have as many hidden ones as slots.
    """
    rate = mapping.issue_width or mapping.r_max
    if rate is None:
        return None
    uops = mapping.usage[scheme]
    slots = mapping.slots_of(scheme) if mapping.issue_width else 1
    hidden_uops = [(mask.bit_count(), count) for mask, count in uops if mask in hidden]
    number = sum(count for _, count in hidden_uops) if uops else slots
    ports = min([math.ceil(rate), *(width for width, _ in hidden_uops)])
    return HiddenUops(number, ports, bool(uops)) if number else None


def _is_observable(kind: int, uops: Uops, slots: int, rate: float) -> bool:
    """Whether ports around those of a kind are busy with a scheme for longer than its slots take."""
    if len(uops) > _MAX_KINDS:
        return True
    return any(
        sum(count for mask, count in uops if not mask & ~ports) * rate > slots * ports.bit_count()
        for ports in unions_of((mask for mask, _ in uops), kind)
    )
