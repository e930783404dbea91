"""Pages: the predictors that there are and a box to try them; the form to add one."""

from __future__ import annotations

from django.contrib import messages
from django.db.models import ProtectedError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.views.decorators.http import require_POST

from anica_app.campaigning.predictors import kinds, listed
from anica_app.core.errors import PredictorError
from anica_app.exchange.asked_answers import KIND
from anica_app.models import Predictor
from anica_app.predictors import machine, mapping
from anica_app.predictors.kinds import UnconfiguredError
from anica_app.views.blocks.form import BlockForm
from anica_app.views.predictors.forms import AddForm
from inference.runs.lifecycle import submit, unused_name

EXAMPLE = "add rax, rbx\nmov rcx, qword ptr [rax+8]\nimul rdx, rcx"
_PROBE = "4801d8"


def predictors(request: HttpRequest) -> HttpResponse:
    """The list, and a box whose question the page of basic blocks takes."""
    found = listed()
    form = BlockForm(initial={"code": EXAMPLE})
    context = {
        "ready": [one for one in found if one.usable],
        "lacking": [one for one in found if not one.usable],
        "kinds": [kind for kind in kinds().values() if kind.name != mapping.KIND],
        "form": form,
        "around": form.around,
    }
    return render(request, "anica/predictors.html", context)


def predictor_add(request: HttpRequest, kind: str) -> HttpResponse:
    """The options of a kind; a POST stores a predictor with these."""
    found = kinds().get(kind)
    if found is None:
        raise Http404
    form = AddForm(found, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid() and (row := form.store()) is not None:
        if row.kind == machine.KIND:
            messages.success(request, f"{row.name} is there.")
            return redirect("predictors")
        config = {"predictors": [row.pk], "blocks": [_PROBE]}
        run = submit(KIND, config, unused_name(f"{row.name} tried"[:190]), user=request.user)
        messages.success(request, f"{row.name} is there. Here is what it says of a first block.")
        return redirect("asked-blocks", run.pk)
    missing = ""
    try:
        found.found()
    except UnconfiguredError:  # which is what this page is for
        pass
    except PredictorError as error:
        missing = str(error)
    context = {"form": form, "kind": found, "missing": missing}
    return render(request, "anica/predictor_add.html", context, status=400 if form.errors else 200)


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
