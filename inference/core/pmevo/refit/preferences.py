"""Preferences that are applied after a search, where measurements hardly decide.

Only a few experiments distinguish the port of a load from another port, and a search does not weigh these
against similar schemes. So two changes are made afterwards, if each costs no more than a few experiments do:
a memory form gets the µops of its register form with those that most memory forms have in addition, and a
scheme for one part of the core (integer, vector or memory) loses µops on ports that another part uses nearly
alone.

A third change follows from schedulers, which assign µops to ports before they know what comes next. Beside a
µop with a single port, µops that could use others take that port too often, and this delay looks like a
second µop. It is removed where spreading µops evenly over their ports would take as long.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from inference.core.mapping import Uops, ports_in
from inference.core.pmevo.refit.usage import MAX_KINDS, Usage

COST = 0.05
"""Share of a scheme's experiments by which the objective may grow."""

_FOREIGN = 0.2  # share of a port's schemes up to which the port does not belong to their domain
_TRIED = 3  # commonest µops per access that are tried
_SWEEPS = 2  # over all forms: after the first, other µops may be the commonest


class FormPair(NamedTuple):
    """Scheme `memory` is scheme `register` with memory in place of a register; `access`: r, w or rw."""

    memory: int
    register: int
    access: str


def prefer_forms(
    usage: Usage, forms: Sequence[FormPair], value: Callable[[Usage], float], max_price: float
) -> Usage:
    """The mapping with regular memory forms.

    Args:
        usage: The mapping, which stays unchanged.
        forms: Pairs of its schemes.
        value: The objective of a mapping; smaller is better.
        max_price: By how much one form may raise the objective.
    """
    usage = usage.copy()
    current = value(usage)
    for _ in range(_SWEEPS):
        accesses = _commonest(usage, forms)
        for form in forms:
            for uops in accesses.get(form.access, ()):
                regular = _sum(usage.row(form.register), uops)
                if regular == usage.row(form.memory):
                    break
                trial = _with(usage, form.memory, regular, value) if len(regular) <= MAX_KINDS else None
                if trial is not None and trial[0] <= current + max_price:
                    current, usage = trial
                    break
    return usage


def prefer_own_ports(
    usage: Usage, domains: Sequence[str | None], value: Callable[[Usage], float], max_price: float
) -> Usage:
    """The mapping without µops on ports of another part of the core.

    Such a µop is removed, or replaced by what most schemes of its part consist of, where that explains more.
    The part of a port follows from the schemes that use it.

    Args:
        usage: The mapping, which stays unchanged.
        domains: Domains of each scheme; None for several parts, as with memory operands.
        value: The objective of a mapping; smaller is better.
        max_price: By how much one change may raise the objective.
    """
    usage = usage.copy()
    current = value(usage)
    foreign = _foreign(usage, domains)
    own_ports = _own(usage, domains, foreign)
    for scheme, domain in enumerate(domains):
        for uop in usage.row(scheme):
            if domain is None or not foreign(uop[0], domain):
                continue
            remaining = _without(usage.row(scheme), uop)
            instead = [remaining, *(_sum(remaining, uops) for uops in own_ports[domain])]
            tried = [_with(usage, scheme, uops, value) for uops in instead if 0 < len(uops) <= MAX_KINDS]
            if tried:
                cost, changed = min(tried, key=itemgetter(0))
                if cost <= current + max_price:
                    current, usage = cost, changed
    return usage


def prefer_fewer(usage: Usage, domains: Sequence[str | None], value: Callable[[Usage], float]) -> Usage:
    """The mapping without single µops whose removal does not raise `value`, which forgives waste.

    Only schemes for one part of the core are changed.
    """
    usage = usage.copy()
    current = value(usage)
    for scheme, domain in enumerate(domains):
        for uop in usage.row(scheme) if domain else ():
            remaining = _without(usage.row(scheme), uop)
            if remaining and uop[1] == 1:  # several equal µops stand for the time of a unit such as a divider
                cost, changed = _with(usage, scheme, remaining, value)
                if cost <= current:
                    current, usage = cost, changed
    return usage


def _foreign(usage: Usage, domains: Sequence[str | None]) -> Callable[[int, str], bool]:
    """A predicate: whether all ports of a µop belong to domains other than its scheme's."""
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
    """{(port, domain): number of schemes}, with None as the domain for all of them.

    Schemes with one kind of µop count; n ports get 1/n each.
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
    """(objective, mapping) with these µops for a scheme, and the best number of slots: as before, or ± 1."""
    tried = []
    for slots in sorted({max(1, int(usage.slots[scheme]) + change) for change in (-1, 0, 1)}):
        changed = usage.copy()
        changed.set_row(scheme, uops)
        changed.slots[scheme] = slots
        tried.append((value(changed), slots, changed))
    lowest, _, best = min(tried, key=itemgetter(0, 1))
    return lowest, best


def _commonest(usage: Usage, forms: Sequence[FormPair]) -> Mapping[str, list[Uops]]:
    """{access: µops that memory forms have in addition to their register forms, the commonest first}.

    Forms that read and write memory also have the µops of a load: µops that contain these come first.
    """
    counted: dict[str, Counter[Uops]] = {}
    for form in forms:
        register_row, memory_row = dict(usage.row(form.register)), dict(usage.row(form.memory))
        if all(memory_row.get(mask, 0) >= count for mask, count in register_row.items()):
            extra = {mask: count - register_row.get(mask, 0) for mask, count in memory_row.items()}
            uops = tuple(sorted((mask, count) for mask, count in extra.items() if count))
            if uops:
                counted.setdefault(form.access, Counter())[uops] += 1
    loads = [uops for uops, _ in counted.get("r", Counter()).most_common(1)]
    load = set(loads[0]) if loads else set()
    return {
        access: sorted(counts, key=lambda uops: (not load <= set(uops), -counts[uops], uops))[:_TRIED]
        for access, counts in counted.items()
    }


def _without(uops: Uops, uop: tuple[int, int]) -> Uops:
    return tuple(other for other in uops if other != uop)


def _sum(first: Uops, second: Uops) -> Uops:
    total = Counter(dict(first))
    total.update(dict(second))
    return tuple(sorted(total.items()))
