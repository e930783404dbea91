"""The tables of a comparison as CSV: scores, biases by scheme, and all answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from anica_app.core.comparing.biases import SchemeBias
from anica_app.core.comparing.points import Points
from anica_app.exchange.comparison_rows import Answers
from anica_app.models import ComparedColumn
from inference.core.experiment import Experiment
from inference.core.metrics import Scores, Unit
from inference.core.tables import ExperimentTable
from inference.formats.csv_cells import written

_LINES = 2000
"""Lines of answers made at once."""


def score_table(found: Iterable[tuple[ComparedColumn, Scores]], of: int, unit: Unit) -> str:
    """A line per predictor; `of`: how many measurements there are, which `coverage` is a share of."""
    head = ("predictor", "kind", "unit", "n", "of", "coverage", "mape", "pearson", "kendall", "error")
    lines = [
        (
            column.name,
            column.kind,
            unit.value,
            scores.n,
            of,
            scores.n / of if of else None,
            scores.mape,
            scores.pearson,
            scores.kendall,
            column.error or None,
        )
        for column, scores in found
    ]
    return written(head, lines)


def scheme_table(schemes: Sequence[str], biases: Sequence[SchemeBias]) -> str:
    """A line per scheme: by which factor its experiments are predicted too slow (> 1) or too quick."""
    head = ("scheme", "n", "factor", "factor_alone", "free")
    return written(head, [(schemes[one.scheme], one.n, one.factor, one.alone, one.free) for one in biases])


def answer_lines(
    points: Points, table: ExperimentTable, names: Sequence[str], answers: Sequence[Answers]
) -> Iterator[str]:
    """Pieces of a file with a line per measurement: cycles measured and said, nothing where nothing is."""
    yield written(("experiment", "instructions", "measured", *names), [])
    for start in range(0, len(points), _LINES):
        rows = range(start, min(start + _LINES, len(points)))
        columns = [one.cycles[start : rows.stop].tolist() for one in answers]
        lines = [
            (
                experiment_text(table, at),
                int(points.lengths[at]),
                float(points.cycles[at]),
                *(None if math.isnan(column[at - start]) else column[at - start] for column in columns),
            )
            for at in rows
        ]
        yield "".join(written((), lines).splitlines(keepends=True)[1:])


def experiment_text(table: ExperimentTable, at: int) -> str:
    """An experiment as files of experiments write it: `2*add …; imul …`."""
    entries = slice(int(table.offsets[at]), int(table.offsets[at + 1]))
    terms = zip(table.scheme[entries].tolist(), table.count[entries].tolist(), strict=True)
    return str(Experiment(tuple((table.schemes[scheme], count) for scheme, count in terms)))
