"""Core models for pages, API and shell."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db.models import Count, QuerySet
from django.urls import reverse

from inference.core.core_model import CoreModel
from inference.core.core_model.differences import ComparedCore
from inference.core.protocols import Json
from inference.features.library.gallery.query import recorded_core
from inference.features.running.runs.kind_presentation import RunOutcome
from inference.isa.targets import names_with_blocks
from inference.models import ISA, PortUsage, Run, SchemeLatencies, StoredCoreModel
from inference.storage.core_models import core_model_of, overview_of
from inference.web.paging import having_words

COLUMNS = {"created": "id", "name": "name"}


def core_models(text: str = "") -> QuerySet[StoredCoreModel]:
    """Core models without their large fields, filtered by a text in name or note."""
    rows = StoredCoreModel.objects.select_related(
        "isa", "machine__isa", "mapping", "latencies", "front_end", "run"
    ).defer("document", "mapping__report", "latencies__readings", "front_end__readings")
    return rows.filter(having_words(text)) if text else rows


def usable_core_models() -> QuerySet[StoredCoreModel]:
    """Core models of instruction sets that have basic blocks."""
    return core_models().filter(isa__name__in=names_with_blocks())


@dataclass(frozen=True)
class CoreModelContents:
    """The content of a core model: numbers of schemes with µops and with latencies, and sources of the
    parts.
    """

    described: int
    with_latencies: int
    has_front_end: bool
    sources: Mapping[str, str]

    @property
    def lacking(self) -> tuple[str, ...]:
        """The names of missing parts."""
        parts = (
            ("ports and slots", self.described),
            ("latencies", self.with_latencies),
            ("front end", self.has_front_end),
        )
        return tuple(name for name, there in parts if not there)


def contents_of(rows: Sequence[StoredCoreModel]) -> list[CoreModelContents]:
    """The content of each row of `core_models`, in three queries."""
    imported = StoredCoreModel.objects.filter(pk__in=[row.pk for row in rows], document__isnull=False)
    documents: dict[int, Any] = dict(imported.values_list("pk", "document"))
    usages = PortUsage.objects.filter(mapping__in={row.mapping_id for row in rows}).order_by()
    described = dict(usages.values_list("mapping").annotate(n=Count("scheme", distinct=True)))
    timed = SchemeLatencies.objects.filter(latency_set__in={row.latencies_id for row in rows}).order_by()
    with_latencies = dict(timed.values_list("latency_set").annotate(n=Count("pk")))
    return [
        document_contents(documents[row.pk])
        if row.pk in documents
        else _of_parts(row, described.get(row.mapping_id, 0), with_latencies.get(row.latencies_id, 0))
        for row in rows
    ]


def document_contents(document: Json) -> CoreModelContents:
    """The content of a core model that is a document."""
    mapping = document["mapping"]
    return CoreModelContents(
        0 if mapping is None else len(mapping["usage"]),
        len(document["latencies"]),
        document["front_end"] is not None,
        document["sources"],
    )


def _of_parts(row: StoredCoreModel, described: int, with_latencies: int) -> CoreModelContents:
    parts = {"ports and slots": row.mapping, "latencies": row.latencies, "front end": row.front_end}
    named = {name: part.name for name, part in parts.items() if part is not None}
    return CoreModelContents(described, with_latencies, row.front_end is not None, named)


def compared_core(row: StoredCoreModel) -> ComparedCore:
    """What the model's ports execute, its front end and its memory; the last ones are cached."""
    if not row._state.adding:
        return _compared_core(row.pk, row.created, (row.mapping_id, row.latencies_id, row.front_end_id))
    isa = ISA.objects.filter(name=row.isa.name).values_list("pk", "created").first()
    return _recorded_core(row.name, isa)


@lru_cache(maxsize=16)
def _compared_core(pk: int, _created: datetime, _parts: tuple[int | None, ...]) -> ComparedCore:
    return _core_of(core_models().defer(None).get(pk=pk))


@lru_cache(maxsize=16)
def _recorded_core(name: str, _isa: tuple[int, datetime] | None) -> ComparedCore:
    core = recorded_core(name)
    assert core is not None, "only recorded cores have unsaved rows"
    return _core_of(core.row)


def _core_of(row: StoredCoreModel) -> ComparedCore:
    model = core_model_of(row)
    has_memory = row.latencies is not None or bool(model.latencies)
    return ComparedCore(overview_of(row, model), model.memory if has_memory else None)


def comparable_cores(
    first: StoredCoreModel, second: StoredCoreModel
) -> tuple[ComparedCore, ComparedCore, int]:
    """Two cores with their kinds of instructions over the schemes that both describe, and how many these are.

    A kind over all schemes of each core would differ by what was measured, not by what the cores do.
    Latencies are those of schemes for which both have some, unless one core has none.
    """
    rows = [row if row._state.adding else core_models().defer(None).get(pk=row.pk) for row in (first, second)]
    models = [core_model_of(row) for row in rows]
    usages = [{} if model.mapping is None else model.mapping.usage for model in models]
    schemes = sorted(usages[0].keys() & usages[1].keys())
    timed = set(models[0].latencies.keys() & models[1].latencies.keys())
    if not all(model.latencies for model in models):
        timed = {scheme for model in models for scheme in model.latencies}
    cores = [
        replace(compared_core(row), overview=overview_of(row, _part(model, schemes, timed)))
        for row, model in zip(rows, models, strict=True)
    ]
    return cores[0], cores[1], len(schemes)


def _part(model: CoreModel, schemes: Collection[str], timed: Collection[str]) -> CoreModel:
    """The ports of some schemes and the latencies of others."""
    mapping = None if model.mapping is None else model.mapping.restricted(schemes)
    latencies = {text: cycles for text, cycles in model.latencies.items() if text in timed}
    return replace(model, mapping=mapping, latencies=latencies)


def outcomes(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """{run id: core model} of profiling runs (one query)."""
    rows = StoredCoreModel.objects.filter(run__in=runs).only("name", "run")
    return {
        row.run_id: RunOutcome(row.name, reverse("core-model", args=[row.pk]))
        for row in rows
        if row.run_id is not None
    }
