"""The page of basic blocks: the form decodes code at once and starts runs that predict or measure it."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.utils.http import urlencode

from inference.features.asking.blocks.query import block_views
from inference.features.asking.predictors.kinds import all_kinds
from inference.features.asking.predictors.modes import mode_of_question
from inference.features.asking.predictors.query import selector_of
from inference.features.asking.questions.form import HARNESS_FIELDS, BlockForm
from inference.features.asking.questions.query import KIND
from inference.isa.blocks import block_of_hex, isa_of_fields
from inference.isa.bodies import obstacle_to_blocks
from inference.measuring.blocks import LOOP, UNROLLED
from inference.models import ISA, Machine, Predictor, Run
from inference.predictors import core_model, machine, mapping
from inference.web.contributions import Context, PagePanel, PanelPlace
from inference.web.request_fields import start_run
from inference.web.validation import number_parameter, row_parameter

MAX_DECODED = 20
"""Blocks that the page decodes; a run takes up to `MAX_BLOCKS`."""

_ADDRESS_LIMIT = 3000
"""Characters of code that fit into an address; longer code is decoded without a redirect."""

_PIECE_BUTTON = re.compile(r"piece-(\d{1,6})")
"""The value of the button beside a piece of the text."""


def blocks(request: HttpRequest) -> HttpResponse:
    if request.method == "POST":
        press = request.POST.get("press", "")
        button = _PIECE_BUTTON.fullmatch(press)
        piece = int(button[1]) if button else None
        form = BlockForm(request.POST, needs_predictors=press != "decode", piece=piece)
        if form.is_valid():
            if press != "decode":
                return _measure(request, form) if press == "measure" else _ask(request, form)
            if len(form.cleaned_data["code"]) <= _ADDRESS_LIMIT:
                return redirect(f"{reverse('blocks')}?{_address(request.POST)}")
        return _page(request, form, status=200 if form.is_valid() else 400)
    form = _initial_form(request)
    if "code" not in request.GET and "code" not in form.initial:
        return _page(request, form)
    form = BlockForm(_with_defaults(form, request.GET), offered=form.offers)
    return _page(request, form, status=200 if form.is_valid() else 400)


def _address(posted: QueryDict) -> str:
    named = ("isa", "code", "processor", *HARNESS_FIELDS)
    fields: list[tuple[str, Any]] = [(name, posted[name]) for name in named if posted.get(name)]
    return urlencode([*fields, *(("predictors", text) for text in posted.getlist("predictors"))])


def _with_defaults(form: BlockForm, query: QueryDict) -> QueryDict:
    """The form's initial values, replaced where the address names a field."""
    filled = QueryDict(mutable=True)
    for field in form:
        value = field.value()
        filled.setlist(field.name, value if isinstance(value, list) else [] if value is None else [value])
    for name in query:
        if name in form.fields:
            filled.setlist(name, query.getlist(name))
    return filled


def _initial_form(request: HttpRequest) -> BlockForm:
    """The form for the address: `from`, the id of an earlier run, or `machine`, the id of a machine."""
    source_run = number_parameter(request, "from")
    if source_run is not None:
        return BlockForm(initial=_initial_from_run(get_object_or_404(Run, pk=source_run, kind=KIND)))
    form = BlockForm()
    row = row_parameter(request, "machine", Machine.objects.all())
    if row is not None:
        form.initial["predictors"].append(selector_of(machine.KIND, {"machine": row.name}))
    return form


def _initial_from_run(run: Run) -> dict[str, Any]:
    """The blocks and predictors of an earlier question."""
    rows = Predictor.objects.in_bulk(run.config["predictors"])
    isa = isa_of_fields(run.config)
    texts = [block_of_hex(code, isa).text for code in run.config["blocks"]]
    return {
        "isa": isa,
        "code": "\n\n".join(texts),
        "predictors": [_offer_text(row) for row in rows.values()],
        "mode": mode_of_question(run, rows.values()),
    }


def _offer_text(row: Predictor) -> str:
    """The text under which a stored predictor is offered, regardless of the mode it answered in."""
    options = all_kinds()[row.kind].in_mode(row.options, UNROLLED) if row.kind in all_kinds() else row.options
    by_name = {mapping.KIND: {"mapping"}, machine.KIND: {"machine"}, core_model.KIND: {"model"}}
    return selector_of(row.kind, options) if set(options) == by_name.get(row.kind) else row.name


def _ask(request: HttpRequest, form: BlockForm) -> HttpResponse:
    config = {
        "predictors": [row.pk for row in form.rows],
        "isa": form.blocks[0].isa,
        "blocks": [block.hex for block in form.blocks],
        "anew": form.cleaned_data["anew"],
        "mode": form.cleaned_data["mode"],
    }
    run = start_run(request, KIND, config, form=form)
    if run is not None and form.left_out:
        messages.warning(request, f"Left out: {'; '.join(form.left_out)}.")
    return _page(request, form, status=400) if run is None else redirect("asked-blocks", pk=run.pk)


def _measure(request: HttpRequest, form: BlockForm) -> HttpResponse:
    """Start a run of kind `block`, which keeps spread, passes and counters, on one machine."""
    if len(form.machines) != 1:
        form.add_error("predictors", "To measure in detail, choose one machine.")
        return _page(request, form, status=400)
    row = Machine.objects.get(name=form.machines[0].options["machine"])
    config = {
        "machine": row.pk,
        "isa": form.blocks[0].isa,
        "blocks": [block.hex for block in form.blocks],
        "options": form.block_options().as_json(),
    }
    run = start_run(request, "block", config, form=form)
    return _page(request, form, status=400) if run is None else redirect("run", pk=run.pk)


def _page(request: HttpRequest, form: BlockForm, status: int = 200) -> HttpResponse:
    mode = str(form["mode"].value() or LOOP)
    pieces = form.reading.pieces if form.is_bound and "code" not in form.errors else ()
    isa = ISA.objects.filter(name=pieces[0].block.isa).first() if pieces else None
    decoded = block_views([piece.block for piece in pieces[:MAX_DECODED]], isa, mode=mode) if pieces else []
    ticked = form.selected_texts()
    groups = (
        ("Machines", form.offers.machines),
        ("Core models", form.offers.core_models),
        ("Tools", form.offers.tools),
        ("Mappings", form.offers.mappings),
    )
    context = {
        "form": form,
        "groups": [
            (title, [(offer, offer.text in ticked) for offer in group]) for title, group in groups if group
        ],
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
    """Why the machine in the address cannot measure blocks, "" where it can."""
    row = row_parameter(request, "machine", Machine.objects.select_related("isa"))
    return "" if row is None else obstacle_to_blocks(row.name, row.isa.name)


urlpatterns = [path("blocks/", blocks, name="blocks")]

_EXAMPLE = "add rax, rbx\nmov rcx, qword ptr [rax+8]\nimul rdx, rcx"


def _box(_request: HttpRequest, _subject: None) -> Context:
    form = BlockForm(initial={"code": _EXAMPLE})
    return {"form": form, "harness_fields": form.harness_fields}


PANELS = (PagePanel(PanelPlace.PREDICTORS, "question", "", "inference/questions/box.html", _box),)
