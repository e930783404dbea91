"""Who competes with whom in a set of experiments, for programs."""

from __future__ import annotations

import math
from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from inference.features.judging.conflicts.query import ConflictPair, SetConflicts, conflicts_in
from inference.features.judging.conflicts.request import ConflictsRequest
from inference.isa.search import SearchError
from inference.models import ExperimentSet
from inference.web.api.errors import ProblemError
from inference.web.api.shapes import Cycles, Ref, SchemeText, parameter, ref
from inference.web.validation import Id

router = Router()
PAIRS = 1000
"""Pairs in an answer."""


class AloneInSetOut(Schema):
    """A scheme with what one instance takes."""

    scheme_id: Id
    scheme: SchemeText
    cycles: Cycles
    experiment_id: Id


class ConflictRowOut(Schema):
    """A row of the matrix."""

    schemes: list[AloneInSetOut]


class ConflictsOut(Schema):
    """Shares between the rows, from 0 (side by side) to 1 (one waits for the other); null: not measured."""

    experiment_set: Ref
    pairs: int = Field(description="Pairs that were measured.", examples=[4950])
    competing: int = Field(description="Pairs with a share of at least a quarter.", examples=[612])
    left_out: int = Field(description="Schemes in pairs for which there is no row.", examples=[0])
    rows: list[ConflictRowOut] = Field(description="Clustered: those that compete stand side by side.")
    shares: list[list[float | None]] = Field(examples=[[[None, 1.0], [1.0, None]]])


class ConflictPairOut(Schema):
    """Two schemes alone, and one of each together."""

    first: AloneInSetOut
    second: AloneInSetOut
    cycles: Cycles
    experiment_id: Id = Field(description="The experiment with both.")
    share: float = Field(
        description="Part of the quicker one's cycles that is added to the slower one's.", examples=[1.0]
    )


@router.get("/sets/{set_id}/conflicts", response=ConflictsOut)
def get_conflicts(request: HttpRequest, set_id: Id, asked: Query[ConflictsRequest]) -> Any:
    """Who competes with whom, from schemes alone and in pairs: no port mapping is needed."""
    row = get_object_or_404(ExperimentSet.objects.select_related("isa"), pk=set_id)
    return conflicts_json(row, _conflicts(row, asked), asked)


@router.get("/sets/{set_id}/conflicts/{scheme_id}", response=list[ConflictPairOut])
def list_competitors(
    request: HttpRequest,
    set_id: Id,
    scheme_id: Id,
    other: int | None = parameter(None, ge=0, le=2**63 - 1, examples=[None]),
) -> Any:
    """The pairs of a scheme, the largest share first; only that with the scheme of the number `other`."""
    row = get_object_or_404(ExperimentSet.objects.select_related("isa"), pk=set_id)
    found = _conflicts(row, ConflictsRequest())
    texts = {pk: text for text, pk in found.ids.items()}
    if scheme_id not in texts:
        raise ProblemError(
            404, f"scheme {scheme_id} was not measured alone in {row.name!r}", where="path scheme_id"
        )
    pairs = found.pairs_of(texts[scheme_id])
    if other is not None:
        pairs = [pair for pair in pairs if found.ids.get(pair.second) == other]
    return [pair_json(found, pair) for pair in pairs[:PAIRS]]


def conflicts_json(row: ExperimentSet, found: SetConflicts, asked: ConflictsRequest) -> dict[str, Any]:
    """The matrix as an object."""
    members, shares = found.rows(asked.by)
    return {
        "experiment_set": ref(row),
        "pairs": len(found.conflicts.pairs),
        "competing": found.conflicts.competing,
        "left_out": found.left_out,
        "rows": [{"schemes": [_alone(found, scheme) for scheme in each]} for each in members],
        "shares": [
            [None if math.isnan(share) else round(share, 4) for share in line] for line in shares.tolist()
        ],
    }


def pair_json(found: SetConflicts, pair: ConflictPair) -> dict[str, Any]:
    """A pair as an object."""
    return {
        "first": _alone(found, pair.first),
        "second": _alone(found, pair.second),
        "cycles": pair.together.cycles,
        "experiment_id": pair.together.experiment_id,
        "share": round(pair.share, 4),
    }


def _alone(found: SetConflicts, scheme: str) -> dict[str, Any]:
    time = found.alone(scheme)
    return {
        "scheme_id": found.ids[scheme],
        "scheme": scheme,
        "cycles": time.cycles,
        "experiment_id": time.experiment_id,
    }


def _conflicts(row: ExperimentSet, asked: ConflictsRequest) -> SetConflicts:
    try:
        return conflicts_in(row, asked)
    except SearchError as error:
        raise ProblemError(422, str(error), where="query q", right="a search for schemes") from error
