"""What the core model was off by on blocks of an accuracy check that are similar to the loop."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from inference.core.tables import Bools, Floats, Int64s
from inference.features.asking.loop.answer import LoopAnswer
from inference.models import ComparedColumn, Machine, Run, StoredCoreModel
from inference.predictors import core_model
from inference.storage.answer_sheets import read_sheet
from inference.web.contributions import Context

CHECK = "accuracy-check"
"""The kind of runs that measure blocks and compare predictions with them."""

MIN_BLOCKS = 20
"""Similar blocks of which a median says something; with fewer, blocks of other lengths and bounds count."""

_LENGTH_FACTOR = 2
_CACHED_CHECKS = 4


@dataclass(frozen=True, eq=False)
class CheckedBlocks:
    """The blocks of an accuracy check: relative `errors` (float64[n]), `lengths` in instructions (int64[n]),
    and for each the index of its largest bound in `bounds` (int64[n], below 0: not known).
    """

    errors: Floats
    lengths: Int64s
    bound: Int64s
    bounds: tuple[str, ...]


@dataclass(frozen=True)
class Confidence:
    """Errors on similar blocks in per cent of the measurement: the `median`, and the limit `most` of nine out
    of ten. `alike`: what the `blocks` have in common, in words.
    """

    median: float
    most: float
    blocks: int
    alike: str
    url: str


def confidence_in(row: StoredCoreModel, length: int, bound: str) -> Confidence | None:
    """What a core model was off by on blocks similar to one with this length and largest bound.

    Returns:
        None where no accuracy check of this core model is stored.
    """
    columns = ComparedColumn.objects.filter(
        predictor__kind=core_model.KIND,
        predictor__options__model=row.name,
        comparison__run__kind=CHECK,
        comparison__run__state=Run.State.DONE,
    )
    column = columns.order_by("-comparison", "position").values_list(
        "comparison", "position", "comparison__made", "comparison__run"
    )
    newest = column.first()
    if newest is None:
        return None
    comparison, position, created, run = newest
    checked = _checked_blocks(comparison, position, created)
    similar, alike = _similar(checked, length, bound)
    if not similar.any():
        return None
    errors = 100 * np.abs(checked.errors[similar])
    median, ninetieth = np.quantile(errors, (0.5, 0.9))
    return Confidence(
        float(median), float(ninetieth), int(similar.sum()), alike, reverse("comparison", args=[run])
    )


@lru_cache(maxsize=_CACHED_CHECKS)
def _checked_blocks(comparison: int, position: int, _created: object) -> CheckedBlocks:
    sheet = read_sheet(comparison)
    points = sheet.compare(position)
    bounds = sheet.items.bounds
    numbers = np.full(len(points), -1, dtype=np.int64) if bounds is None else bounds.number[points.at]
    names = () if bounds is None else tuple(bounds.names)
    return CheckedBlocks(points.errors, sheet.items.lengths[points.at], numbers, names)


def _similar(checked: CheckedBlocks, length: int, bound: str) -> tuple[Bools, str]:
    """The most similar blocks that are enough, and what they have in common."""
    every = np.ones(len(checked.errors), dtype=np.bool_)
    as_long = (checked.lengths * _LENGTH_FACTOR >= length) & (checked.lengths <= length * _LENGTH_FACTOR)
    number = checked.bounds.index(bound) if bound in checked.bounds else None
    has_bound = every if number is None else checked.bound == number
    limited = "" if number is None else f"limited by {bound}"
    size = f"{-(-length // _LENGTH_FACTOR)} to {length * _LENGTH_FACTOR} instructions"
    for selection, words in (
        (has_bound & as_long, (limited, size)),
        (has_bound, (limited,)),
        (as_long, (size,)),
    ):
        if selection.sum() >= MIN_BLOCKS:
            return selection, ", ".join(filter(None, words))
    return every, ""


def confidence_context(request: HttpRequest, answer: LoopAnswer) -> Context | None:
    """The context of `inference/loop/confidence.html`; None for core models that no machine can check."""
    del request
    row = answer.cpu.row
    machine = row.machine
    if answer.cpu.is_recorded or machine is None or not answer.analysis.bounds:
        return None
    bound = str(answer.analysis.bounds[0].kind)
    confidence = confidence_in(row, len(answer.block.listing), bound)
    can_check = machine.kind != Machine.Kind.PUBLISHED
    check_url = f"{reverse('accuracy-check-new')}?{urlencode({'machine': machine.pk})}" if can_check else ""
    return {"confidence": confidence, "check_url": check_url}
