"""Shared links: creating, revoking, their list, and the page that a link shows.

A token has 256 random bits, and only its SHA-256 is stored. All links that are not valid look the same to
visitors: unknown, expired, revoked, of a user who may not share any more, of a deleted result.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from pydantic import Field

from inference.features.publishing.site.pages import choice_groups
from inference.features.publishing.site.request import Item, PublishedItem, PublishRequest, item_of
from inference.features.publishing.site.static_site import CARD, INDEX, page_files, pages_of
from inference.formats.problems import ExchangeError
from inference.web.validation import RequestError, read
from pmweb.accounts import audit, sessions
from pmweb.accounts.api_tokens import digest_of
from pmweb.accounts.audit import Action
from pmweb.accounts.roles import AccessLevel, level_of
from pmweb.accounts.sessions import user_of
from pmweb.models import SharedLink

DEFAULT_DAYS, MAX_DAYS = 30, 365
_KIND = "shared link"
_USE_INTERVAL = timedelta(minutes=1)
_CACHE_SECONDS = 60
"""Seconds that a rendered page is cached; names and evaluations may change."""


_NO_SUCH_LINK = "This link is not valid: it has expired, was revoked, or never existed."
_TYPES = {
    "html": "text/html; charset=utf-8",
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
}


class ShareRequest(PublishRequest):
    """Description of a new link: one result, title, text, and lifetime in days."""

    items: list[Item] = Field(min_length=1, max_length=1, description="One item, as its kind and id.")
    days: int = Field(DEFAULT_DAYS, ge=1, le=MAX_DAYS, examples=[DEFAULT_DAYS])


@dataclass(frozen=True)
class ListedLink:
    """A link in a list; `name` is that of its result, `matter` why it is not valid, "" if it is."""

    row: SharedLink
    name: str
    matter: str


@transaction.atomic
def share(user: User, share_request: ShareRequest, by: User | None = None) -> tuple[SharedLink, str]:
    """Create a link.

    Args:
        user: Owner; the link ends with the owner's permission to share.
        share_request: Result, title, text and lifetime.
        by: Actor in the audit log; None for the shell.

    Returns:
        The row and the token, which cannot be shown again.

    Raises:
        ExchangeError: The result cannot be published.
        ValueError: The user may not share.
    """
    if level_of(user) < AccessLevel.OPERATOR:
        raise ValueError(f"{user.get_username()} is no operator, so no link of theirs would show anything")
    item = share_request.chosen[0]
    pages_of([item], share_request.title, share_request.text)
    token = secrets.token_urlsafe(32)
    expires = timezone.now() + timedelta(days=share_request.days)
    row = SharedLink.objects.create(
        user=user,
        item=str(item),
        title=share_request.title,
        text=share_request.text,
        token_hash=digest_of(token),
        expires=expires,
    )
    audit.record(
        by, Action.TOKENS, kind=_KIND, name=_name_of(item), detail=f"made: {item}, until {expires:%Y-%m-%d}"
    )
    return row, token


def find_link(token: str) -> SharedLink | None:
    """The valid link with this token; None without one."""
    row = usable().select_related("user").filter(token_hash=digest_of(token)).first()
    if row is None or level_of(row.user) < AccessLevel.OPERATOR or item_of(row.item).row is None:
        return None
    return row


def usable() -> QuerySet[SharedLink]:
    """Links of active accounts that are neither expired nor revoked."""
    return SharedLink.objects.filter(revoked=None, expires__gt=timezone.now(), user__is_active=True)


def files_of(row: SharedLink, address: str) -> Mapping[str, bytes]:
    """{path: content} of a link's page and its files. Raises `ExchangeError` if the result was deleted."""
    return _files(row.item, row.title, row.text, address, int(time.monotonic() / _CACHE_SECONDS))


@lru_cache(maxsize=4)
def _files(item: str, title: str, text: str, address: str, _when: int) -> Mapping[str, bytes]:
    (page,) = pages_of([item_of(item)], title, text)
    return page_files(page, linked=True, address=address)


def note_use(row: SharedLink) -> None:
    """Count a view of the page, and store the time to the minute."""
    now = timezone.now()
    rows = SharedLink.objects.filter(pk=row.pk)
    rows.update(uses=F("uses") + 1)
    rows.filter(Q(last_used=None) | Q(last_used__lt=now - _USE_INTERVAL)).update(last_used=now)


