"""What pages, API and shell read of core models: the bounds of a block, and the reason in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db.models import Count, QuerySet
from django.urls import reverse

from inference.core.core_model import CoreOverview
from inference.core.protocols import Json
from inference.features.running.runs.kind_presentation import RunOutcome
from inference.formats.core_pictures import overview_of
from inference.isa.targets import names_with_blocks
from inference.models import PortUsage, Run, SchemeLatencies, StoredCoreModel
from inference.web.paging import having_words

COLUMNS = {"created": "id", "name": "name"}


def core_models(text: str = "") -> QuerySet[StoredCoreModel]:
    """All of them, newest first, without what is large; those with a text in name or note."""
    rows = StoredCoreModel.objects.select_related(
        "isa", "machine", "mapping", "latencies", "front_end", "run"
    ).defer("document", "mapping__report", "latencies__readings", "front_end__readings")
    return rows.filter(having_words(text)) if text else rows


def usable_core_models() -> QuerySet[StoredCoreModel]:
    """Those that blocks can be asked about."""
    return core_models().filter(isa__name__in=names_with_blocks())


@dataclass(frozen=True)
class CoreModelContents:
    """What a core model has: schemes with µops and with latencies, and the parts that it lacks."""

    described: int
    with_latencies: int
    has_front_end: bool
    sources: Mapping[str, str]

    @property
    def lacking(self) -> tuple[str, ...]:
        """The missing parts, in words."""
        parts = (
            ("ports and slots", self.described),
            ("latencies", self.with_latencies),
            ("front end", self.has_front_end),
        )
        return tuple(name for name, there in parts if not there)


def contents_of(rows: Sequence[StoredCoreModel]) -> list[CoreModelContents]:
    """Of each row of `core_models` (three queries, however many there are)."""
    imported = StoredCoreModel.objects.filter(pk__in=[row.pk for row in rows], document__isnull=False)
    documents: dict[int, Any] = dict(imported.values_list("pk", "document"))
    usages = PortUsage.objects.filter(mapping__in={row.mapping_id for row in rows}).order_by()
    described = dict(usages.values_list("mapping").annotate(n=Count("scheme", distinct=True)))
    timed = SchemeLatencies.objects.filter(latency_set__in={row.latencies_id for row in rows}).order_by()
    with_latencies = dict(timed.values_list("latency_set").annotate(n=Count("pk")))
    return [
        _of_document(documents[row.pk])
        if row.pk in documents
        else _of_parts(row, described.get(row.mapping_id, 0), with_latencies.get(row.latencies_id, 0))
        for row in rows
    ]


def _of_document(told: Json) -> CoreModelContents:
    mapping = told["mapping"]
    return CoreModelContents(
        0 if mapping is None else len(mapping["usage"]),
        len(told["latencies"]),
        told["front_end"] is not None,
        told["sources"],
    )


def _of_parts(row: StoredCoreModel, described: int, with_latencies: int) -> CoreModelContents:
    parts = {"ports and slots": row.mapping, "latencies": row.latencies, "front end": row.front_end}
    named = {name: part.name for name, part in parts.items() if part is not None}
    return CoreModelContents(described, with_latencies, row.front_end is not None, named)


def overview_at_hand(row: StoredCoreModel) -> CoreOverview:
    """What its ports run; of the models looked at last it is remembered."""
    return _overview(row.pk, row.created, (row.mapping_id, row.latencies_id, row.front_end_id))


@lru_cache(maxsize=16)
def _overview(pk: int, created: datetime, parts: tuple[int | None, ...]) -> CoreOverview:
    del created, parts  # with others it is another model
    return overview_of(core_models().defer(None).get(pk=pk))


def outcomes(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """The core models that runs fill in (one query)."""
    rows = StoredCoreModel.objects.filter(run__in=runs).only("name", "run")
    return {
        row.run_id: RunOutcome(row.name, reverse("core-model", args=[row.pk]))
        for row in rows
        if row.run_id is not None
    }
