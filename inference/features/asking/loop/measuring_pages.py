"""Buttons that measure a loop, or what its core model lacks, and the fragments that follow them."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.views.decorators.http import require_GET, require_POST

from inference.features.asking.loop import measured
from inference.features.asking.loop.measured import MeasuredQuestion, context_of
from inference.features.asking.loop.missing import progress_context
from inference.features.asking.loop.query import LoopCpu, chosen_cpu, cpus
from inference.features.asking.loop.request import LoopQuestion
from inference.features.asking.loop.tools import (
    ASK,
    processor_of,
    tool_table,
    tools_address,
)
from inference.features.asking.predictors.query import row_for
from inference.features.learning.completing import request as completing
from inference.isa.blocks import block_of_hex
from inference.isa.code.block import Block, BlockError
from inference.measuring.blocks import BlockOptions
from inference.models import Machine, Run, StoredCoreModel
from inference.web.request_fields import ID_DIGITS, start_run
from inference.web.validation import RequestError, read, row_parameter


@require_GET
def measured_fragment(request: HttpRequest) -> HttpResponse:
    """The measurement alone, for a page that waits for it."""
    question, machine = _measured_question(request)
    return render(request, "inference/loop/measured.html", context_of(question, machine))


@require_POST
def measure_loop(request: HttpRequest) -> HttpResponse:
    """Start a measurement; the fragment for a script, else the page."""
    question, machine = _measured_question(request)
    config = {
        "machine": machine.pk,
        "isa": question.isa,
        "blocks": [question.code],
        "options": BlockOptions(mode=question.mode).as_json(),
    }
    run = start_run(request, measured.KIND, config, f"{machine.name}: measured loop")
    if run is not None and request.POST.get("fragment"):
        return render(request, "inference/loop/measured.html", context_of(question, machine))
    return redirect(LoopQuestion(**question.model_dump(exclude={"predicted"})).address())


@require_GET
def alignment_fragment(request: HttpRequest) -> HttpResponse:
    """The times at two positions alone, for a page that waits for them."""
    question, machine = _measured_question(request)
    return render(request, "inference/loop/alignment.html", measured.alignment_context(question, machine))


@require_POST
def measure_alignment(request: HttpRequest) -> HttpResponse:
    """Measure one copy of the loop at two positions in a cache line; the fragment for a script, else the
    page.
    """
    question, machine = _measured_question(request)
    for position in measured.POSITIONS:
        config = {
            "machine": machine.pk,
            "isa": question.isa,
            "blocks": [question.code],
            "options": BlockOptions(mode=question.mode, copies=1).as_json(),
            "offset": position,
        }
        name = f"{machine.name}: loop {position} bytes into a line"
        if start_run(request, measured.KIND, config, name) is None:
            break
    if request.POST.get("fragment"):
        return render(request, "inference/loop/alignment.html", measured.alignment_context(question, machine))
    return redirect(LoopQuestion(**question.model_dump(exclude={"predicted"})).address())


def _measured_question(request: HttpRequest) -> tuple[MeasuredQuestion, Machine]:
    """The question and the machine. Raises `RequestError` (400)."""
    question = read(MeasuredQuestion, (request.POST if request.method == "POST" else request.GET).dict())
    row = StoredCoreModel.objects.select_related("machine__isa").filter(name=question.cpu).first()
    if row is None or row.machine is None:
        raise RequestError("cpu", f"there is no core model {question.cpu!r} of a machine")
    code = _block(question.code, question.isa).hex
    return question.model_copy(update={"code": code}), row.machine


@require_GET
def tools_fragment(request: HttpRequest) -> HttpResponse:
    """The table of tools with the answers so far, for a page that waits for them."""
    return _tools(request, *_read_question(request))


@require_POST
def ask_tools(request: HttpRequest) -> HttpResponse:
    """Ask the tools that have not answered; the fragment for a script, else the page."""
    question, cpu, block = _read_question(request)
    offers = tool_table(question, cpu, block).unasked
    # What is installed here, for this CPU: nothing that the visitor has chosen.
    predictors = [row_for(offer.kind, offer.options or {}, may_choose=True).pk for offer in offers]
    config = {"predictors": predictors, "isa": block.isa, "blocks": [block.hex], "mode": question.mode}
    if predictors:
        start_run(request, ASK, {**config, "anew": False}, f"tools on {block.instructions[0].text}"[:90])
    if request.POST.get("fragment"):
        return _tools(request, question, cpu, block)
    return redirect(LoopQuestion(**question.model_dump(exclude={"predicted"})).address())


def _tools(request: HttpRequest, question: MeasuredQuestion, cpu: LoopCpu, block: Block) -> HttpResponse:
    context = {
        "tools": tool_table(question, cpu, block),
        "tools_url": tools_address(question),
        "fields": question.fields,
    }
    return render(request, "inference/loop/tools.html", context)


def _read_question(request: HttpRequest) -> tuple[MeasuredQuestion, LoopCpu, Block]:
    """The question, its CPU and its block. Raises `RequestError` (400)."""
    question = read(MeasuredQuestion, (request.POST if request.method == "POST" else request.GET).dict())
    cpu = chosen_cpu(cpus(question.isa), question.cpu)
    if cpu is None or not processor_of(cpu):
        raise RequestError("cpu", f"there is no core model {question.cpu!r} of a known processor")
    return question, cpu, _block(question.code, question.isa)


def _block(code: str, isa: str) -> Block:
    try:
        return block_of_hex(code, isa)
    except BlockError as error:
        raise RequestError("code", str(error), "machine code in hexadecimal digits") from error


@require_GET
def missing_fragment(request: HttpRequest) -> HttpResponse:
    """The progress of a completion; when it has ended, the page asks for the whole answer."""
    run = row_parameter(request, "run", Run.objects.filter(kind=completing.KIND))
    if run is None:
        raise RequestError("run", "there is no such completion of a core model")
    return render(request, "inference/loop/missing_run.html", progress_context(run))


@require_POST
def complete(request: HttpRequest) -> HttpResponse:
    """Start a completion; the fragment for a script, else the page."""
    row = get_object_or_404(StoredCoreModel, name=request.POST.get("cpu", ""))
    texts = request.POST.getlist("scheme")
    ids = [int(text) for text in texts if text.isdecimal() and len(text) <= ID_DIGITS]
    run = start_run(
        request, completing.KIND, {"core_model": row.pk, "schemes": ids}, f"{row.name}: missing instructions"
    )
    if run is not None and request.POST.get("fragment"):
        return render(request, "inference/loop/missing_run.html", progress_context(run))
    question = read(LoopQuestion, {"cpu": row.name, "code": request.POST.get("code", "")})
    return redirect(question.address())


urlpatterns = [
    path("loop/measured/", measured_fragment, name="loop-measured"),
    path("loop/measure/", measure_loop, name="loop-measure"),
    path("loop/alignment/", alignment_fragment, name="loop-alignment"),
    path("loop/alignment/measure/", measure_alignment, name="loop-alignment-measure"),
    path("loop/tools/", tools_fragment, name="loop-tools"),
    path("loop/tools/ask/", ask_tools, name="loop-tools-ask"),
    path("loop/missing/", missing_fragment, name="loop-missing"),
    path("loop/complete/", complete, name="loop-complete"),
]
