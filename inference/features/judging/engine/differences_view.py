"""Views of the differences of a source from the reference: shares within tolerances, means by scheme."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from django.urls import reverse

from inference.core.metrics import DIGITS, Residuals, SchemeError
from inference.core.tables import Floats
from inference.features.judging.engine.query import (
    ComparisonPart,
    SheetKey,
    ViewQuestion,
    key_of,
    points_of,
    sheet_of,
)
from inference.features.judging.engine.tables import LinkedText, code, number, table_of
from inference.storage.rows import ids_of_schemes
from inference.web.published_page import PublishedTable

TOLERANCES = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
"""Per cent of the reference."""
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Closeness:
    """For `n` items, the mean absolute difference in per cent of the reference, and how many are within each
    of `TOLERANCES`.
    """

    n: int
    mean: float
    within: tuple[int, ...]

    @classmethod
    def of(cls, sizes: Floats) -> Closeness:
        """`sizes`: differences in per cent, float64[n] ≥ 0, n > 0."""
        counts = (np.count_nonzero(sizes <= tolerance + _ROUNDING) for tolerance in TOLERANCES)
        return cls(len(sizes), round(float(sizes.mean()), DIGITS), tuple(map(int, counts)))

    def share(self, tolerance: float) -> float:
        """Per cent of the items within a tolerance, which is one of `TOLERANCES`."""
        return 100 * self.within[TOLERANCES.index(tolerance)] / self.n


def closeness(question: ViewQuestion) -> Closeness | None:
    """The closeness of all compared items; None without any."""
    sizes = 100 * np.abs(question.points.errors)
    return Closeness.of(sizes) if len(sizes) else None


def closeness_by_length(question: ViewQuestion) -> dict[int, Closeness]:
    """{number of instructions: closeness}, in ascending order."""
    points = question.points
    sizes, lengths = 100 * np.abs(points.errors), sheet_of(key_of(question.row)).items.lengths[points.at]
    return {length: Closeness.of(sizes[lengths == length]) for length in np.unique(lengths).tolist()}


def within_tables(question: ViewQuestion) -> list[PublishedTable]:
    columns = (
        (number("instructions", 0), lambda row: row[0]),
        (number("experiments", 0), lambda row: row[1].n),
        (number("mean absolute difference %"), lambda row: row[1].mean),
        *(
            (number(f"within {tolerance:g} %"), lambda row, at=tolerance: round(row[1].share(at), DIGITS))
            for tolerance in TOLERANCES
        ),
    )
    title = f"{question.column.name} and {question.reference} by number of instructions"
    return [table_of("within", title, closeness_by_length(question).items(), *columns)]


def differences_by_scheme(question: ViewQuestion) -> tuple[SchemeError, ...]:
    """Mean differences of the experiments that contain a scheme, the largest first."""
    return _by_scheme(key_of(question.row), question.column.position, question.part)


@lru_cache(maxsize=16)
def _by_scheme(key: SheetKey, position: int, part: ComparisonPart) -> tuple[SchemeError, ...]:
    points, table, residuals = points_of(key, position, part), sheet_of(key).items.table, Residuals()
    if table is not None and len(table):
        residuals.add(table, points.at, points.reference, points.predicted)
    return residuals.by_scheme


def difference_tables(question: ViewQuestion) -> list[PublishedTable]:
    rows, isa = differences_by_scheme(question), question.row.isa_id
    ids = {} if isa is None else ids_of_schemes(isa, (row.scheme for row in rows))

    def linked(row: SchemeError) -> LinkedText:
        return LinkedText(row.scheme, reverse("scheme", args=[ids[row.scheme]]) if row.scheme in ids else "")

    columns = (
        (code("scheme"), linked),
        (number("experiments", 0), lambda row: row.n),
        (number("mean difference %"), lambda row: row.signed),
        (number("mean absolute difference %"), lambda row: row.absolute),
    )
    title = f"{question.column.name} against {question.reference} by scheme"
    return [table_of("differences", title, rows, *columns)]
