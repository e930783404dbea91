"""How far off an evaluation's predictions are for the experiments with each scheme, as it was stored."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from datetime import datetime

from inference.core.residuals import SchemeError
from inference.exchange.listing import schemes_from
from inference.models import Evaluation
from inference.queries.evaluations import listing_in

Errors = Mapping[str, SchemeError]
_Key = tuple[int, datetime]

_REMEMBERED = 128  # evaluations, of some thousand schemes each
_known: OrderedDict[_Key, Errors | None] = OrderedDict()
_lock = threading.Lock()


def residuals_in(evaluation: Evaluation) -> tuple[SchemeError, ...]:
    """One entry per scheme, the largest error first; reckoned anew where none were stored."""
    stored = stored_residuals([evaluation]).get(evaluation.pk)
    return tuple(listing_in(evaluation).schemes or ()) if stored is None else tuple(stored.values())


def stored_residuals(evaluations: Iterable[Evaluation]) -> dict[int, Errors]:
    """{evaluation: {scheme: error}} of the evaluations that have them stored, in at most one query.

    Only this part of the stored lists is read, and it is remembered per process: an evaluation that is made
    again has another date.
    """
    wanted = {(each.pk, each.computed): each.pk for each in evaluations}
    with _lock:
        found = {key: _known[key] for key in wanted if key in _known}
    missing = {key: pk for key, pk in wanted.items() if key not in found}
    if missing:
        rows = Evaluation.objects.filter(pk__in=missing.values())
        told = dict(rows.values_list("pk", "heat_map__listing__schemes"))
        fresh = {key: _errors(told.get(pk)) for key, pk in missing.items()}
        found |= fresh
        with _lock:
            _known.update(fresh)
            while len(_known) > _REMEMBERED:
                _known.popitem(last=False)
    return {wanted[key]: errors for key, errors in found.items() if errors is not None}


def _errors(told: list[list[object]] | None) -> Errors | None:
    return None if told is None else {each.scheme: each for each in schemes_from(told)}
