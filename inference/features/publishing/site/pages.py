"""The page for choosing what to publish, and the zip of the site."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse

from inference.features.publishing.site import loops
from inference.features.publishing.site.cores import core_page, mapping_page
from inference.features.publishing.site.request import (
    MAX_ITEMS,
    PublishedItem,
    PublishRequest,
    publishable_kinds,
    rows_of,
)
from inference.features.publishing.site.static_site import build_site, zip_files
from inference.formats.problems import ExchangeError
from inference.models import PortMapping, StoredCoreModel
from inference.web.contributions import Publishable
from inference.web.file_answers import attachment
from inference.web.validation import RequestError, read

_LISTED = 200
"""Number of the newest rows listed per kind; older ones are chosen by the link on their own page."""


@dataclass(frozen=True)
class Choice:
    value: str
    name: str
    chosen: bool


@dataclass(frozen=True)
class ChoiceGroup:
    """The items of one kind."""

    title: str
    choices: Sequence[Choice]


def choice_groups(selection: Collection[str]) -> list[ChoiceGroup]:
    """The publishable items per kind, chosen ones first; kinds without any are omitted."""
    groups = []
    for kind, publishable in publishable_kinds().items():
        names = [(str(PublishedItem(kind, row.pk)), row.name) for row in rows_of(kind)[:_LISTED]]
        choices = [Choice(value, name, value in selection) for value, name in names]
        if choices:
            groups.append(
                ChoiceGroup(publishable.title, sorted(choices, key=lambda choice: not choice.chosen))
            )
    return groups


def publish(request: HttpRequest) -> HttpResponse:
    """The form; items named by `item` in the address are preselected."""
    context = {
        "groups": choice_groups(request.GET.getlist("item")),
        "title": request.GET.get("title", "")[:120],
        "text": request.GET.get("text", "")[:4000],
        "most": MAX_ITEMS,
    }
    return render(request, "inference/publishing/publish.html", context)


def publish_zip(request: HttpRequest) -> HttpResponse:
    """The site as a zip: the page of one item, or a gallery of several."""
    fields = {"items": request.GET.getlist("item"), **{k: request.GET.get(k, "") for k in ("title", "text")}}
    try:
        selection = read(PublishRequest, fields)
        title, files = build_site(selection.chosen, selection.title, selection.text)
    except (RequestError, ExchangeError) as error:
        messages.error(request, f"The site was not published: {_error_text(error)}.")
        return redirect(f"{reverse('publish')}?{request.GET.urlencode()}")
    return attachment(zip_files(files), "application/zip", title, "zip")


def _error_text(error: RequestError | ExchangeError) -> str:
    if isinstance(error, RequestError) and error.field == "items":
        return f"choose 1 to {MAX_ITEMS} items"
    return str(error)


urlpatterns = [
    path("publish/", publish, name="publish"),
    path("publish/site.zip", publish_zip, name="publish-zip"),
]

PUBLISHED = (
    Publishable(
        "mapping", "Port mappings", lambda: PortMapping.objects.only("name").order_by("-pk"), mapping_page
    ),
    Publishable(
        "core", "Core models", lambda: StoredCoreModel.objects.only("name").order_by("-pk"), core_page
    ),
    Publishable("loop", "Explained loops", loops.publishable, loops.loops_page),
)