@transaction.atomic
def revoke(row: SharedLink, by: User | None = None) -> None:
    """Revoke a link; does nothing if it is revoked already."""
    if SharedLink.objects.filter(pk=row.pk, revoked=None).update(revoked=timezone.now()):
        name = _name_of(item_of(row.item))
        audit.record(by, Action.TOKENS, kind=_KIND, name=name, detail=f"revoked: {row.item}")


def listed_links(rows: QuerySet[SharedLink]) -> list[ListedLink]:
    """Links with their status, valid ones first."""
    now = timezone.now()
    links = []
    for row in rows.select_related("user").order_by("-id"):
        name = _name_of(item_of(row.item))
        matter = "revoked" if row.revoked else "expired" if row.expires <= now else "" if name else "gone"
        if not matter and (not row.user.is_active or level_of(row.user) < AccessLevel.OPERATOR):
            matter = "its maker may not share"
        links.append(ListedLink(row, name or row.item, matter))
    return sorted(links, key=lambda link: link.matter != "")


def _name_of(item: PublishedItem) -> str:
    """Name of the result; "" if it was deleted."""
    row = item.row
    return "" if row is None else str(row.name)


@never_cache
def shares(request: HttpRequest) -> HttpResponse:
    """The list of links with the form for a new one; the parameter `item` preselects a result."""
    return _page(request)


@never_cache
def share_make(request: HttpRequest) -> HttpResponse:
    """Create a link and show it as the answer to a POST, so that it never is in an address."""
    user = user_of(request)
    fields = {name: request.POST.get(name, "") for name in ("days", "title", "text")}
    try:
        share_request = read(ShareRequest, {"items": request.POST.getlist("item"), **fields})
        _, token = share(user, share_request, by=user)
    except (RequestError, ExchangeError, ValueError) as error:
        message = (
            "choose one result" if isinstance(error, RequestError) and error.field == "items" else str(error)
        )
        return _page(request, status=400, error=f"No link was created: {message}.")
    return _page(request, new_link=address_of(request, token))


def share_revoke(request: HttpRequest, pk: int) -> HttpResponse:
    revoke(get_object_or_404(SharedLink, pk=pk), by=user_of(request))
    messages.success(request, "The link has been revoked.")
    return redirect("shares")


def shared(request: HttpRequest, token: str) -> HttpResponse:
    row = find_link(token)
    if row is not None and request.method == "GET":
        note_use(row)
    return _answer(request, row, token, INDEX)


def shared_file(request: HttpRequest, token: str, file: str) -> HttpResponse:
    """A file of a link's page: card, data, or picture."""
    return _answer(request, find_link(token), token, file)


def address_of(request: HttpRequest, token: str) -> str:
    """URL of a link at the site's public address."""
    path = reverse("shared", args=[token])
    return settings.URL.rstrip("/") + path if settings.URL else request.build_absolute_uri(path)


def _answer(request: HttpRequest, row: SharedLink | None, token: str, file: str) -> HttpResponse:
    """A file of the link's page. Raises `Http404` for all links that are not valid."""
    if row is None:
        raise Http404(_NO_SUCH_LINK)
    try:
        content = files_of(row, address_of(request, token)).get(file)
    except ExchangeError:
        raise Http404(_NO_SUCH_LINK) from None
    if content is None:
        raise Http404("There is no such file with this link.")
    response = HttpResponse(content, content_type=_TYPES[file.rpartition(".")[2]])
    if file not in (INDEX, CARD):
        name = file.rpartition("/")[2]
        response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["X-Robots-Tag"] = "noindex"
    response["Referrer-Policy"] = "no-referrer"  # the address is the secret
    return response


def _page(request: HttpRequest, *, status: int = 200, **extra_context: Any) -> HttpResponse:
    items = request.POST.getlist("item") or request.GET.getlist("item")
    context = {
        "links": listed_links(SharedLink.objects.all()),
        "groups": choice_groups(items[:1]),
        "days": request.POST.get("days", str(DEFAULT_DAYS)),
        "most_days": MAX_DAYS,
        "title": request.POST.get("title", ""),
        "text": request.POST.get("text", ""),
        "is_recent": sessions.is_recent(request),
        **extra_context,
    }
    return render(request, "pmweb/shares.html", context, status=status)


urlpatterns = [
    path("shares/", shares, name="shares"),
    path("shares/make/", share_make, name="share-make"),
    path("shares/<int:pk>/revoke/", share_revoke, name="share-revoke"),
    path("shared/<str:token>/", shared, name="shared"),
    path("shared/<str:token>/<path:file>", shared_file, name="shared-file"),
]
