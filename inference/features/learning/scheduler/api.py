"""A core's scheduler for programs."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Router
from pydantic import Field

from inference.features.learning.scheduler.query import scheduler_answer
from inference.formats.scheduler_json import SchedulerRecord
from inference.models import StoredCoreModel
from inference.web.validation import Id

router = Router()


class SchedulerOut(SchedulerRecord):
    """What is known of a core's scheduler, with the policy in `words`."""

    core_model: str = Field(examples=["lab"])
    words: list[str] = Field(examples=[["8 slots are dispatched per cycle."]])


@router.get("/core-models/{core_model_id}/scheduler", response=SchedulerOut)
def get_scheduler(request: HttpRequest, core_model_id: Id) -> Any:
    """How a core gives µops to ports, what that rests on, and what fits as well.

    `scheduler` is null where none is known, for a `reason`. A run of the kind `scheduler` looks for one.
    """
    return scheduler_answer(get_object_or_404(StoredCoreModel, pk=core_model_id))
