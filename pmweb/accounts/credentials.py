"""How long ago the user of a session has proved who they are, and what they were about to do when asked.

A session alone, which may have been left open or stolen, makes no tokens, links or accounts.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta

from django.http import HttpRequest, QueryDict

WINDOW = timedelta(minutes=15)

_SHOWN = "shown-at"
_BY_LINK = "by-link-at"
_ONWARD = "confirm-for"
_SENT = "confirm-form"
LARGEST_FORM = 64 << 10
"""Bytes of what a form has sent that are kept."""


def shown(request: HttpRequest, *, by_link: bool = False) -> None:
    """The session's user has just shown who they are."""
    request.session[_SHOWN] = time.time()
    if by_link:
        request.session[_BY_LINK] = time.time()


def is_recent(request: HttpRequest) -> bool:
    """Whether that was within `WINDOW`."""
    return _within_window(request, _SHOWN)


def may_replace_password(request: HttpRequest) -> bool:
    """Whether a link has logged them in within `WINDOW`: then the old password, forgotten perhaps, is not
    asked for.
    """
    return _within_window(request, _BY_LINK)


def password_replaced(request: HttpRequest) -> None:
    """The link has served its purpose."""
    request.session.pop(_BY_LINK, None)


@dataclass(frozen=True)
class SentForm:
    """What somebody has sent to an address before they have shown who they are."""

    path: str
    fields: list[tuple[str, str]]


def keep_sent_form(request: HttpRequest) -> None:
    """Keep in the session what a POST has sent, to be sent again; whatever was kept before goes."""
    request.session.pop(_SENT, None)
    sent = request.POST.copy()
    sent.pop("csrfmiddlewaretoken", None)
    body = sent.urlencode()
    if sent and len(body) <= LARGEST_FORM:
        request.session[_SENT] = {"path": request.get_full_path(), "body": body, "at": time.time()}


def has_sent_form(request: HttpRequest) -> bool:
    return _SENT in request.session


def sent_form(request: HttpRequest) -> SentForm | None:
    """What was sent, once, and within `WINDOW`; None for nothing."""
    kept = request.session.pop(_SENT, None)
    if kept is None or time.time() - kept["at"] > WINDOW.total_seconds():
        return None
    several = QueryDict(kept["body"]).lists()
    return SentForm(kept["path"], [(name, str(value)) for name, values in several for value in values])


def wants(request: HttpRequest, path: str) -> None:
    """Keep in mind where somebody is to go who fetches a link now to show who they are."""
    request.session[_ONWARD] = path


def wanted(request: HttpRequest) -> str:
    """Where they were to go, once; "" for nowhere."""
    return str(request.session.pop(_ONWARD, ""))


def _within_window(request: HttpRequest, key: str) -> bool:
    at = request.session.get(key)
    return isinstance(at, float) and 0 <= time.time() - at < WINDOW.total_seconds()
