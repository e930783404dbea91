"""Schemes for which two results of one machine have different µops."""

from __future__ import annotations

from dataclasses import dataclass

from inference.core.identity.comparison import differ_in_hidden
from inference.core.identity.renaming import structural_agreement
from inference.core.mapping import PortMapping, Uops, described, hidden_kinds

NOT_SETTLED = "not settled"


@dataclass(frozen=True)
class UopsConflict:
    """A scheme whose µops differ between two results.

    `here` and `there` are texts, under the ports of each side's own mapping; `there` is as detailed as the
    difference requires.
    """

    scheme: str
    here: str
    there: str


def uops_conflicts(first: PortMapping, second: PortMapping) -> tuple[list[UopsConflict], list[UopsConflict]]:
    """The schemes for which two mappings differ, up to a renaming of ports and up to hidden µops; sorted.

    Returns:
        The conflicts from the first mapping's side and from the second's, with the same schemes whichever
            mapping comes first. `here` are the side's own µops. Where the numbers of µops differ, `there` is
            the other's number alone; otherwise its µops with this side's port names.
    """
    if second.digest < first.digest:  # a renaming that is not exact depends on which is the first
        theirs, ours = uops_conflicts(second, first)
        return ours, theirs
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
    """The conflict on a scheme; the ports of both mappings have the same names."""
    ours, theirs = here.usage[scheme], there.usage[scheme]
    text = (
        described(theirs, there.ports) if _uop_count(ours) == _uop_count(theirs) else _uop_count_text(theirs)
    )
    return UopsConflict(scheme, described(ours, here.ports), text)


def conflict_text(here: str, name: str, there: str, other: str) -> str:
    """A phrase such as `PMEvo: 1×[1,2,10]; explained: 3 µops; not settled`.

    Args:
        here: The claim of one result about a scheme.
        name: Name of this result.
        there: The claim of the other result.
        other: Name of the other result.
    """
    return f"{name}: {here}; {other}: {there}; {NOT_SETTLED}"


def _uop_count(uops: Uops) -> int:
    return sum(count for _, count in uops)


def _uop_count_text(uops: Uops) -> str:
    number = _uop_count(uops)
    return "no µop" if not number else f"{number} µop{'' if number == 1 else 's'}"
