"""Mappings in lists, each with the evaluation that the list shows for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from inference.core.judging.accuracy import AccuracyJudgement, OtherCore
from inference.models import Evaluation, PortMapping, ResourceMapping
from inference.storage.evaluations import evaluations_of, judgement_of


@dataclass(frozen=True)
class ListedMapping:
    """A mapping in a list; `evaluation` is None if it has none."""

    mapping: PortMapping | ResourceMapping
    evaluation: Evaluation | None

    @property
    def source(self) -> str:
        """The measurements of the evaluation, as a text."""
        return source_label(self.evaluation) if self.evaluation else ""

    @property
    def judgement(self) -> AccuracyJudgement | OtherCore | None:
        return judgement_of(self.evaluation, self.mapping) if self.evaluation else None

    @property
    def url(self) -> str:
        return evaluation_url(self.evaluation) if self.evaluation else ""


def listed_mappings(rows: Iterable[Any]) -> list[ListedMapping]:
    """Join rows that have an `evaluation_id` with their evaluations (one query)."""
    rows = list(rows)
    evaluations = Evaluation.objects.select_related("experiment_set__machine__isa", "held_out_by")
    by_id = evaluations.defer("heat_map").in_bulk([row.evaluation_id for row in rows if row.evaluation_id])
    return [ListedMapping(row, by_id.get(row.evaluation_id)) for row in rows]


def source_label(evaluation: Evaluation) -> str:
    """The set's name, or the run whose held-out share the evaluation is on."""
    if evaluation.experiment_set is not None:
        return evaluation.experiment_set.name
    run = evaluation.held_out_by
    return "held out" if run is None else f"held out by {run.name}"


def best_score(row: PortMapping | ResourceMapping) -> ListedMapping | None:
    """A mapping with the best evaluation in cycles; None without one."""
    rows = [ListedMapping(row, evaluation) for evaluation in evaluations_of(row).filter(unit="cycles")]
    judged = (listed for listed in rows if not isinstance(listed.judgement, OtherCore))
    return next(judged, rows[0] if rows else None)


def evaluation_url(evaluation: Evaluation) -> str:
    if evaluation.mapping_id is None:
        page = reverse("resource-mapping", args=[evaluation.resource_mapping_id])
    else:
        page = reverse("mapping", args=[evaluation.mapping_id])
    source = evaluation.experiment_set_id or "held-out"
    return f"{page}?tab=accuracy&set={source}&unit={evaluation.unit}"
