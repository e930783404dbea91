"""Evaluations as pages and shell show them: of one mapping, on one set, and of tools that came with a set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import F, QuerySet

from inference.core.experiment import Measured
from inference.core.metrics import Scores, Unit
from inference.exchange.errors import UnknownNameError
from inference.exchange.evaluating import compare_tool
from inference.exchange.stored import load_measurements
from inference.models import Evaluation, ExperimentSet, PortMapping


def evaluations_of(mapping: PortMapping) -> QuerySet[Evaluation]:
    """All evaluations of a mapping, the ones on held-out experiments first, without their heat maps."""
    rows = mapping.evaluations.select_related("experiment_set", "held_out_by").defer("heat_map")
    return rows.order_by(F("held_out_by").desc(nulls_last=True), "experiment_set__name", "unit")


def evaluations_on(experiment_set: ExperimentSet) -> QuerySet[Evaluation]:
    """All evaluations on a set, the most accurate mapping first, without their heat maps."""
    return experiment_set.evaluations.select_related("mapping").defer("heat_map").order_by("unit", "mape")


@dataclass(frozen=True)
class ToolScores:
    """How well another tool's answers, which came with a set, agree with its measurements."""

    tool: str
    scores: Scores
    skipped: int


def scores_of_tools(measured: Sequence[Measured], unit: Unit = Unit.CYCLES) -> list[ToolScores]:
    """The scores of all tools that have answers among measurements, in the order of their first answer."""
    tools = dict.fromkeys(tool for result in measured for tool in result.annotations)
    found = []
    for tool in tools:
        comparison = compare_tool(tool, measured, unit)
        found.append(ToolScores(tool, comparison.scores, comparison.skipped))
    return found


def tool_scores(experiment_set: ExperimentSet, tool: str, unit: Unit) -> tuple[Scores, int]:
    """Scores and skipped measurements of one tool; raises `UnknownNameError` where it has no answer."""
    found = {entry.tool: entry for entry in scores_of_tools(load_measurements(experiment_set), unit)}
    if tool not in found:
        raise UnknownNameError(f"tool with answers in {experiment_set.name!r}", tool, list(found)[:3])
    return found[tool].scores, found[tool].skipped
