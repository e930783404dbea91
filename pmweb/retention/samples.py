"""Blocks that campaigns have looked at: those that a discovery rests on stay, the others are a record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Length

from anica_app.models import Campaign, GeneralisationStep, SampleBatch
from inference.models import Run
from pmweb.retention.trace import DAYS, Weight, breathe, days_ago
from pmweb.retention.whole_rows import weight_of

_AT_A_TIME = 200
_SIZE = Length("samples")


@dataclass(frozen=True)
class SampledBlocks:
    """Blocks of decisions other than the start and the last one taken, and those of minimisations.

    How many blocks there were, how many of them were interesting, and how much so, stays with each decision.
    """

    key: str = "samples"
    title: str = "Sampled blocks of campaigns"
    goes: str = "blocks of decisions on the way to a discovery, and of its minimisation"
    stays: str = "every decision with its counts, the blocks that a discovery rests on, all rounds"
    unit: str = DAYS

    def weigh(self, keep: int) -> Weight:
        """See `Trace`."""
        return sum((weight_of(rows, _SIZE) for rows in _surplus(keep)), Weight())

    def remove(self, keep: int) -> Weight:
        """See `Trace`."""
        gone = Weight()
        for rows in _surplus(keep):
            while found := list(rows.values_list("pk", "size")[:_AT_A_TIME]):
                rows.model._default_manager.filter(pk__in=[pk for pk, _ in found]).update(samples=b"")
                gone += Weight(len(found), sum(size for _, size in found))
                breathe()
        return gone


def _surplus(keep: int) -> tuple[QuerySet[Any], QuerySet[Any]]:
    before = days_ago(keep)
    over = Q(run__state__in=Run.FINAL, run__finished__lt=before) | Q(run__isnull=True, created__lt=before)
    campaigns = Campaign.objects.filter(over)
    taken_later = GeneralisationStep.objects.filter(
        generalisation=OuterRef("generalisation"), number__gt=OuterRef("number"), taken=True, n__gt=0
    )
    steps = GeneralisationStep.objects.filter(
        Q(taken=False) | Exists(taken_later), generalisation__campaign__in=campaigns
    ).exclude(kind=GeneralisationStep.Kind.START)
    batches = SampleBatch.objects.filter(
        campaign__in=campaigns, purpose=SampleBatch.Purpose.MINIMISATION, discovery=None
    )
    return _with_blocks(steps), _with_blocks(batches)


def _with_blocks(rows: QuerySet[Any]) -> QuerySet[Any]:
    with_blocks: QuerySet[Any] = rows.annotate(size=_SIZE).filter(size__gt=0).order_by("pk")
    return with_blocks
