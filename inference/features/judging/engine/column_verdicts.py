"""How good each column of a comparison is: what counts as a repeated measurement, and as a published tool."""

from __future__ import annotations

from collections.abc import Sequence

from inference.core.judging.accuracy import AccuracyJudgement, SheetFloor, floor_of, verdict
from inference.core.judging.sheet import EVERYTHING, AnswerSheet, ItemSelection
from inference.models import ComparedColumn
from inference.predictors.kinds import KINDS

PUBLISHED = frozenset(kind.name for kind in KINDS.values() if not kind.is_uncontained)
"""Kinds of predictors that others have published."""

Kind = ComparedColumn.Kind


def column_verdict(
    sheet: AnswerSheet,
    position: int,
    kinds: Sequence[tuple[str, str, str]],
    selection: ItemSelection = EVERYTHING,
) -> AccuracyJudgement:
    """The verdict on a column; `kinds`: (kind, kind of its predictor, name) of each column.

    The first other measurement of the items says what repeating them gives.
    """
    again = next((at for at, (kind, _, _) in enumerate(kinds) if kind == Kind.SET and at != position), None)
    tools = {
        name: at
        for at, (kind, predictor, name) in enumerate(kinds)
        if kind == Kind.TOOL or predictor in PUBLISHED
    }
    floor = floor_of(sheet, again)
    if not selection.is_all:
        floor = SheetFloor(floor.items & sheet.among(selection), floor.spread, floor.kendall)
    return verdict(sheet, position, floor, tools)
