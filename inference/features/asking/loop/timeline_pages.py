"""The timeline of a loop: its section of the answer, its data and its files."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from pydantic import Field

from inference.core.loop.simulated import CannotSimulateError
from inference.core.simulation.timeline import DEFAULT_ITERATIONS, MAX_ITERATIONS
from inference.features.asking.loop.answer import LoopAnswer, answer_of
from inference.features.asking.loop.document import TIMELINE_FORMATS, timeline_for
from inference.features.asking.loop.query import cpus
from inference.features.asking.loop.request import LoopQuestion
from inference.isa.code.block import BlockError
from inference.web.contributions import Context
from inference.web.file_answers import file_answer
from inference.web.validation import RequestError, read


class TimelineQuestion(LoopQuestion):
    """A loop whose first iterations are asked for."""

    iterations: int = Field(DEFAULT_ITERATIONS, ge=1, le=MAX_ITERATIONS, description="Simulated iterations.")


def timeline_context(_: HttpRequest, answer: LoopAnswer) -> Context:
    question = {**answer.question.model_dump(exclude_defaults=True), "code": answer.question.code}
    return {
        "fields": {**question, "cpu": answer.cpu.name, "piece": answer.number},
        "formats": {key: row.name for key, row in TIMELINE_FORMATS.items() if key != "json"},
        "iterations": DEFAULT_ITERATIONS,
        "most": MAX_ITERATIONS,
    }


def loop_timeline(request: HttpRequest, extension: str) -> HttpResponse:
    """The timeline in a format; where there is none, `problem` says why."""
    if extension not in TIMELINE_FORMATS:
        raise Http404(f"a timeline has no format {extension}: choose {', '.join(TIMELINE_FORMATS)}")
    fields = (request.POST if request.method == "POST" else request.GET).dict()
    fields.pop("csrfmiddlewaretoken", None)
    fields["code"] = fields.get("code", "").replace("\r\n", "\n")  # forms send these
    try:
        question = read(TimelineQuestion, fields)
        answer = answer_of(question, cpus())
    except (RequestError, BlockError) as error:
        return _without_timeline(str(error), status=400)
    try:
        loop = timeline_for(answer, question.iterations)
    except CannotSimulateError as error:
        # The page shows the reason in place of the drawing: nothing is wrong with its request.
        problem = f"{error}; measure what is missing to see it"
        return _without_timeline(problem, status=200 if extension == "json" else 400)
    file_format = TIMELINE_FORMATS[extension]
    if extension == "json":
        return HttpResponse(file_format.write(loop), content_type=file_format.content_type)
    return file_answer(file_format.write(loop), file_format.content_type, f"timeline {loop.title}", extension)


def _without_timeline(problem: str, status: int) -> HttpResponse:
    return JsonResponse({"problem": f"No timeline: {problem}."}, status=status)


urlpatterns = [path("loop/timeline.<str:extension>", loop_timeline, name="loop-timeline")]
