"""A search that ended in a clash: what contradicts, and the same search without some of it."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Router, Schema
from pydantic import Field

from inference.api.errors import ProblemError
from inference.api.paging import Id
from inference.api.runs import RunOut
from inference.api.runs_of_kind import started
from inference.api.shapes import Input, SchemeText
from inference.models import Run
from inference.queries.going_on import (
    ALWAYS,
    MNEMONIC,
    SCHEME,
    config_without,
    drop_choices,
    name_without,
    search_of,
)

router = Router()


class DroppableOut(Schema):
    """A scheme that takes part in the clash; `alike` schemes have its mnemonic."""

    scheme: SchemeText
    mnemonic: str = Field(examples=["add"])
    alike: int = Field(examples=[12])


class ClashOut(Schema):
    """The newest contradiction in words, and the schemes that could be left out, the likeliest first."""

    text: str = Field(description="Empty where nothing clashed.", examples=["no mapping explains both …"])
    schemes: list[DroppableOut]


class Without(Input):
    """What is left out: a scheme that clashes, all with its mnemonic, or whatever clashes from now on."""

    scheme: str = Field(max_length=500, examples=["add GPR[64]:RW, GPR[64]:R"])
    what: Literal[SCHEME, MNEMONIC, ALWAYS] = SCHEME  # type: ignore[valid-type]


@router.get("/runs/{inference_id}/clash", response=ClashOut)
def get_clash(request: HttpRequest, inference_id: Id) -> Any:
    """The measurements that contradict each other, as far as a search by counter-examples met any."""
    search = search_of(_row(inference_id))
    return {"text": search.last_clash, "schemes": [vars(each) for each in drop_choices(search)]}


@router.post("/runs/{inference_id}/without", response={201: RunOut})
def go_on_without(request: HttpRequest, inference_id: Id, data: Without) -> Any:
    """Start a search that failed by a clash again, without what contradicts."""
    run = _row(inference_id)
    search = search_of(run)
    if run.state != Run.State.FAILED:
        raise ProblemError(
            409, f"The run is {run.state}", where="path inference_id", right="one that has failed"
        )
    if data.scheme not in {choice.scheme for choice in drop_choices(search)}:
        raise ProblemError(
            422, "That scheme does not clash", where="body scheme", right="one that GET /clash lists"
        )
    config = config_without(run, search, data.what, data.scheme)
    return started(request, "infer", config, name_without(run, data.what, data.scheme), forked_from=run)


def _row(inference_id: int) -> Run:
    return get_object_or_404(Run, pk=inference_id, kind="infer")
