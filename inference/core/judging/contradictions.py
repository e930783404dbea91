"""Where two results of one machine say different things of a scheme."""

from __future__ import annotations

from dataclasses import dataclass

from inference.core.hidden_uops import hidden_kinds
from inference.core.identity.comparison import differ_in_hidden
from inference.core.identity.hidden import structural_agreement
from inference.core.mapping import PortMapping, Uops, described

NOT_SETTLED = "not settled"


@dataclass(frozen=True)
class UopsConflict:
    """A scheme with other µops in another result. `here` and `there` are in words, under the ports of each
    side's own mapping, `there` with as many words as the difference needs."""

    scheme: str
    here: str
    there: str


def uops_conflicts(first: PortMapping, second: PortMapping) -> list[UopsConflict]:
    """The schemes of which both say something different, up to a renaming of ports and to what no experiment
    of either could show; sorted.

    `here` is what the first says. Where the numbers of µops differ, `there` is the second's number alone;
    else its ports go by the names of the first.
    """
    agreement = structural_agreement(first, second)
    renamed = agreement.renaming.apply(second)
    hidden = hidden_kinds(first), hidden_kinds(renamed)
    found = []
    for scheme in agreement.differing:
        here, there = first.usage[scheme], renamed.usage[scheme]
        if differ_in_hidden(hidden, here, there):
            continue
        other = described(there, renamed.ports) if _number(here) == _number(there) else _counted(there)
        found.append(UopsConflict(scheme, described(here, first.ports), other))
    return found


def conflict_in_words(here: str, name: str, there: str, other: str) -> str:
    """`PMEvo: 1×[1,2,10]; explained: 3 µops; not settled`. `name` and `other` say which results these are."""
    return f"{name}: {here}; {other}: {there}; {NOT_SETTLED}"


def _number(uops: Uops) -> int:
    return sum(count for _, count in uops)


def _counted(uops: Uops) -> str:
    number = _number(uops)
    return "no µop" if not number else f"{number} µop{'' if number == 1 else 's'}"
