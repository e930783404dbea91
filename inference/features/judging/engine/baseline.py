"""The columns of a comparison as a baseline, which later ones are held against."""

from __future__ import annotations

from collections.abc import Iterable

from inference.core.judging.sheet import ItemKind
from inference.features.judging.engine.query import (
    EVERYTHING,
    agreement_of,
    columns_of,
    key_of,
    sheet_of,
)
from inference.formats.accuracy_baseline import AccuracyBaseline, BaselineColumn, digest_of_blocks
from inference.models import BasicBlock, Comparison
from inference.storage.instruction_sets import code_isa

_ROWS = 500


def baseline_of(row: Comparison) -> AccuracyBaseline:
    """The scores in cycles of all columns; the digest is of the blocks or of the experiments' texts."""
    sheet = sheet_of(key_of(row))
    columns = [
        BaselineColumn(
            name=column.name,
            answered=int((sheet.columns[column.position].reasons == 0).sum()),
            mape=scores.mape,
            kendall=scores.kendall,
        )
        for column in columns_of(row)
        if (scores := agreement_of(column, EVERYTHING).scores)
    ]
    return AccuracyBaseline(
        set=row.source,
        blocks=row.n,
        digest=digest_of_blocks(_codes(row), code_isa(row.isa)),
        reference=row.reference or "measured",
        numbers=int((sheet.reference > 0).sum()),
        columns=columns,
    )


def _codes(row: Comparison) -> Iterable[bytes]:
    items = sheet_of(key_of(row)).items
    if row.item_kind == ItemKind.EXPERIMENTS:
        assert items.table is not None, "experiments have schemes"
        yield from (str(items.table.experiment(number)).encode() for number in range(len(items)))
        return
    ids = items.ids.tolist()
    for start in range(0, len(ids), _ROWS):
        rows = BasicBlock.objects.filter(pk__in=ids[start : start + _ROWS])
        yield from map(bytes, rows.values_list("code", flat=True))
