"""API of a core's scheduler."""

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
    """The inferred scheduler of a core, with its policy as sentences in `words`."""

    core_model: str = Field(examples=["lab"])
    words: list[str] = Field(examples=[["8 slots are dispatched per cycle."]])


@router.get("/core-models/{core_model_id}/scheduler", response=SchedulerOut)
def get_scheduler(request: HttpRequest, core_model_id: Id) -> Any:
    """The scheduler of a core: its policy, the experiments behind it, and equally good policies.

    `scheduler` is null if none was inferred, for a `reason`. A run of kind `scheduler` infers one.
    """
    return scheduler_answer(get_object_or_404(StoredCoreModel, pk=core_model_id))
