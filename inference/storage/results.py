"""Results of machines: mappings that runs made, stored with what other results of the machine contradict.

Two results are compared when the second of them is stored, whoever stores it, and both keep what the other
says. So what contradicts a result depends on which results there are, not on which run ended first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db import transaction

from inference.core.judging.contradictions import UopsConflict, uops_conflicts
from inference.core.mapping import PortMapping
from inference.models import ISA, Machine, SchemeConflict
from inference.models import PortMapping as PortMappingRow
from inference.storage.rows import BATCH, ids_of_schemes, load_mapping, store_mapping

if TYPE_CHECKING:
    from inference.models import Run

MOST_OTHERS = 20
"""Other results of a machine that a new one is compared with: the newest. Of thousands of schemes, a
comparison takes up to a second and stores a row for each that both say something else of."""


@dataclass(frozen=True)
class ComparedResult:
    """A stored result, `other`, beside a value: where the two contradict, from both sides."""

    other: int
    here: Sequence[UopsConflict]
    there: Sequence[UopsConflict]


def compared_results(
    machine: Machine | None,
    value: PortMapping,
    known: Collection[ComparedResult] = (),
    besides: Collection[int] = (),
) -> list[ComparedResult]:
    """A mapping beside the newest results of its machine.

    `known`: those that are compared already. `besides`: rows to pass over.
    """
    if machine is None:
        return []
    rows = PortMappingRow.objects.filter(machine=machine, origin=PortMappingRow.Origin.RUN).exclude(
        pk__in=besides
    )
    comparisons = {result.other: result for result in known}
    return [
        comparisons.get(row.pk) or _compared(row, value)
        for row in rows.defer("report").order_by("-pk")[:MOST_OTHERS]
    ]


def _compared(row: PortMappingRow, value: PortMapping) -> ComparedResult:
    return ComparedResult(row.pk, *uops_conflicts(value, load_mapping(row)))


@transaction.atomic
def store_result(
    name: str,
    isa: ISA,
    value: PortMapping,
    compared: Collection[ComparedResult] = (),
    *,
    source: str = "",
    machine: Machine | None = None,
    run: Run | None = None,
    report: Mapping[str, Any] | None = None,
    note: str = "",
) -> PortMappingRow:
    """Store a mapping as `store_mapping` does, and what contradicts it.

    `compared`: what `compared_results` gave before this transaction, which keeps others from writing. Results
    that were stored since then are compared here: no other mapping is stored until it ends.
    """
    row = store_mapping(
        name,
        isa,
        value,
        origin=PortMappingRow.Origin.RUN,
        source=source,
        machine=machine,
        run=run,
        report=report,
        note=note,
    )
    _store_conflicts(row, compared_results(machine, value, compared, [row.pk]))
    return row


def _store_conflicts(row: PortMappingRow, compared: Sequence[ComparedResult]) -> None:
    ids = ids_of_schemes(row.isa_id, {conflict.scheme for result in compared for conflict in result.here})
    SchemeConflict.objects.bulk_create(
        [
            SchemeConflict(
                mapping_id=mapping,
                other_id=other,
                scheme_id=ids[conflict.scheme],
                here=conflict.here,
                there=conflict.there,
            )
            for result in compared
            for mapping, other, side in (
                (row.pk, result.other, result.here),
                (result.other, row.pk, result.there),
            )
            for conflict in side
        ],
        batch_size=BATCH,
    )
