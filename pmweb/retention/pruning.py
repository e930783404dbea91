"""Looking at the traces of old work, and removing them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from pmweb.models import Pruning
from pmweb.retention.policy import FOR_EVER, TRACES, policy
from pmweb.retention.trace import Trace, Weight


def prune(row: Pruning, keep: Mapping[str, int] | None = None) -> Pruning:
    """Do what a row asks for, trace by trace; what was done is noted after each.

    `keep` replaces what the settings say. Doing it twice, or in two processes, removes nothing else.
    """
    wanted = {**policy(), **(keep or {})}
    report = []
    for trace in TRACES:
        kept = wanted[trace.key]
        if kept == FOR_EVER:
            continue
        weight = trace.weigh(kept) if row.dry else trace.remove(kept)
        report.append(_line(trace, kept, weight))
        Pruning.objects.filter(pk=row.pk).update(report=report)
    Pruning.objects.filter(pk=row.pk).update(ended=timezone.now())
    row.refresh_from_db()
    return row


def _line(trace: Trace, kept: int, weight: Weight) -> dict[str, Any]:
    return {
        "key": trace.key,
        "title": trace.title,
        "keep": kept,
        "unit": trace.unit,
        "rows": weight.rows,
        "size": weight.size,
    }
