"""Who calls, and how much they may do. The site says so: this app knows neither its accounts nor its tokens.

The setting `API_ACCESS` names an object of the site, by its dotted path, that keeps to `AccessRules`.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, Protocol

from django.conf import settings
from django.db.models import Model
from django.http import HttpRequest
from django.utils.module_loading import import_string
from ninja.utils import check_csrf

from inference.web.api.errors import ProblemError

SAFE = ("GET", "HEAD", "OPTIONS")


class CallerScope(StrEnum):
    """What a caller may do, each including those before it."""

    READ = "read"
    OPERATE = "operate"
    ADMINISTER = "administer"


class Deed(StrEnum):
    """What is noted of an operation that succeeded."""

    CHANGED = "changed"
    EXPORTED = "exported"
    UPLOADED = "uploaded"
    TOKENS = "tokens"


_RANK = {scope: rank for rank, scope in enumerate(CallerScope)}


@dataclass(frozen=True)
class ApiCaller:
    """`user` is an account, or anonymous where reading is public; `by_cookie`: by a browser's session."""

    user: Any
    scope: CallerScope
    by_cookie: bool = False


class AccessRules(Protocol):
    """What the site has to know."""

    def caller_of(self, request: HttpRequest) -> ApiCaller | None:
        """Who it is, by token or session; None for nobody. A token that is wrong is nobody, too."""
        ...

    def is_recent(self, request: HttpRequest) -> bool:
        """Whether the session's user has shown lately who they are."""
        ...

    def refused(self, request: HttpRequest, caller: ApiCaller | None, why: str) -> None:
        """Remember that a caller was turned away; None for one whose token is wrong."""
        ...

    def watch(self, request: HttpRequest) -> AbstractContextManager[asyncio.Event]:
        """For an answer that goes on: an event that is set soon after its caller may not read any longer.

        Asked for where the request is answered, entered in the event loop that sends the answer.
        """
        ...

    def note(self, request: HttpRequest, deed: Deed, subject: Model) -> None:
        """Remember what the request's user did to a row, beside what the site notes wherever it happens."""
        ...


@dataclass(frozen=True)
class ScopeRule:
    """What ninja asks before an operation. Without a scope: reading for GET, operating for all else.

    `by_token`: False for what only a session may do. A token that leaks shall not help anybody to more than
    it lets them do, nor to what lasts longer than itself. `recent`: its user has to have logged in lately.
    """

    scope: CallerScope | None = None
    by_token: bool = True
    recent: bool = False

    def needed(self, method: str | None) -> CallerScope:
        """The scope that a request with this method needs."""
        return self.scope or (CallerScope.READ if method in SAFE else CallerScope.OPERATE)

    def __call__(self, request: HttpRequest) -> ApiCaller:
        """Let the caller in.

        Raises `ProblemError`: 401 without a valid token or session, 403 for one that may not do it, and for a
        session that changes something without the token against forged requests.
        """
        caller = access().caller_of(request)
        if caller is None:
            if "Authorization" in request.headers:
                access().refused(request, None, "a token that is unknown, expired or revoked")
            raise ProblemError(
                401,
                "No valid token or session came with the request",
                right="send `Authorization: Bearer TOKEN` with a token of your account, or log in",
                where="header Authorization",
                headers={"WWW-Authenticate": 'Bearer realm="pmweb"'},
            )
        needed = self.needed(request.method)
        if _RANK[caller.scope] < _RANK[needed]:
            access().refused(request, caller, f"needs the scope {needed}")
            raise ProblemError(
                403,
                f"This needs the scope {needed}; yours is {caller.scope}",
                right="use a token with that scope, of somebody whose role allows it",
                where="header Authorization",
            )
        if caller.by_cookie and request.method not in SAFE and check_csrf(request):
            raise ProblemError(
                403,
                "A change by a session needs the token against forged requests",
                right="send the cookie `csrftoken-PORT` as the header X-CSRFToken too, or use a token",
                where="header X-CSRFToken",
            )
        if not self.by_token and not caller.by_cookie:
            access().refused(request, caller, "not by a token")
            raise ProblemError(
                403,
                "No token may do this, whatever its scope: whoever stole one would get further by it",
                right="a browser's session of somebody who may; on the computer of the site, its command",
                where="header Authorization",
            )
        if self.recent and not access().is_recent(request):
            raise ProblemError(
                403,
                "The log-in of this session is too long ago for this",
                right="confirm on the site that it is you: /account/confirm/",
                where="cookie of the session",
            )
        request.user = caller.user
        return caller


def account_of(request: HttpRequest) -> Any:
    """The caller as rows refer to one: None for an anonymous caller."""
    return request.user if request.user.is_authenticated else None


def note(request: HttpRequest, deed: Deed, subject: Model) -> None:
    """Remember who did what, where the site keeps such a log."""
    access().note(request, deed, subject)


reading = ScopeRule(CallerScope.READ)
"""For operations that change nothing, but have a body."""
operating = ScopeRule(CallerScope.OPERATE)
"""For operations that change nothing, but take much work, and belong to others that do."""
administering = ScopeRule(CallerScope.ADMINISTER)
in_person = ScopeRule(CallerScope.ADMINISTER, by_token=False)
"""For what lets somebody in or runs programs here: a person has to do it, by a session."""
confirmed_in_person = ScopeRule(CallerScope.ADMINISTER, by_token=False, recent=True)
"""The same for accounts, and what they may do."""
confirmed_operator = ScopeRule(CallerScope.OPERATE, by_token=False, recent=True)
"""For what shows something to people without an account: a person has to do it."""


@cache
def access() -> AccessRules:
    rules: AccessRules = import_string(settings.API_ACCESS)
    return rules
