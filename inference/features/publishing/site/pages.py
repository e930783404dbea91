"""The page on which somebody chooses what to publish, and the zip of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse

from inference.features.publishing.site.request import (
    MOST_ITEMS,
    PublishedItem,
    PublishRequest,
    publishable_kinds,
    rows_of,
)
from inference.features.publishing.site.static_site import published, zipped
from inference.formats.problems import ExchangeError
from inference.web.file_answers import attachment
from inference.web.validation import RequestError, read

_LISTED = 200
"""Of each kind, the newest; of others, the link on their own page chooses them."""


@dataclass(frozen=True)
class Choice:
    """Something that can be chosen."""

    value: str
    name: str
    chosen: bool


@dataclass(frozen=True)
class ChoiceGroup:
    """What there is of a kind."""

    title: str
    choices: Sequence[Choice]


def choice_groups(chosen: Collection[str]) -> list[ChoiceGroup]:
    """What there is of each kind, what is chosen first."""
    groups = []
    for kind, each in publishable_kinds().items():
        named = [(str(PublishedItem(kind, row.pk)), row.name) for row in rows_of(kind)[:_LISTED]]
        found = [Choice(value, name, value in chosen) for value, name in named]
        if found:
            groups.append(ChoiceGroup(each.title, sorted(found, key=lambda one: not one.chosen)))
    return groups


def publish(request: HttpRequest) -> HttpResponse:
    """What there is to publish; `item` of the address is chosen already."""
    context = {
        "groups": choice_groups(request.GET.getlist("item")),
        "title": request.GET.get("title", "")[:120],
        "text": request.GET.get("text", "")[:4000],
        "most": MOST_ITEMS,
    }
    return render(request, "inference/publishing/publish.html", context)


def publish_zip(request: HttpRequest) -> HttpResponse:
    """The site as a zip: of one thing its page, of several a gallery."""
    given = {"items": request.GET.getlist("item"), **{k: request.GET.get(k, "") for k in ("title", "text")}}
    try:
        wanted = read(PublishRequest, given)
        title, files = published(wanted.chosen, wanted.title, wanted.text)
    except (RequestError, ExchangeError) as error:
        messages.error(request, f"Nothing was published: {_said(error)}.")
        return redirect(f"{reverse('publish')}?{request.GET.urlencode()}")
    return attachment(zipped(files), "application/zip", title, "zip")


def _said(error: RequestError | ExchangeError) -> str:
    if isinstance(error, RequestError) and error.field == "items":
        return f"choose 1 to {MOST_ITEMS} things"
    return str(error)


urlpatterns = [
    path("publish/", publish, name="publish"),
    path("publish/site.zip", publish_zip, name="publish-zip"),
]
