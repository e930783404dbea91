"""The experiment that would decide a single scheme's µops, where two mappings say different things."""

from __future__ import annotations

import math
from collections.abc import Iterable

from inference.core.identity.comparison import NOISE
from inference.core.identity.distinguishing import Distinction, distinguishing_experiment
from inference.core.mapping import PortMapping, Uops

MOST_BESIDE = 10
"""Schemes of which experiments are made beside the scheme in question."""

EXPERIMENTS = 20_000
"""Experiments that are looked at: some ten milliseconds."""

LONGEST = 8


def deciding_experiment(
    a: PortMapping, b: PortMapping, scheme: str, alike: Iterable[str], *, noise: float = NOISE
) -> Distinction | None:
    """A smallest experiment with the scheme for which the mappings predict what measuring can tell apart.

    `alike`: schemes that have equal µops in both under one renaming of the ports. Experiments of them alone
    take as long in both, so that whatever tells the mappings apart contains `scheme`. Only a few of them
    are used: those of few µops on ports that the scheme may use, since these can fill its ports (§6.2.2). The
    smaller R_max of the two holds for both. The predictions are cycles of each mapping; see
    `distinguishing_experiment` for `noise`. None: no short experiment decides.
    """
    beside = _beside(a, scheme, alike)
    length = 1
    while length < LONGEST and math.comb(len(beside) + 1 + length, length + 1) <= EXPERIMENTS:
        length += 1
    rates = [rate for rate in (a.r_max, b.r_max) if rate is not None]
    return distinguishing_experiment(
        a,
        b,
        noise=noise,
        r_max=min(rates, default=None),
        max_length=length,
        schemes=[scheme, *beside],
    )


def _beside(a: PortMapping, scheme: str, alike: Iterable[str]) -> list[str]:
    """One scheme of each usage that shares a port with the scheme, those first that block ports best."""
    ports = _ports(a.usage[scheme])
    representatives: dict[Uops, str] = {}
    for each in sorted(alike):
        uops = a.usage[each]
        if each != scheme and _ports(uops) & ports:
            representatives.setdefault(uops, each)
    ranked = sorted(representatives, key=lambda uops: (_number(uops), -_shared(uops, ports), uops))
    return [representatives[uops] for uops in ranked[:MOST_BESIDE]]


def _ports(uops: Uops) -> int:
    found = 0
    for mask, _ in uops:
        found |= mask
    return found


def _number(uops: Uops) -> int:
    return sum(count for _, count in uops)


def _shared(uops: Uops, ports: int) -> int:
    return (_ports(uops) & ports).bit_count()
