"""How long ago somebody has shown who they are: a session alone, which may have been left open or stolen,
makes no tokens, links or accounts.
"""

from __future__ import annotations

import time
from datetime import timedelta

from django.http import HttpRequest

WINDOW = timedelta(minutes=15)

_SHOWN = "shown-at"
_BY_LINK = "by-link-at"
_ONWARD = "confirm-for"


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


def wants(request: HttpRequest, path: str) -> None:
    """Keep in mind where somebody is to go who fetches a link now to show who they are."""
    request.session[_ONWARD] = path


def wanted(request: HttpRequest) -> str:
    """Where they were to go, once; "" for nowhere."""
    return str(request.session.pop(_ONWARD, ""))


def _within_window(request: HttpRequest, key: str) -> bool:
    at = request.session.get(key)
    return isinstance(at, float) and 0 <= time.time() - at < WINDOW.total_seconds()
