"""Pages: the predictors that there are and a box to try them; the form to add one."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.db.models import ProtectedError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.views.decorators.http import require_POST

from anica_app.campaigning.asking import Column, ask
from anica_app.campaigning.predictors import chosen, kinds, listed
from anica_app.core.answers import Answer
from anica_app.core.errors import PredictorError
from anica_app.models import Predictor
from anica_app.predictors import machine, mapping
from anica_app.predictors.kinds import UnconfiguredError
from anica_app.views.predictors.forms import AddForm, TryForm
from inference.isa.x86.blocks import Block

PATIENCE = 15.0
"""Seconds that the page waits for answers."""

EXAMPLE = "add rax, rbx\nmov rcx, qword ptr [rax+8]\nimul rdx, rcx"
_PROBE = bytes.fromhex("4801d8")
_TRIED_BY_DEFAULT = 4


@dataclass(frozen=True)
class Tried:
    """What became of trying: the columns, and per block its text and a cell of each column."""

    columns: list[Column]
    rows: list[tuple[Block, list[Answer | None]]]


def predictors(request: HttpRequest) -> HttpResponse:
    """The list; a POST tries some of them."""
    found = listed()
    names = [one.name for one in found if one.usable and one.kind.name != machine.KIND]
    if request.method == "POST":
        form = TryForm(names, request.POST)
        tried = _tried(form) if form.is_valid() else None
    else:
        chosen_first = [name for name in names if not name.startswith(mapping.KIND)][-_TRIED_BY_DEFAULT:]
        form = TryForm(names, initial={"code": EXAMPLE, "predictors": chosen_first or names[:1]})
        tried = None
    context = {
        "ready": [one for one in found if one.usable],
        "lacking": [one for one in found if not one.usable],
        "kinds": [kind for kind in kinds().values() if kind.name != mapping.KIND],
        "form": form,
        "tried": tried,
    }
    status = 400 if form.is_bound and form.errors else 200
    return render(request, "anica/predictors.html", context, status=status)


def _tried(form: TryForm) -> Tried | None:
    try:
        rows = [chosen(name) for name in form.cleaned_data["predictors"]]
    except PredictorError as error:
        form.add_error("predictors", str(error))
        return None
    columns = ask(rows, [block.code for block in form.blocks], patience=PATIENCE)
    cells = [
        [column.answers[number] if column.answers else None for column in columns]
        for number in range(len(form.blocks))
    ]
    return Tried(columns, list(zip(form.blocks, cells, strict=True)))


def predictor_add(request: HttpRequest, kind: str) -> HttpResponse:
    """The options of a kind; a POST stores a predictor with these."""
    found = kinds().get(kind)
    if found is None:
        raise Http404
    form = AddForm(found, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid() and (row := form.store()) is not None:
        _tell(request, row)
        return redirect("predictors")
    missing = ""
    try:
        found.found()
    except UnconfiguredError:  # which is what this page is for
        pass
    except PredictorError as error:
        missing = str(error)
    context = {"form": form, "kind": found, "missing": missing}
    return render(request, "anica/predictor_add.html", context, status=400 if form.errors else 200)


def _tell(request: HttpRequest, row: Predictor) -> None:
    """Say that it is there, and whether it works."""
    if row.kind == machine.KIND:
        messages.success(request, f"{row.name} is there.")
        return
    (column,) = ask([row], [_PROBE], patience=PATIENCE)
    answer = column.answers[0] if column.answers else None
    if answer is not None and answer.cycles is not None:
        messages.success(
            request, f"{row.name} is there, and gives {answer.cycles:g} cycles for add rax, rbx."
        )
    else:
        reason = column.error or (f"{answer.failure}: {answer.detail}" if answer else "")
        messages.warning(request, f"{row.name} is there, but has no number for add rax, rbx. {reason}")


@require_POST
def predictor_remove(request: HttpRequest, pk: int) -> HttpResponse:
    """Forget a configured predictor and its answers; one that a campaign has used stays."""
    row = get_object_or_404(Predictor, pk=pk, origin=Predictor.Origin.CONFIGURED)
    try:
        row.delete()
    except ProtectedError:
        messages.error(request, f"{row.name} has answered in a campaign: delete that first.")
    else:
        messages.success(request, f"{row.name} is gone, and so are its remembered answers.")
    return redirect("predictors")


urlpatterns = [
    path("predictors/", predictors, name="predictors"),
    path("predictors/add/<slug:kind>/", predictor_add, name="predictor-add"),
    path("predictors/<int:pk>/remove/", predictor_remove, name="predictor-remove"),
]
