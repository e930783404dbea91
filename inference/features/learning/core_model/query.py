"""What pages, API and shell read of core models: the bounds of a block, and the reason in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db.models import Count, QuerySet
from django.urls import reverse

from inference.core.core_model import Assumptions, CoreBound, CoreModel, CoreOverview, CorePrediction
from inference.core.core_model.dependences import ChainStep
from inference.core.core_model.nearest import CoreModelBlocks
from inference.core.protocols import Json
from inference.features.running.runs.kind_presentation import RunOutcome
from inference.isa.blocks import Block
from inference.isa.blocks.accesses import name_of_location
from inference.isa.targets import names_with_blocks
from inference.models import PortUsage, Run, SchemeLatencies, StoredCoreModel
from inference.storage.core_models import core_model_of
from inference.storage.core_overviews import overview_of
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
def _overview(pk: int, _created: datetime, _parts: tuple[int | None, ...]) -> CoreOverview:
    return overview_of(core_models().defer(None).get(pk=pk))


def outcomes(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """The core models that runs fill in (one query)."""
    rows = StoredCoreModel.objects.filter(run__in=runs).only("name", "run")
    return {
        row.run_id: RunOutcome(row.name, reverse("core-model", args=[row.pk]))
        for row in rows
        if row.run_id is not None
    }


_OTHERS = 2
"""Bounds that a sentence names beside the largest."""


@dataclass(frozen=True)
class BlockReason:
    """How many cycles a block takes by a core model, and why.

    `chain`: of each instruction (by its place), the cycles that it adds to the critical chain. `model`: as
    far as it concerns the block. `mode`: how the block is executed, in words.
    """

    row: StoredCoreModel
    prediction: CorePrediction
    sentence: str
    chain: Mapping[int, float]
    model: CoreModel
    assumed: Assumptions = field(default_factory=Assumptions)
    mode: str = ""

    @property
    def sources(self) -> Mapping[str, str]:
        return self.model.sources

    @property
    def shares(self) -> list[tuple[CoreBound, float]]:
        """The bounds with their share of the largest, in per cent."""
        most = self.prediction.cycles
        return [(bound, 100 * bound.cycles / most if most else 0.0) for bound in self.prediction.bounds]

    def as_json(self) -> Json:
        """For programs; instructions count from 1."""
        prediction = self.prediction
        bounds = prediction.bounds
        return {
            "model": self.row.name,
            "cycles": None if prediction.unknown else round(prediction.cycles, 4),
            "bound": str(bounds[0].kind) if bounds else None,
            "bounds": {str(bound.kind): round(bound.cycles, 4) for bound in bounds},
            "why": {str(bound.kind): bound.why for bound in bounds},
            "chain": [place + 1 for place in sorted(self.chain)],
            "steps": [
                {
                    "instruction": step.instruction + 1,
                    "through": name_of_location(step.location),
                    "source": step.source,
                    "destination": step.destination,
                    "cycles": round(step.cycles, 4),
                    "basis": step.basis or "measured",
                }
                for step in prediction.chain
            ],
            "text": self.sentence,
            "unknown": list(prediction.unknown),
            "taken": [
                {
                    "scheme": one.scheme,
                    "nearest": one.nearest,
                    "differs": one.differs,
                    "parts": list(one.parts),
                }
                for one in prediction.taken
            ],
            "lacking": list(prediction.lacking),
            "sources": dict(self.sources),
        }


def reasons_of(
    blocks: Sequence[Block], row: StoredCoreModel, assumed: Assumptions | None = None
) -> list[BlockReason]:
    """Of each block by a core model; a bounded number of queries."""
    given = assumed or Assumptions()
    texts = None if given.nearest else {text for block in blocks for text, _ in block.terms}
    explained = CoreModelBlocks(core_model_of(row, texts), given)
    return [_reason(block, row, explained, given) for block in blocks]


def _reason(
    block: Block, row: StoredCoreModel, explained: CoreModelBlocks, assumed: Assumptions
) -> BlockReason:
    found = explained.predict(block)
    chain: dict[int, float] = {}
    for step in found.chain:
        chain[step.instruction] = chain.get(step.instruction, 0.0) + step.cycles
    mode = "as the loop that it is" if block.closing else "in a loop" if assumed.in_loop else "unrolled"
    return BlockReason(row, found, sentence_of(block, found), chain, explained.model, assumed, mode)


def sentence_of(block: Block, found: CorePrediction) -> str:
    """`4.0 cycles: the chain rax → imul → rax; ports alone 1.0, front end 0.5`."""
    if not found.bounds:
        return "no bound is asked for"
    largest, *others = found.bounds
    why = _chain_words(block, largest.chain) if largest.chain else f"{largest.kind}, {largest.why}"
    beside = ", ".join(f"{bound.kind} {bound.cycles:.1f}" for bound in others[:_OTHERS])
    beside = f"; {beside}" if beside else ""
    at_least = "at least " if found.unknown else ""
    return f"{at_least}{largest.cycles:.1f} cycles: {why}{beside}"


def _chain_words(block: Block, chain: Sequence[ChainStep]) -> str:
    words = []
    for step in chain:
        mnemonic = block.instructions[step.instruction].text.split()[0]
        words += [name_of_location(step.location), mnemonic]
    return f"the chain {' → '.join([*words, words[0]])}"
