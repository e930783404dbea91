"""The predictors of a run, opened side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager

from inference.features.asking.predictors.query import opened
from inference.models import Predictor
from inference.predictors.panel import Panel
from inference.predictors.protocol import PredictorError
from inference.runs.errors import JobError
from inference.runs.kinds import Task


@contextmanager
def opened_panel(task: Task, ids: Sequence[int], isa: str) -> Iterator[Panel]:
    """The predictors of a run, asked side by side about blocks of one instruction set.

    Raises `JobError` where one cannot work here.
    """
    rows = {row.pk: row for row in Predictor.objects.filter(pk__in=ids)}
    gone = [pk for pk in ids if pk not in rows]
    if gone:
        raise JobError(f"the predictor {gone[0]} that this run needs has been deleted")
    with ExitStack() as stack:
        try:
            tools = [stack.enter_context(closing(opened(rows[pk], task, isa=isa))) for pk in ids]
        except PredictorError as error:
            raise JobError(str(error)) from error
        panel = Panel(tools, task.reporter.pulse)
        stack.callback(panel.close)
        yield panel
