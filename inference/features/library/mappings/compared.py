"""Two port mappings beside each other, up to a renaming of ports."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

from inference.core.identity import MappingComparison, compare
from inference.formats.problems import ExchangeError
from inference.models import PortMapping
from inference.storage.mappings import load_mapping


def comparison_of(row: PortMapping, other: PortMapping) -> MappingComparison:
    """Both mappings up to a renaming of the other's ports; raises `ExchangeError` for different ISAs."""
    if row.isa_id != other.isa_id:
        raise ExchangeError(
            f"{row.name!r} describes {row.isa.name}, {other.name!r} describes {other.isa.name}: "
            "mappings of the same instruction set can be compared"
        )
    return _compared((row.pk, row.created), (other.pk, other.created))


@lru_cache(maxsize=16)
def _compared(row: tuple[int, datetime], other: tuple[int, datetime]) -> MappingComparison:
    """Remembered, since what a mapping says never changes; a new mapping has a new number and date."""
    return compare(*(load_mapping(PortMapping.objects.get(pk=pk)) for pk, _ in (row, other)))


def summary(comparison: MappingComparison) -> str:
    """The comparison in a sentence or two."""
    agreement = comparison.agreement
    told = [_agreement_in_words(comparison)]
    for schemes, where in ((agreement.only_first, "first"), (agreement.only_second, "second")):
        if schemes:
            told.append(f"{_counted(len(schemes), 'scheme')} only in the {where}.")
    for what in ("instructions", "slots"):
        rates = (each.get(what) for each in comparison.limits)
        first, second = ("no limit" if rate is None else f"{rate:.4g}" for rate in rates)
        if first != second:
            told.append(f"{what.capitalize()} per cycle: {first} in the first, {second} in the second.")
    if comparison.other_slots:
        told.append(f"{_counted(len(comparison.other_slots), 'scheme')} with other numbers of slots.")
    if agreement.differing and not agreement.renaming.exact:
        told.append("Another renaming of ports might make more schemes equal.")
    return " ".join(told)


def _agreement_in_words(comparison: MappingComparison) -> str:
    agreement = comparison.agreement
    common = len(agreement.agreeing) + len(agreement.differing)
    if not common:
        return "No scheme is described by both."
    renamed = any(port != k for k, port in enumerate(agreement.renaming.ports))
    if comparison.are_equal:
        return "Equal up to renaming ports." if renamed else "Equal."
    if not agreement.differing:
        how = ", up to renaming ports" if renamed else ""
        return f"All {_counted(common, 'common scheme')} use the same µops{how}."
    share = f"({100 * len(agreement.agreeing) / common:.1f} %)"
    return f"{len(agreement.agreeing):,} of {_counted(common, 'common scheme')} use the same µops {share}."


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
