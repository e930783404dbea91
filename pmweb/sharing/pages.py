"""The page of shared links for those who make them, and what a link shows to those who have it."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache

from inference.features.publishing.site.pages import choice_groups
from inference.features.publishing.site.static_site import CARD, INDEX
from inference.formats.problems import ExchangeError
from inference.web.validation import RequestError, read
from pmweb.accounts import credentials
from pmweb.accounts.sessions import user_of
from pmweb.models import SharedLink
from pmweb.sharing import links
from pmweb.sharing.links import MOST_DAYS, USUAL_DAYS, ShareRequest

_NOTHING = "This link shows nothing: it has ended, was revoked, or was never made."
_TYPES = {
    "html": "text/html; charset=utf-8",
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
}


@never_cache
def shares(request: HttpRequest) -> HttpResponse:
    """All links, and the form for another one; `item` of the address is chosen already."""
    return _page(request)


@never_cache
def share_make(request: HttpRequest) -> HttpResponse:
    """Make a link and show it: the answer to a POST, so that no address has it."""
    user = user_of(request)
    given = {name: request.POST.get(name, "") for name in ("days", "title", "text")}
    try:
        wanted = read(ShareRequest, {"items": request.POST.getlist("item"), **given})
        _, token = links.share(user, wanted, by=user)
    except (RequestError, ExchangeError, ValueError) as error:
        said = (
            "choose one thing" if isinstance(error, RequestError) and error.field == "items" else str(error)
        )
        return _page(request, status=400, error=f"No link was made: {said}.")
    return _page(request, made=address_of(request, token))


def share_revoke(request: HttpRequest, pk: int) -> HttpResponse:
    links.revoke(get_object_or_404(SharedLink, pk=pk), by=user_of(request))
    messages.success(request, "The link is revoked: it shows nothing any more.")
    return redirect("shares")


def shared(request: HttpRequest, token: str) -> HttpResponse:
    """The page of a link."""
    row = links.link_of(token)
    if row is not None and request.method == "GET":
        links.note_use(row)
    return _answer(request, row, token, INDEX)


def shared_file(request: HttpRequest, token: str, file: str) -> HttpResponse:
    """A file of that page: its card, its data, its pictures."""
    return _answer(request, links.link_of(token), token, file)


def address_of(request: HttpRequest, token: str) -> str:
    """The whole address of a link, as visitors know the site."""
    path = reverse("shared", args=[token])
    return settings.URL.rstrip("/") + path if settings.URL else request.build_absolute_uri(path)


def _answer(request: HttpRequest, row: SharedLink | None, token: str, file: str) -> HttpResponse:
    """A file of the page; raises `Http404`."""
    if row is None:
        raise Http404(_NOTHING)
    try:
        content = links.files_of(row, address_of(request, token)).get(file)
    except ExchangeError:
        raise Http404(_NOTHING) from None
    if content is None:
        raise Http404("There is no such file with this link.")
    response = HttpResponse(content, content_type=_TYPES[file.rpartition(".")[2]])
    if file not in (INDEX, CARD):
        name = file.rpartition("/")[2]
        response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["X-Robots-Tag"] = "noindex"
    response["Referrer-Policy"] = "no-referrer"  # the address is all it takes
    return response


def _page(request: HttpRequest, *, status: int = 200, **more: Any) -> HttpResponse:
    chosen = request.POST.getlist("item") or request.GET.getlist("item")
    context = {
        "links": links.shown(SharedLink.objects.all()),
        "groups": choice_groups(chosen[:1]),
        "days": request.POST.get("days", str(USUAL_DAYS)),
        "most_days": MOST_DAYS,
        "title": request.POST.get("title", ""),
        "text": request.POST.get("text", ""),
        "is_recent": credentials.is_recent(request),
        **more,
    }
    return render(request, "pmweb/shares.html", context, status=status)
