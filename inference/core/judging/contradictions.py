"""Where two results of one machine say different things of a scheme."""

from __future__ import annotations

from dataclasses import dataclass

from inference.core.identity.comparison import differ_in_hidden
from inference.core.identity.renaming import structural_agreement
from inference.core.mapping import PortMapping, Uops, described, hidden_kinds

NOT_SETTLED = "not settled"


@dataclass(frozen=True)
class UopsConflict:
    """A scheme with other µops in another result. `here` and `there` are in words, under the ports of each
    side's own mapping, `there` with as many words as the difference needs."""

    scheme: str
    here: str
    there: str


def uops_conflicts(first: PortMapping, second: PortMapping) -> tuple[list[UopsConflict], list[UopsConflict]]:
    """The schemes of which both say something different, up to a renaming of ports and to what no experiment
    of either could show; sorted.

    Once as the first has it and once as the second, with the same schemes whichever of two is the first.
    `here` is what a side says itself. Where the numbers of µops differ, `there` is the other's number alone;
    else its ports go by the names of this side.
    """
    if second.digest < first.digest:  # a renaming that is not exact depends on which is the first
        other, own = uops_conflicts(second, first)
        return own, other
    agreement = structural_agreement(first, second)
    renamed = agreement.renaming.apply(second)
    back = agreement.renaming.inverse(second.ports).apply(first)
    hidden = hidden_kinds(first), hidden_kinds(renamed)
    schemes = [
        scheme
        for scheme in agreement.differing
        if not differ_in_hidden(hidden, first.usage[scheme], renamed.usage[scheme])
    ]
    return (
        [_conflict(scheme, first, renamed) for scheme in schemes],
        [_conflict(scheme, second, back) for scheme in schemes],
    )


def _conflict(scheme: str, here: PortMapping, there: PortMapping) -> UopsConflict:
    """Of a scheme, the ports of both mappings going by the same names."""
    own, other = here.usage[scheme], there.usage[scheme]
    text = described(other, there.ports) if _uop_count(own) == _uop_count(other) else _uop_count_text(other)
    return UopsConflict(scheme, described(own, here.ports), text)


def conflict_text(here: str, name: str, there: str, other: str) -> str:
    """`PMEvo: 1×[1,2,10]; explained: 3 µops; not settled`. `name` and `other` say which results these are."""
    return f"{name}: {here}; {other}: {there}; {NOT_SETTLED}"


def _uop_count(uops: Uops) -> int:
    return sum(count for _, count in uops)


def _uop_count_text(uops: Uops) -> str:
    number = _uop_count(uops)
    return "no µop" if not number else f"{number} µop{'' if number == 1 else 's'}"
