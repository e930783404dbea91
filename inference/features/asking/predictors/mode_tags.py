"""Templates say in which mode predictors answer: a word beside a number, and a line below a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import template

from inference.features.asking.predictors.modes import WORDS, mode_of
from inference.models import Predictor

register = template.Library()


@register.filter
def in_mode_words(row: Predictor | None) -> str:
    """`in a loop`, `unrolled`, `either mode`; "" where nothing is known of the predictor."""
    return "" if row is None or not row.sort else WORDS[mode_of(row)]


@register.inclusion_tag("inference/predictors/modes.html")
def modes(rows: Iterable[Any]) -> dict[str, Any]:
    """What `inference/predictors/modes.html` needs.

    Args:
        rows: Predictors, or rows with a `name` and a `predictor`, None where it is not known.
    """
    groups: dict[str, list[str]] = {}
    for row in rows:
        predictor = row if isinstance(row, Predictor) else row.predictor
        name = getattr(row, "name", "") or ("" if predictor is None else predictor.name)
        groups.setdefault(in_mode_words(predictor) or "not known", []).append(name)
    differ = len(groups.keys() - {WORDS[""], "not known"}) > 1
    return {"mode_groups": groups, "modes_differ": differ}
