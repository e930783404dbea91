"""What is kept of a column, so that no page has to go through its answers: scores, biases, heat maps."""

from __future__ import annotations

from anica_app.core.comparing.biases import biases
from anica_app.core.comparing.points import Points, compared
from anica_app.exchange.comparison_rows import Answers, biases_json
from anica_app.figures.length_maps import length_maps
from inference.core.arrays import Bools
from inference.core.metrics import Unit, score
from inference.core.protocols import Json
from inference.core.tables import ExperimentTable
from inference.figures.heatmap import heat_map


def summarised(points: Points, table: ExperimentTable, answers: Answers, common: Bools) -> Json:
    """`scores` and, on what all columns answered, `common` by unit; `lacks` by reason; `biases` by scheme."""
    lengths = points.lengths
    scores, on_common = {}, {}
    for unit in Unit:
        found = compared(points.cycles, lengths, answers.cycles, unit)
        scores[unit.value] = score(found.measured, found.predicted).as_json()
        shared = common[found.at]
        on_common[unit.value] = (
            scores[unit.value]
            if shared.all()
            else score(found.measured[shared], found.predicted[shared]).as_json()
        )
    in_cycles = compared(points.cycles, lengths, answers.cycles, Unit.CYCLES)
    return {
        "scores": scores,
        "common": on_common,
        "lacks": [list(each) for each in answers.lacking()],
        "biases": biases_json(biases(table, in_cycles)),
    }


def pictured(points: Points, answers: Answers) -> Json:
    """{unit: {"all": heat map, "lengths": heat maps by length}}."""
    lengths = points.lengths
    pictures = {}
    for unit in Unit:
        found = compared(points.cycles, lengths, answers.cycles, unit)
        panels = length_maps(lengths[found.at], found.measured, found.predicted)
        pictures[unit.value] = {
            "all": heat_map(found.measured, found.predicted).as_json(),
            "lengths": [panel.as_json() for panel in panels],
        }
    return pictures
