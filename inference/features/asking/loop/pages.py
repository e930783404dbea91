"""The page *Explain a loop*, and its answer alone for the editor."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any
from urllib.parse import quote, unquote, urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import path, reverse

from inference.core.loop.values import Remedy
from inference.core.protocols import Json
from inference.features.asking.loop.answer import NO_CPU, LoopAnswer, answer_of
from inference.features.asking.loop.comparison import comparison_context
from inference.features.asking.loop.confidence import confidence_context
from inference.features.asking.loop.dependency_graph import graph_context
from inference.features.asking.loop.instruction_table import bounds_context, instructions_context
from inference.features.asking.loop.measured import measured_context
from inference.features.asking.loop.missing import missing_context
from inference.features.asking.loop.query import LoopCpu, chosen_cpu, cpus
from inference.features.asking.loop.request import TEXT_LIMIT, LoopQuestion
from inference.features.asking.loop.timeline_pages import timeline_context
from inference.features.asking.loop.tools import tools_context
from inference.features.library.gallery.query import recorded_core
from inference.isa.blocks import Piece, block_of_hex, ranked_pieces
from inference.isa.code.block import BlockError
from inference.isa.targets import DEFAULT
from inference.models import Machine
from inference.web.contributions import Context
from inference.web.validation import RequestError, read

EXAMPLE = """\
.loop:
    movzx   ecx, byte ptr [rsi]     # one byte of the text
    xor     rax, rcx
    imul    rax, rax, 16777619      # FNV-1a: the next hash needs this one
    inc     rsi
    cmp     rsi, rdi
    jne     .loop"""

_COOKIE = "loop-cpu"
_COOKIE_SECONDS = 365 * 24 * 3600
_DIGITS = re.compile(r"(?:[0-9a-f]{2})+", re.IGNORECASE)
_MAX_LISTED = 50
"""Pieces of a text in the list."""

_Sections = tuple[tuple[str, Callable[[HttpRequest, LoopAnswer], Context | None]], ...]
"""(name of a template, its context from request and answer; None: not shown), in the order of the page."""
_HEAD_SECTIONS: _Sections = (("measured", measured_context), ("confidence", confidence_context))
"""Beside the verdict."""
_SECTIONS: _Sections = (
    ("missing", missing_context),
    ("bounds", bounds_context),
    ("instructions", instructions_context),
    ("graph", graph_context),
    ("timeline", timeline_context),
    ("comparison", comparison_context),
    ("tools", tools_context),
)


def loop_page(request: HttpRequest) -> HttpResponse:
    choices = cpus()
    remembered = unquote(request.COOKIES.get(_COOKIE, ""))
    fields: dict[str, Any] = {"code": EXAMPLE, **request.GET.dict()}
    if "cpu" not in fields and chosen_cpu(choices, remembered) is not None:
        fields["cpu"] = remembered
    context = _answer_context(request, fields, choices)
    return render(request, "inference/loop/loop.html", context, status=400 if context["problem"] else 200)


def loop_answer(request: HttpRequest) -> HttpResponse:
    """The parts of the page that depend on the question; the CPU is remembered."""
    fields = request.POST if request.method == "POST" else request.GET
    context = _answer_context(request, fields.dict(), cpus())
    status = 400 if context["problem"] else 200
    response = render(request, "inference/loop/answer.html", context, status=status)
    if fields.get("cpu") and context["cpu"] is not None and not context.get("is_other_cpu"):
        name = quote(fields["cpu"])
        response.set_cookie(
            _COOKIE, name, _COOKIE_SECONDS, samesite="Lax", httponly=True, secure=request.is_secure()
        )
    return response


def _answer_context(request: HttpRequest, fields: Mapping[str, Any], choices: Sequence[LoopCpu]) -> Context:
    """The context of `inference/loop/answer.html`: an answer, or a `problem` with the lines it is about."""
    context: Context = {
        "question": LoopQuestion(),
        "cpu": None,
        "cpus": choices,
        "cpu_groups": _by_isa(choices),
    }
    context |= {"problem": "", "problems": []}
    try:
        question = read(LoopQuestion, fields)
        cpu = chosen_cpu(choices, question.cpu)
        question = _with_assembly(question, question.isa or (DEFAULT if cpu is None else cpu.isa))
        context |= {"question": question, "cpu": cpu}
        if not question.code.strip():
            return context
        answer = answer_of(question, choices, replaces_cpu=True)
        context["cpu"] = answer.cpu
    except RequestError as error:
        lacks_cpu = error.field == NO_CPU
        if lacks_cpu:
            context["blocks_url"] = f"{reverse('blocks')}?{urlencode({'code': fields['code']})}"
        return context | {"problem": _request_problem(error), "lacks_cpu": lacks_cpu}
    except BlockError as error:
        return context | {"problem": _sentence(str(error)), "problems": [_editor_marker(error)]}
    dropped = [BlockError(f"{line.reason}: not in any block", line.line) for line in answer.reading.dropped]
    if answer.cpu.is_recorded:
        context |= {
            "recorded": recorded_core(answer.cpu.name),
            "profile_url": _profile_url(),
            "is_profiled": any(not cpu.is_recorded for cpu in choices),
        }
    return context | {
        "answer": answer,
        "is_other_cpu": question.cpu not in ("", answer.cpu.name),
        "head": _render_parts(request, answer, _HEAD_SECTIONS),
        "sections": _render_parts(request, answer, _SECTIONS),
        "pieces": _listed_pieces(answer, question),
        "remedies": _listed_remedies(answer),
        "problems": [_editor_marker(error, "warning") for error in dropped],
    }


def _by_isa(choices: Sequence[LoopCpu]) -> list[tuple[str, list[LoopCpu]]]:
    """(instruction set, its CPUs), in the order of the CPUs."""
    return [(isa, list(group)) for isa, group in groupby(choices, key=attrgetter("isa"))]


def _render_parts(request: HttpRequest, answer: LoopAnswer, sections: _Sections) -> list[str]:
    contexts = ((name, context(request, answer)) for name, context in sections)
    return [
        render_to_string(f"inference/loop/{name}.html", {"answer": answer, **context}, request=request)
        for name, context in contexts
        if context is not None
    ]


def _profile_url() -> str:
    """The form that profiles this computer, "" where no machine stands for it."""
    machine = Machine.objects.filter(local=True).only("pk").first()
    return "" if machine is None else reverse("know", args=[machine.pk])


def _with_assembly(question: LoopQuestion, isa: str) -> LoopQuestion:
    """The question with machine code in digits, as links to a block have it, as assembly."""
    if not _DIGITS.fullmatch(question.code.strip()):
        return question
    return question.model_copy(update={"code": block_of_hex(question.code, isa).text, "isa": isa})


def _request_problem(error: RequestError) -> str:
    if error.field == "code":
        return f"The text has more than {TEXT_LIMIT:,} characters: paste a function or a loop."
    if error.field == NO_CPU:
        return _sentence(f"{error.what}: {error.right}")
    return _sentence(str(error))


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '?')) else '.'}"


def _editor_marker(error: BlockError, severity: str = "error") -> Json:
    """A problem as the editor marks it; line 0: not of one line."""
    return {
        "line": error.line,
        "column": error.column,
        "message": _sentence(error.message),
        "severity": severity,
    }


@dataclass(frozen=True)
class ListedRemedy:
    """A remedy, and the page about the block with it; "" where it cannot be tried.

    `without`: keys of the dependencies that are taken away then.
    """

    remedy: Remedy
    without: str
    url: str


def _listed_remedies(answer: LoopAnswer) -> list[ListedRemedy]:
    listed = []
    for remedy in answer.analysis.remedies:
        without = ",".join(sorted({*answer.question.removed_dependences, remedy.dependence} - {""}))
        url = answer.question.address(without=without) if remedy.dependence else ""
        listed.append(ListedRemedy(remedy, without, url))
    return listed


@dataclass(frozen=True)
class ListedPiece:
    """A loop or other block of the text by its number, and the page about it."""

    number: int
    piece: Piece
    url: str
    is_chosen: bool


def _listed_pieces(answer: LoopAnswer, question: LoopQuestion) -> list[ListedPiece]:
    """The pieces of the text, the hottest or innermost first; empty for a single one."""
    pieces = answer.reading.pieces
    if len(pieces) < 2:
        return []
    numbers = {piece.name: number for number, piece in enumerate(pieces, start=1)}
    return [
        _list_piece(piece, numbers[piece.name], question, answer.number)
        for piece in ranked_pieces(answer.reading)[:_MAX_LISTED]
    ]


def _list_piece(piece: Piece, number: int, question: LoopQuestion, current: int) -> ListedPiece:
    linked = question.model_copy(update={"piece": number, "without": ""}).of_block(piece.block)
    return ListedPiece(number, piece, linked.address(), number == current)


urlpatterns = [
    path("loop/", loop_page, name="loop"),
    path("loop/answer/", loop_answer, name="loop-answer"),
]
