"""How good each column of a comparison is, beside repeated measurements and tools among the columns."""

from __future__ import annotations

from dataclasses import dataclass

from inference.core.judging.accuracy import AccuracyJudgement, SheetFloor, floor_of, verdict
from inference.core.judging.sheet import EVERYTHING, AnswerSheet, ItemSelection


@dataclass(frozen=True)
class ColumnRoles:
    """What columns are for a verdict on others.

    `repeats`: positions of those that are the reference measured again; none where that is no measurement.
    `tools`: (name, position) of published tools.
    """

    repeats: tuple[int, ...] = ()
    tools: tuple[tuple[str, int], ...] = ()


def column_verdict(
    sheet: AnswerSheet, position: int, roles: ColumnRoles, selection: ItemSelection = EVERYTHING
) -> AccuracyJudgement:
    """The verdict on a column; the first repeated measurement says what measuring once more gives."""
    floor = floor_of(sheet, next((at for at in roles.repeats if at != position), None))
    if not selection.is_all:
        floor = SheetFloor(floor.items & sheet.among(selection), floor.spread, floor.kendall)
    return verdict(sheet, position, floor, dict(roles.tools))
