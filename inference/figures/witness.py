"""The figure of a witness: flooded ports, and the tested scheme's µops on them (thesis Figs. 6.1, 6.2)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from inference.core.explain import Witness, WitnessOutcome
from inference.core.mapping import PortMapping, Uops
from inference.core.schedule import Schedule, schedule


class UopRole(StrEnum):
    FLOOD = "flood"  # keeps the blocked ports busy
    BESIDE = "beside"  # the other µop of an improper blocking instruction
    CONFINED = "confined"  # of the scheme: cannot evade, and delays the flood
    EVADING = "evading"  # of the scheme: goes elsewhere
    UNEXPLAINED = "unexplained"  # no µop: time that passes beside


@dataclass(frozen=True)
class UopSpan:
    """µops of one kind on one port: their port set as a mask, their bottom and height in cycles."""

    role: UopRole
    mask: int
    bottom: float
    height: float


@dataclass(frozen=True)
class PortColumn:
    """One port and the µops on it, from the bottom up: the flood's, then the scheme's."""

    name: str
    blocked: bool
    parts: tuple[UopSpan, ...]

    @property
    def load(self) -> float:
        return sum(part.height for part in self.parts)


@dataclass(frozen=True)
class WitnessPicture:
    """All ports, and four times in cycles: expected and measured, of the flood alone and with the scheme.

    Measured ones are None where the measurement failed.
    """

    columns: tuple[PortColumn, ...]
    base: float
    tested: float
    base_measured: float | None
    tested_measured: float | None

    @property
    def roles(self) -> tuple[UopRole, ...]:
        there = {part.role for column in self.columns for part in column.parts}
        return tuple(role for role in UopRole if role in there)


def witness_picture(
    ports: tuple[str, ...], r_max: float | None, blocker: Uops, scheme: Uops, witness: Witness
) -> WitnessPicture:
    """The µops of a witness's experiment on their ports, as distributed by `core.schedule`.

    Where the witness shows no whole number of µops, the flooded ports also have a span of unexplained time.

    Args:
        ports: Names of all ports.
        r_max: Instructions per cycle beside the ports; None for no limit.
        blocker: µops of the blocking instruction.
        scheme: Known µops of the tested scheme.
        witness: The witness.
    """
    tested = _tested_scheme(witness)
    usage = {tested: scheme, witness.blocker: blocker}
    mapping = PortMapping(ports, usage, r_max)
    with_scheme = schedule(mapping, witness.tested)
    columns = []
    for port, name in enumerate(ports):
        blocked = bool(witness.mask >> port & 1)
        column = PortColumn(name, blocked, _stack(with_scheme, port, witness, tested))
        columns.append(
            _with_unexplained_time(column, witness) if blocked and witness.seen in _DUBIOUS else column
        )
    return WitnessPicture(
        tuple(columns),
        base=schedule(mapping, witness.base).cycles,
        tested=with_scheme.cycles,
        base_measured=witness.base_cycles,
        tested_measured=witness.cycles,
    )


_DUBIOUS = (WitnessOutcome.ODD, WitnessOutcome.UNSTABLE)


def _with_unexplained_time(column: PortColumn, witness: Witness) -> PortColumn:
    """The column with a span for the measured time that no µop on the port explains."""
    unexplained = 0.0 if witness.cycles is None else witness.cycles - column.load
    if unexplained <= 0:
        return column
    part = UopSpan(UopRole.UNEXPLAINED, witness.mask, column.load, unexplained)
    return replace(column, parts=(*column.parts, part))


def _tested_scheme(witness: Witness) -> str:
    """The scheme beside the flood, which may be the blocking instruction itself."""
    candidates = [scheme for scheme in witness.tested.schemes if scheme != witness.blocker]
    return candidates[0] if candidates else witness.blocker


def _stack(distribution: Schedule, port: int, witness: Witness, tested: str) -> tuple[UopSpan, ...]:
    amounts: dict[tuple[UopRole, int], float] = {}
    flooding = distribution.scheme_shares[witness.blocker]
    itself = tested == witness.blocker
    share = witness.copies / (witness.copies + 1) if itself else 1.0
    for (mask, where), amount in flooding.items():
        if where == port:
            role = UopRole.FLOOD if mask == witness.mask else UopRole.BESIDE
            amounts[role, mask] = amount * share
    for (mask, where), amount in distribution.scheme_shares[tested].items():
        if where == port:
            role = UopRole.CONFINED if mask & ~witness.mask == 0 else UopRole.EVADING
            amounts[role, mask] = amount * (1 - share) if itself else amount
    order = list(UopRole)
    parts = []
    bottom = 0.0
    for (role, mask), amount in sorted(
        amounts.items(), key=lambda item: (order.index(item[0][0]), item[0][1].bit_count(), item[0][1])
    ):
        parts.append(UopSpan(role, mask, bottom, amount))
        bottom += amount
    return tuple(parts)
