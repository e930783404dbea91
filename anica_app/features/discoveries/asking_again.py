"""The tools of a campaign asked once more: who they are here, and which columns are their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from anica_app.features.discoveries.query import DiscoveryParts
from anica_app.features.discoveries.tool_commands import options_here, tool_and_core
from inference.features.asking.predictors.query import row_for
from inference.features.asking.questions.query import PredictorSaid
from inference.models import Predictor
from inference.predictors.protocol import PredictorError


def may_ask_again(found: DiscoveryParts) -> bool:
    """Whether one of the campaign's tools may be here, as far as that is known without looking."""
    return any(row.askable or options_here(row) for row in found.predictors)


def tools_here(found: DiscoveryParts) -> list[Predictor]:
    """The campaign's tools that can be asked here; for those of a file, the same tool and processor."""
    rows = [row if row.askable else _of_file(row) for row in found.predictors]
    return list(dict.fromkeys(row for row in rows if row is not None))


def _of_file(row: Predictor) -> Predictor | None:
    known = options_here(row)
    if known is None:
        return None
    try:
        return row_for(*known)
    except PredictorError:
        return None


def asked_again(found: DiscoveryParts, said: Sequence[PredictorSaid]) -> Mapping[int, int]:
    """{id of a predictor that was asked later: the place of the campaign's tool that it is}."""
    own = {row.pk: place for place, row in enumerate(found.predictors)}
    places = {one.predictor: own[one.predictor] for one in said if one.predictor in own}
    foreign = {tool_and_core(row): place for place, row in enumerate(found.predictors) if not row.askable}
    foreign.pop(None, None)
    others = [one.predictor for one in said if one.predictor not in own]
    if foreign and others:
        for pk, row in Predictor.objects.in_bulk(others).items():
            place = foreign.get(tool_and_core(row))
            if place is not None:
                places[pk] = place
    return places
