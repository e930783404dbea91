"""The page where basic blocks are pasted: decoded at once; predicted and measured by a run."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.utils.http import urlencode

from inference.features.asking.blocks.query import shown
from inference.features.asking.predictors.kinds import all_kinds
from inference.features.asking.predictors.modes import mode_asked
from inference.features.asking.predictors.query import written
from inference.features.asking.questions.form import SURROUNDINGS, BlockForm
from inference.features.asking.questions.query import KIND
from inference.isa.blocks import Block, block_of_hex, isa_beside
from inference.isa.bodies import obstacle_to_blocks
from inference.isa.targets import DEFAULT
from inference.measuring.blocks import LOOP, UNROLLED
from inference.models import ISA, Machine, Predictor, Run
from inference.predictors import core_model, machine, mapping
from inference.web.request_fields import start_run
from inference.web.validation import row_named, whole_number

MOST_SHOWN = 20
"""Blocks decoded on the page; a run may have more."""

_ADDRESS_LIMIT = 3000
"""Characters of blocks that travel in an address; longer ones are shown without one."""

_NAME_LIMIT = 90
_CHOSEN = re.compile(r"piece-(\d{1,6})")
"""What the button beside a piece of the text sends."""


def blocks(request: HttpRequest) -> HttpResponse:
    """Show the form, decode what it has, or start a run."""
    if request.method == "POST":
        press = request.POST.get("press", "")
        chosen = _CHOSEN.fullmatch(press)
        piece = int(chosen[1]) if chosen else None
        form = BlockForm(request.POST, asking=press != "decode", piece=piece)
        if form.is_valid():
            if press != "decode":
                return _measure(request, form) if press == "measure" else _ask(request, form)
            if len(form.cleaned_data["code"]) <= _ADDRESS_LIMIT:
                return redirect(f"{reverse('blocks')}?{_address(request.POST)}")
        return _page(request, form, status=200 if form.is_valid() else 400)
    form = _at_first(request)
    if "code" not in request.GET and "code" not in form.initial:
        return _page(request, form)
    if "code" in request.GET and "isa" not in request.GET:  # an address from before blocks were named by both
        return redirect(f"{reverse('blocks')}?{urlencode({'isa': DEFAULT})}&{request.GET.urlencode()}")
    form = BlockForm(_filled(form, request.GET), known=form.offers)
    return _page(request, form, status=200 if form.is_valid() else 400)


def _address(posted: QueryDict) -> str:
    """What of the form travels in the address of the page."""
    named = ("code", "processor", *SURROUNDINGS)
    kept: list[tuple[str, Any]] = [(name, posted[name]) for name in named if posted.get(name)]
    return urlencode(
        [("isa", isa_beside(posted)), *kept, *(("predictors", text) for text in posted.getlist("predictors"))]
    )


def _filled(form: BlockForm, given: QueryDict) -> QueryDict:
    """The fields as the form has them at first, and in place of them what the address says."""
    filled = QueryDict(mutable=True)
    for field in form:
        value = field.value()
        filled.setlist(field.name, value if isinstance(value, list) else [] if value is None else [value])
    for name in given:
        if name in form.fields:
            filled.setlist(name, given.getlist(name))
    return filled


def _at_first(request: HttpRequest) -> BlockForm:
    """The form for what the address names: `from` an earlier question, or a `machine`, by their numbers."""
    again = whole_number(request, "from")
    if again is not None:
        return BlockForm(initial=_as_before(get_object_or_404(Run, pk=again, kind=KIND)))
    form = BlockForm()
    row = row_named(request, "machine", Machine.objects.all())
    if row is not None:
        form.initial["predictors"].append(written(machine.KIND, {"machine": row.name}))
    return form


def _as_before(run: Run) -> dict[str, Any]:
    """The blocks and predictors of an earlier question."""
    rows = Predictor.objects.in_bulk(run.config["predictors"])
    isa = isa_beside(run.config)
    texts = [block_of_hex(code, isa).text for code in run.config["blocks"]]
    return {
        "isa": isa,
        "code": "\n\n".join(texts),
        "predictors": [_offered_as(row) for row in rows.values()],
        "mode": mode_asked(run, rows.values()),
    }


def _offered_as(row: Predictor) -> str:
    """The text under which a stored predictor is offered, whatever mode it was asked in."""
    options = all_kinds()[row.kind].in_mode(row.options, UNROLLED) if row.kind in all_kinds() else row.options
    by_name = {mapping.KIND: {"mapping"}, machine.KIND: {"machine"}, core_model.KIND: {"model"}}
    return written(row.kind, options) if set(options) == by_name.get(row.kind) else row.name


def _ask(request: HttpRequest, form: BlockForm) -> HttpResponse:
    config = {
        "predictors": [row.pk for row in form.rows],
        "isa": form.blocks[0].isa,
        "blocks": [block.hex for block in form.blocks],
        "anew": form.cleaned_data["anew"],
        "mode": form.cleaned_data["mode"],
    }
    run = start_run(request, KIND, config, name_of(form.blocks), form=form)
    if run is not None and form.left_out:
        messages.warning(request, f"Not asked: {'; '.join(form.left_out)}.")
    return _page(request, form, status=400) if run is None else redirect("asked-blocks", pk=run.pk)


def _measure(request: HttpRequest, form: BlockForm) -> HttpResponse:
    """A run that measures on one machine and keeps spreads, passes and counters."""
    if len(form.machines) != 1:
        form.add_error("predictors", "To measure in detail, choose one machine.")
        return _page(request, form, status=400)
    row = Machine.objects.get(name=form.machines[0].options["machine"])
    config = {
        "machine": row.pk,
        "isa": form.blocks[0].isa,
        "blocks": [block.hex for block in form.blocks],
        "options": form.options().as_json(),
    }
    run = start_run(request, "block", config, f"{row.name}: {name_of(form.blocks)}"[:190], form=form)
    return _page(request, form, status=400) if run is None else redirect("run", pk=run.pk)


def name_of(found: list[Block]) -> str:
    """What a run about these blocks is called unless somebody says otherwise."""
    text = "; ".join(one.text for one in found[0].instructions)
    text = text if len(text) <= _NAME_LIMIT else f"{text[:_NAME_LIMIT]} …"
    return text if len(found) == 1 else f"{len(found):,} blocks from {text}"


def _page(request: HttpRequest, form: BlockForm, status: int = 200) -> HttpResponse:
    isa = ISA.objects.filter(name=form["isa"].value() or DEFAULT).first()
    mode = str(form["mode"].value() or LOOP)
    pieces = form.reading.pieces if form.is_bound and "code" not in form.errors else ()
    decoded = shown([piece.block for piece in pieces[:MOST_SHOWN]], isa, mode=mode) if pieces else []
    ticked = form.ticked()
    groups = (
        ("Machines", form.offers.machines),
        ("Core models", form.offers.core_models),
        ("Tools", form.offers.tools),
        ("Mappings", form.offers.mappings),
    )
    context = {
        "form": form,
        "groups": [(title, [(one, one.text in ticked) for one in group]) for title, group in groups if group],
        "pieces": pieces,
        "kinds": Counter(piece.block.kind for piece in pieces),
        "notes": form.reading.notes if pieces else (),
        "dropped": form.reading.dropped if pieces else (),
        "shown": decoded,
        "sections": list(zip(pieces, decoded, strict=False)),
        "more": max(0, len(pieces) - len(decoded)),
        "obstacle": _obstacle(request),
    }
    return render(request, "inference/questions/ask.html", context, status=status)


def _obstacle(request: HttpRequest) -> str:
    """Why the machine that the address names cannot be asked about blocks, "" where it can."""
    row = row_named(request, "machine", Machine.objects.select_related("isa"))
    return "" if row is None else obstacle_to_blocks(row.name, row.isa.name)


urlpatterns = [path("blocks/", blocks, name="blocks")]
