"""What is preferred where measurements hardly tell, once a search has ended.

Mixes tell the port of a load from its neighbour by a few experiments, and no search weighs these against what
all other schemes say. So two things may be changed afterwards, as long as each costs no more than a few
experiments do: a memory form takes the µops of its register form with those that most others have beside
theirs, and a scheme for one part of the core, integer, vector or memory, has no µops on ports that those for
another part use nearly alone.

A third follows from how cores work: a scheduler assigns µops to ports before it knows what else will come.
Beside a µop with one port only, those that could go elsewhere take that port too often, and what this costs
looks like a second µop. Where spreading µops evenly would take as long, it is not believed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from inference.core.mapping import Uops, ports_in
from inference.core.pmevo.refit.usage import MOST_KINDS, Usage

COST = 0.05
"""Share of a scheme's experiments by which the objective may grow."""

_FOREIGN = 0.2  # of what uses a port: a domain with no larger share is no part of the core that it is for
_TRIED = 3  # commonest accesses
_SWEEPS = 2


class FormPair(NamedTuple):
    """Scheme `memory` is scheme `register` with memory in place of a register, accessed as `access` says."""

    memory: int
    register: int
    access: str


def prefer_forms(
    usage: Usage, forms: Sequence[FormPair], value: Callable[[Usage], float], most: float
) -> Usage:
    """The mapping with regular memory forms; `most`: what one may cost.

    `value`: the objective of a mapping, smaller being better.
    """
    usage = usage.copy()
    current = value(usage)
    for _ in range(_SWEEPS):
        accesses = _commonest(usage, forms)
        for form in forms:
            for uops in accesses.get(form.access, ()):
                wanted = _sum(usage.row(form.register), uops)
                if wanted == usage.row(form.memory):
                    break
                found = _with(usage, form.memory, wanted, value) if len(wanted) <= MOST_KINDS else None
                if found is not None and found[0] <= current + most:
                    current, usage = found
                    break
    return usage


def prefer_own_ports(
    usage: Usage, domains: Sequence[str | None], value: Callable[[Usage], float], most: float
) -> Usage:
    """The mapping without µops on ports of another part of the core, as far as one costs no more than `most`.

    A µop there goes, or becomes whatever most schemes of its own part consist of, where that explains more.
    `domains`: that of each scheme, None where it is of several, as those are that compute with memory. What a
    port is for, the schemes that use it say.
    """
    usage = usage.copy()
    current = value(usage)
    foreign = _foreign(usage, domains)
    own = _own(usage, domains, foreign)
    for scheme, domain in enumerate(domains):
        for uop in usage.row(scheme):
            if domain is None or not foreign(uop[0], domain):
                continue
            left = _without(usage.row(scheme), uop)
            instead = [left, *(_sum(left, uops) for uops in own[domain])]
            tried = [_with(usage, scheme, uops, value) for uops in instead if 0 < len(uops) <= MOST_KINDS]
            if tried:
                cost, changed = min(tried, key=itemgetter(0))
                if cost <= current + most:
                    current, usage = cost, changed
    return usage


def prefer_fewer(usage: Usage, domains: Sequence[str | None], value: Callable[[Usage], float]) -> Usage:
    """The mapping without µops that `value`, which forgives waste, is no worse without.

    Only of schemes for one part of the core, which nothing but their µops there keeps busy.
    """
    usage = usage.copy()
    current = value(usage)
    for scheme, domain in enumerate(domains):
        for uop in usage.row(scheme) if domain else ():
            left = _without(usage.row(scheme), uop)
            if left and uop[1] == 1:  # several alike tell how long a unit is busy, a divider for example
                cost, changed = _with(usage, scheme, left, value)
                if cost <= current:
                    current, usage = cost, changed
    return usage


def _foreign(usage: Usage, domains: Sequence[str | None]) -> Callable[[int, str], bool]:
    """Whether a µop is on ports that a domain has hardly a share of, while others use them."""
    shares = _shares(usage, domains)
    return lambda mask, domain: all(
        shares[port, None] > 0 and shares[port, domain] <= _FOREIGN * shares[port, None]
        for port in ports_in(mask)
    )


def _own(
    usage: Usage, domains: Sequence[str | None], foreign: Callable[[int, str], bool]
) -> Mapping[str, list[Uops]]:
    """{domain: what its schemes with one kind of µop consist of}, the commonest first."""
    counted: dict[str, Counter[Uops]] = defaultdict(Counter)
    for scheme, domain in enumerate(domains):
        row = usage.row(scheme)
        if domain is not None and len(row) == 1 and not foreign(row[0][0], domain):
            counted[domain][row] += 1
    return defaultdict(list, {domain: [uops for uops, _ in c.most_common()] for domain, c in counted.items()})


def _shares(usage: Usage, domains: Sequence[str | None]) -> Mapping[tuple[int, str | None], float]:
    """How many schemes of each domain use a port, {(port, domain): …}, and with None for it, of all domains.

    Schemes with one kind of µop tell; on several ports, each of these has its part.
    """
    shares: dict[tuple[int, str | None], float] = defaultdict(float)
    for scheme, domain in enumerate(domains):
        row = usage.row(scheme)
        if domain is not None and len(row) == 1:
            for port in ports_in(row[0][0]):
                shares[port, domain] += 1 / row[0][0].bit_count()
                shares[port, None] += 1 / row[0][0].bit_count()
    return shares


def _with(usage: Usage, scheme: int, uops: Uops, value: Callable[[Usage], float]) -> tuple[float, Usage]:
    """The mapping with these µops for a scheme, and the number of slots that suits them."""
    tried = []
    for slots in sorted({max(1, int(usage.slots[scheme]) + more) for more in (-1, 0, 1)}):
        changed = usage.copy()
        changed.put(scheme, uops)
        changed.slots[scheme] = slots
        tried.append((value(changed), slots, changed))
    least, _, best = min(tried, key=lambda each: each[:2])
    return least, best


def _commonest(usage: Usage, forms: Sequence[FormPair]) -> Mapping[str, list[Uops]]:
    """{access: what most memory forms have beside the µops of their register forms}.

    What reads and writes memory has the µops of a load too: those that contain them come first.
    """
    counted: dict[str, Counter[Uops]] = {}
    for form in forms:
        own, beside = dict(usage.row(form.register)), dict(usage.row(form.memory))
        if all(beside.get(mask, 0) >= count for mask, count in own.items()):
            rest = {mask: count - own.get(mask, 0) for mask, count in beside.items()}
            uops = tuple(sorted((mask, count) for mask, count in rest.items() if count))
            if uops:
                counted.setdefault(form.access, Counter())[uops] += 1
    loads = [uops for uops, _ in counted.get("r", Counter()).most_common(1)]
    load = set(loads[0]) if loads else set()
    return {
        access: sorted(counts, key=lambda uops: (not load <= set(uops), -counts[uops], uops))[:_TRIED]
        for access, counts in counted.items()
    }


def _without(uops: Uops, uop: tuple[int, int]) -> Uops:
    return tuple(each for each in uops if each != uop)


def _sum(first: Uops, second: Uops) -> Uops:
    total = Counter(dict(first))
    total.update(dict(second))
    return tuple(sorted(total.items()))
