"""Where a reference says otherwise than an explained mapping: the witness that contradicts the reference."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from inference.core.explain import Seen
from inference.core.identity import MappingComparison, SchemeRelation
from inference.core.mapping import Uops
from inference.models import PortMapping
from inference.models import Witness as WitnessRow
from inference.storage.rows import BATCH


@dataclass(frozen=True)
class ReferenceContradiction:
    """`copies` of a blocker beside the scheme: `shown` µops cannot evade its ports, `said` by the reference.

    `mask` are ports of the explained mapping.
    """

    blocker: str
    copies: int
    mask: int
    shown: int
    said: int


def contradictions(
    row: PortMapping, comparison: MappingComparison, schemes: Collection[str] | None = None
) -> dict[str, ReferenceContradiction]:
    """{scheme: the witness that contradicts the other mapping most}, for those that differ; none for others.

    `comparison`: of the explained mapping with the reference, whose µops it has under this mapping's port
    names. `schemes`: only these.
    """
    differing = {
        each.scheme: each.uops[1]
        for each in comparison.schemes
        if each.kind is SchemeRelation.DIFFERENT
        and each.uops[1] is not None
        and (schemes is None or each.scheme in schemes)
    }
    if not differing:
        return {}
    found: dict[str, ReferenceContradiction] = {}
    names = sorted(differing)
    for start in range(0, len(names), BATCH):
        witnesses = WitnessRow.objects.filter(
            characterisation__mapping=row,
            characterisation__scheme__text__in=names[start : start + BATCH],
            seen__in=(Seen.USES.value, Seen.EVADES.value),
        ).order_by("id")
        fields = ("characterisation__scheme__text", "blocker__text", "copies", "mask", "below", "uops")
        for scheme, blocker, copies, mask, below, uops in witnesses.values_list(*fields):
            new = ReferenceContradiction(blocker, copies, mask, below + uops, _bound(differing[scheme], mask))
            known = found.get(scheme)
            if new.shown != new.said and (known is None or _off(new) > _off(known)):
                found[scheme] = new
    return found


def _bound(uops: Uops | None, mask: int) -> int:
    """How many of these µops cannot evade the ports."""
    return sum(count for ports, count in uops or () if ports & ~mask == 0)


def _off(found: ReferenceContradiction) -> int:
    return abs(found.shown - found.said)
