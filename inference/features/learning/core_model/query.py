"""Core models and their explanations of blocks, for pages, API and shell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db.models import Count, QuerySet
from django.urls import reverse

from inference.core.core_model import Assumptions, CoreModel, CoreOverview, CorePrediction
from inference.core.core_model.dependences import ChainStep
from inference.core.core_model.nearest import CoreModelBlocks
from inference.core.core_model.prediction import SchemeSubstitution
from inference.core.protocols import Json
from inference.features.running.runs.kind_presentation import RunOutcome
from inference.isa.blocks import name_of_location
from inference.isa.code.block import Block
from inference.isa.targets import names_with_blocks
from inference.models import PortUsage, Run, SchemeLatencies, StoredCoreModel
from inference.storage.core_models import core_model_of, overview_of
from inference.web.paging import having_words

COLUMNS = {"created": "id", "name": "name"}


_LISTED_BOUNDS = 2
"""Number of bounds that a sentence names besides the largest."""


def core_models(text: str = "") -> QuerySet[StoredCoreModel]:
    """Core models without their large fields, filtered by a text in name or note."""
    rows = StoredCoreModel.objects.select_related(
        "isa", "machine", "mapping", "latencies", "front_end", "run"
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


def cached_overview(row: StoredCoreModel) -> CoreOverview:
    """What the model's ports execute; the last 16 are cached."""
    return _overview(row.pk, row.created, (row.mapping_id, row.latencies_id, row.front_end_id))


@lru_cache(maxsize=16)
def _overview(pk: int, _created: datetime, _parts: tuple[int | None, ...]) -> CoreOverview:
    return overview_of(core_models().defer(None).get(pk=pk))


def outcomes(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """{run id: core model} of profiling runs (one query)."""
    rows = StoredCoreModel.objects.filter(run__in=runs).only("name", "run")
    return {
        row.run_id: RunOutcome(row.name, reverse("core-model", args=[row.pk]))
        for row in rows
        if row.run_id is not None
    }


@dataclass(frozen=True)
class BlockReason:
    """A core model's explanation of a block's time.

    `chain`: {index of an instruction: cycles that it adds to the critical chain}. `model`: restricted to the
    block's schemes.
    """

    row: StoredCoreModel
    prediction: CorePrediction
    sentence: str
    chain: Mapping[int, float]
    model: CoreModel

    @property
    def sources(self) -> Mapping[str, str]:
        return self.model.sources

    def as_json(self) -> Json:
        """The API's answer; instructions count from 1."""
        prediction = self.prediction
        bounds = prediction.bounds
        return {
            "model": self.row.name,
            "cycles": None if prediction.unknown else round(prediction.cycles, 4),
            "bound": str(bounds[0].kind) if bounds else None,
            "bounds": {str(bound.kind): round(bound.cycles, 4) for bound in bounds},
            "why": {str(bound.kind): bound.why for bound in bounds},
            "chain": [place + 1 for place in sorted(self.chain)],
            "steps": [step_json(step) for step in prediction.chain],
            "text": self.sentence,
            "unknown": list(prediction.unknown),
            "taken": [substitution_json(substitution) for substitution in prediction.substitutions],
            "lacking": list(prediction.lacking),
            "sources": dict(self.sources),
        }


def step_json(step: ChainStep) -> Json:
    """A step in the shape of `ChainStepOut`."""
    return {
        "instruction": step.instruction + 1,
        "through": name_of_location(step.location),
        "source": step.source,
        "destination": step.destination,
        "cycles": round(step.cycles, 4),
        "basis": step.basis or "measured",
    }


def substitution_json(substitution: SchemeSubstitution) -> Json:
    """A substitution in the shape of `SubstitutionOut`."""
    return {
        "scheme": substitution.scheme,
        "nearest": substitution.nearest,
        "differs": substitution.differs,
        "parts": list(substitution.parts),
    }


def reasons_of(
    blocks: Sequence[Block], row: StoredCoreModel, assumed: Assumptions | None = None
) -> list[BlockReason]:
    """The explanation of each block, in a bounded number of queries."""
    assumptions = assumed or Assumptions()
    texts = None if assumptions.nearest else {text for block in blocks for text, _ in block.terms}
    predictor = CoreModelBlocks(core_model_of(row, texts), assumptions)
    return [_reason(block, row, predictor) for block in blocks]


def _reason(block: Block, row: StoredCoreModel, predictor: CoreModelBlocks) -> BlockReason:
    prediction = predictor.predict(block)
    chain: dict[int, float] = {}
    for step in prediction.chain:
        chain[step.instruction] = chain.get(step.instruction, 0.0) + step.cycles
    return BlockReason(row, prediction, sentence_of(block, prediction), chain, predictor.model)


def sentence_of(block: Block, prediction: CorePrediction) -> str:
    """A sentence such as "4.0 cycles: the chain rax → imul → rax; ports alone 1.0, front end 0.5"."""
    if not prediction.bounds:
        return "all bounds are left out"
    largest, *smaller_bounds = prediction.bounds
    reason = _chain_text(block, largest.chain) if largest.chain else f"{largest.kind}, {largest.why}"
    smaller = ", ".join(f"{bound.kind} {bound.cycles:.1f}" for bound in smaller_bounds[:_LISTED_BOUNDS])
    smaller = f"; {smaller}" if smaller else ""
    at_least = "at least " if prediction.unknown else ""
    return f"{at_least}{largest.cycles:.1f} cycles: {reason}{smaller}"


def _chain_text(block: Block, chain: Sequence[ChainStep]) -> str:
    words = []
    for step in chain:
        mnemonic = block.instructions[step.instruction].text.split()[0]
        words += [name_of_location(step.location), mnemonic]
    return f"the chain {' → '.join([*words, words[0]])}"
