"""Mappings in lists, each with the evaluation that is shown for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse

from inference.models import Evaluation, PortMapping, ResourceMapping
from inference.storage.evaluations import evaluations_of


@dataclass(frozen=True)
class ListedMapping:
    """A mapping of a list with the evaluation shown for it."""

    mapping: PortMapping | ResourceMapping
    evaluation: Evaluation | None

    @property
    def source(self) -> str:
        """What the evaluation is on, in words."""
        return source_label(self.evaluation) if self.evaluation else ""

    @property
    def url(self) -> str:
        return evaluation_url(self.evaluation) if self.evaluation else ""


def listed_mappings(rows: Sequence[Any], evaluations: QuerySet[Evaluation]) -> list[ListedMapping]:
    """Rows with an `evaluation_id`, each with that of the `evaluations` (one query)."""
    by_id = evaluations.in_bulk([row.evaluation_id for row in rows if row.evaluation_id])
    return [ListedMapping(row, by_id.get(row.evaluation_id)) for row in rows]


def source_label(evaluation: Evaluation) -> str:
    """The set's name, or of which run the share is that it kept from training."""
    if evaluation.experiment_set is not None:
        return evaluation.experiment_set.name
    run = evaluation.held_out_by
    return "held out" if run is None else f"held out by {run.name}"


def best_score(row: PortMapping | ResourceMapping) -> tuple[float | None, str, str] | None:
    """The error in cycles that a mapping's page begins with, on what it was found, and the address of it."""
    best = evaluations_of(row).filter(unit="cycles").first()
    return None if best is None else (best.mape, source_label(best), evaluation_url(best))


def evaluation_url(evaluation: Evaluation) -> str:
    """The address of the evaluation's heat map."""
    if evaluation.mapping_id is None:
        page = reverse("resource-mapping", args=[evaluation.resource_mapping_id])
    else:
        page = reverse("mapping", args=[evaluation.mapping_id])
    source = evaluation.experiment_set_id or "held-out"
    return f"{page}?tab=accuracy&set={source}&unit={evaluation.unit}"
