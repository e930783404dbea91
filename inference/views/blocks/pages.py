"""The page where basic blocks are pasted: decoded and predicted at once, measured by a run."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.http import urlencode

from inference.exchange.instruction_sets import X86
from inference.measuring.blocks import BlockOptions
from inference.models import ISA
from inference.runs.jobs.machine_facts import obstacle_to_measuring
from inference.views.blocks.form import BlockForm
from inference.views.blocks.shown import shown
from inference.views.starting import start_run

MOST_SHOWN = 20
"""Blocks decoded on the page; a run may have more."""

_ADDRESS_LIMIT = 3000
"""Characters of blocks that travel in an address; longer ones are shown without one."""

_KEPT = ("machine", *BlockOptions.__dataclass_fields__)


def blocks(request: HttpRequest) -> HttpResponse:
    """Show the form, decode what it has, or start a run."""
    if request.method == "POST":
        form = BlockForm(request.POST)
        if form.is_valid():
            code = form.cleaned_data["code"]
            if request.POST.get("press") == "measure":
                return _start(request, form)
            if len(code) <= _ADDRESS_LIMIT:
                kept = {name: request.POST[name] for name in _KEPT if request.POST.get(name)}
                return redirect(f"{reverse('blocks')}?{urlencode({'code': code, **kept})}")
        return _page(request, form, status=200 if form.is_valid() else 400)
    if "code" not in request.GET:
        return _page(request, BlockForm(initial={"machine": request.GET.get("machine")}))
    usual = {field.name: field.initial for field in BlockForm() if field.initial is not None}
    form = BlockForm({**usual, **request.GET.dict()})
    return _page(request, form, status=200 if form.is_valid() else 400)


def _start(request: HttpRequest, form: BlockForm) -> HttpResponse:
    machine = form.cleaned_data["machine"]
    if machine is None:
        form.add_error("machine", "Choose the machine to measure on.")
        return _page(request, form, status=400)
    found = form.blocks
    first = found[0].instructions[0].text
    usual_name = f"{machine.name}: {first} …" if len(found) == 1 else f"{machine.name}: {len(found)} blocks"
    config = {
        "machine": machine.pk,
        "blocks": [block.hex for block in found],
        "options": form.options().as_json(),
    }
    run = start_run(request, form, "block", config, usual_name[:190])
    return _page(request, form, status=400) if run is None else redirect("run", pk=run.pk)


def _page(request: HttpRequest, form: BlockForm, status: int = 200) -> HttpResponse:
    isa = ISA.objects.filter(name=X86).first()
    decoded = shown(form.blocks[:MOST_SHOWN], isa) if form.is_bound and "code" not in form.errors else []
    context = {
        "form": form,
        "shown": decoded,
        "more": max(0, len(form.blocks) - len(decoded)),
        "machines": list(form.fields["machine"].queryset),  # type: ignore[attr-defined]
    }
    context["hindered"] = [reason for reason in map(obstacle_to_measuring, context["machines"]) if reason]
    return render(request, "inference/block/page.html", context, status=status)


urlpatterns = [path("blocks/", blocks, name="blocks")]
