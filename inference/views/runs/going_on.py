"""Going on after a clash: the same inference as a new run, without the schemes that contradict."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path
from django.views.decorators.http import require_POST

from inference.core.cegar.clashing import mnemonic
from inference.core.protocols import Json
from inference.models import ISA, Run
from inference.runs.errors import ConfigError
from inference.runs.lifecycle import submit, unused_name
from inference.views.runs.explained import drop_choices
from inference.views.runs.record import record_of
from inference.views.runs.search import SearchRecord

SCHEME, MNEMONIC, ALWAYS = "scheme", "mnemonic", "always"
"""What to leave out: the scheme, all with its mnemonic, or whatever clashes from now on."""


@require_POST
def run_without(request: HttpRequest, pk: int) -> HttpResponse:
    """Start the new run and show it."""
    run = get_object_or_404(Run, pk=pk, kind="infer")
    search = record_of(run).search
    what, scheme = request.POST.get("what", SCHEME), request.POST.get("scheme", "")
    if run.state != Run.State.FAILED or scheme not in {choice.scheme for choice in drop_choices(search)}:
        messages.error(request, "Nothing was started: that scheme is not among those that clash.")
        return redirect("run", pk=pk)
    config = config_without(run, search, what, scheme)
    name = unused_name(f"{run.name} without {mnemonic(scheme)}"[:190] if what != ALWAYS else run.name)
    try:
        made = submit("infer", config, name, user=request.user, forked_from=run)
    except ConfigError as error:
        messages.error(request, f"Nothing was started: {error}")
        return redirect("run", pk=pk)
    return redirect("run", pk=made.pk)


def config_without(run: Run, search: SearchRecord, what: str, scheme: str) -> Json:
    """The run's description with what shall be left out taken out."""
    if what == ALWAYS:
        return run.config | {"settings": run.config["settings"] | {"on_clash": "drop-scheme"}}
    dropped = {scheme}
    if what == MNEMONIC:
        dropped = {other for other in search.schemes if mnemonic(other) == mnemonic(scheme)}
    kept = [other for other in search.schemes if other not in dropped]
    rows = ISA.objects.get(name=run.config["isa"]).schemes.filter(text__in=kept)
    known = {
        name: [each for each in facts if each not in dropped]
        if isinstance(facts, list)
        else {each: value for each, value in facts.items() if each not in dropped}
        for name, facts in run.config.get("known", {}).items()
    }
    return run.config | {
        "schemes": list(rows.order_by("id").values_list("pk", flat=True)),
        "scheme_filter": "",
        "known": known,
    }


urlpatterns = [path("runs/<int:pk>/without/", run_without, name="run-without")]
