"""A file of AnICA's between its upload and its import: what is in it, and how it shall be read."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path

from anica_app.campaigning.importing_loops import SORTS as LOOP_SORTS
from anica_app.exchange.anica_documents import CONFIG, DISCOVERIES, WITNESSES
from anica_app.exchange.block_sets import Look
from anica_app.exchange.campaign_zip import GENERALISATIONS
from anica_app.exchange.file_trees import Archive
from anica_app.exchange.incoming import Sort, sort_of_content
from anica_app.models import BasicBlockSet, Campaign
from anica_app.views.block_sets.reading import BlocksForm, beginning_of
from anica_app.views.naming_form import ImportForm
from inference.features.runs.pages import SUMMARIES
from inference.features.uploads.query import waiting_uploads
from inference.models import Upload
from inference.runs.errors import RunsError
from inference.runs.lifecycle import submit, unused_name
from inference.storage.errors import ExchangeError
from inference.storage.names import free_name

KIND = "import-anica"

SUMMARIES[KIND] = "A basic-block set or a campaign from a file"


@dataclass(frozen=True)
class Contents:
    """What a preview tells: facts as (label, value), and for blocks the look at the file's beginning."""

    sort: Sort
    facts: list[tuple[str, str]]
    look: Look | None = None
    whole: bool = True
    problem: str = ""


def anica_import(request: HttpRequest, pk: int) -> HttpResponse:
    """Show what a file would bring; a POST starts its import, or reads its beginning in another way."""
    found = get_object_or_404(waiting_uploads().defer(None), pk=pk)
    if sort_of_content(bytes(found.content)) in LOOP_SORTS:
        return redirect("anica-loops", pk)
    seen = _contents(found)
    form = _form(request, found, seen)
    looked = request.POST.get("press") == "look"
    if form.is_bound and form.is_valid():
        try:
            if isinstance(form, BlocksForm) and looked:
                first, whole = beginning_of(bytes(found.content), found.file_name, form.reading())
                seen = _of_blocks(first, whole=whole)
                form.columns = first.columns
            else:
                answers = {key: value for key, value in form.cleaned_data.items() if value is not None}
                name = unused_name(f"Import {found.file_name}")
                return redirect(
                    "run", submit(KIND, {"upload": found.pk, **answers}, name, user=request.user).pk
                )
        except (ExchangeError, RunsError) as error:
            form.add_error(None, str(error))
    context = {"upload": found, "seen": seen, "form": form, "sets": seen.sort is Sort.BLOCKS}
    refused = form.is_bound and bool(form.errors)
    return render(request, "anica/import.html", context, status=400 if refused else 200)


def _form(request: HttpRequest, found: Upload, seen: Contents) -> ImportForm:
    stem = found.file_name.rpartition(".")[0] or found.file_name
    given: dict[str, Any] = {"data": request.POST} if request.method == "POST" else {}
    if seen.look is not None:
        names = {"name": free_name(BasicBlockSet, stem)}
        return BlocksForm(seen.look.columns, **given, initial=names)
    return ImportForm(**given, initial={"name": free_name(Campaign, stem)})


def _contents(found: Upload) -> Contents:
    content = bytes(found.content)
    sort = sort_of_content(content)
    if sort is None:
        raise Http404("this file is of no format of AnICA")
    if sort is Sort.BLOCKS:
        first, whole = beginning_of(content, found.file_name)
        return _of_blocks(first, whole=whole)
    try:
        names = Archive(io.BytesIO(content), found.file_name).names()
    except ExchangeError as error:
        return Contents(sort, [], problem=str(error))
    all_of_it = sort is Sort.ARCHIVE or CONFIG in names
    discoveries = sum(name.startswith(DISCOVERIES) for name in names) if all_of_it else 1
    traces = sum(name.startswith((WITNESSES, GENERALISATIONS)) for name in names) if all_of_it else 1
    facts = [("Generalisations with their decisions", f"{traces:,}"), ("Files", f"{len(names):,}")]
    if sort is Sort.PUBLISHED:
        facts.insert(0, ("Discoveries", f"{discoveries:,}"))
    return Contents(sort, facts)


def _of_blocks(seen: Look, *, whole: bool) -> Contents:
    facts = [
        ("Blocks", f"{seen.rows:,}"),
        ("Instructions", f"{seen.instructions:,}"),
        ("Blocks that repeat others", f"{seen.duplicates:,}"),
    ]
    return Contents(Sort.BLOCKS, facts, seen, whole=whole)


urlpatterns = [path("uploads/<int:pk>/anica/", anica_import, name="anica-import")]
