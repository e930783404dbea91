"""Shared links for programs: listed and revoked by any that may change things, made by a person alone."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Router, Schema, Status
from pydantic import Field

from inference.web.api.access import account_of, confirmed_operator, operating
from inference.web.api.errors import ProblemError
from inference.web.api.shapes import Name, Time, fields_of
from inference.web.validation import Id
from pmweb.models import SharedLink
from pmweb.sharing import links
from pmweb.sharing.links import ShareRequest, ShownLink
from pmweb.sharing.pages import address_of

router = Router()


class SharedLinkOut(Schema):
    """A link that shows one thing to whoever has it."""

    id: Id
    item: str = Field(description="What it shows: kind and number.", examples=["mapping:7"])
    name: Name
    title: str = Field(description="Shown in place of the name.", examples=[""])
    user: str = Field(description="Who has made it.", examples=["ada"])
    created: Time
    expires: Time
    matter: str = Field(description="Why it shows nothing, empty where it does.", examples=[""])
    uses: int = Field(description="How often its page was opened.", examples=[12])
    last_used: Time | None = Field(description="To the minute.")


class MadeLinkOut(SharedLinkOut):
    """A new link; nothing tells its address again."""

    url: str = Field(examples=["https://pmweb.example.org/shared/n0tAR3alOne/"])


@router.get("/shared-links", response=list[SharedLinkOut], auth=operating)
def list_shared_links(request: HttpRequest) -> Any:
    """All shared links, those that show something first."""
    return [_json(link) for link in links.shown(SharedLink.objects.all())]


@router.post("/shared-links", response={201: MadeLinkOut}, auth=confirmed_operator)
def share_item(request: HttpRequest, data: ShareRequest) -> Any:
    """Make a link that shows one thing to whoever has it, for some days."""
    user = account_of(request)
    try:
        row, token = links.share(user, data, by=user)
    except ValueError as error:
        raise ProblemError(403, str(error)) from error
    (shown,) = links.shown(SharedLink.objects.filter(pk=row.pk))
    return Status(201, {**_json(shown), "url": address_of(request, token)})


@router.delete("/shared-links/{shared_link_id}", response={204: None})
def revoke_shared_link(request: HttpRequest, shared_link_id: Id) -> Any:
    """Revoke a shared link: from now on it shows nothing."""
    links.revoke(get_object_or_404(SharedLink, pk=shared_link_id), by=account_of(request))
    return Status(204, None)


def _json(link: ShownLink) -> dict[str, Any]:
    user = link.row.user.get_username()
    return fields_of(link.row, SharedLinkOut, name=link.name, user=user, matter=link.matter)
