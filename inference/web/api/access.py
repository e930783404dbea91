"""Authentication and scopes of API calls.

This app knows neither accounts nor tokens: the setting `API_ACCESS` is the dotted path of an object of the
site that implements `AccessRules`.
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
    """A caller's permissions; each scope includes the ones before it."""

    READ = "read"
    OPERATE = "operate"
    ADMINISTER = "administer"


class AuditAction(StrEnum):
    """Kinds of successful operations in the audit log."""

    CHANGED = "changed"
    EXPORTED = "exported"
    UPLOADED = "uploaded"
    TOKENS = "tokens"


_RANK = {scope: rank for rank, scope in enumerate(CallerScope)}


@dataclass(frozen=True)
class ApiCaller:
    """`user` is an account, or anonymous if reading is public; `by_cookie`: authenticated by a session."""

    user: Any
    scope: CallerScope
    by_cookie: bool = False


class AccessRules(Protocol):
    """Access rules of the API, implemented by the site."""

    def caller_of(self, request: HttpRequest) -> ApiCaller | None:
        """The caller by token or session; None without a valid one."""
        ...

    def is_recent(self, request: HttpRequest) -> bool:
        """Whether the session's user has logged in or confirmed their identity lately."""
        ...

    def record_refusal(self, request: HttpRequest, caller: ApiCaller | None, reason: str) -> None:
        """Add a refused call to the audit log; `caller` None: the token was not valid."""
        ...

    def watch(self, request: HttpRequest) -> AbstractContextManager[asyncio.Event]:
        """For a streamed answer: an event that is set soon after its caller lost the permission to read.

        It is called while the request is answered, and entered in the event loop that sends the answer.
        """
        ...

    def record(self, request: HttpRequest, action: AuditAction, subject: Model) -> None:
        """Add the operation to the audit log, unless the site logs it elsewhere."""
        ...


@dataclass(frozen=True)
class ScopeRule:
    """Authenticates a request before an operation (ninja's `auth`).

    Attributes:
        scope: Required scope; None: "read" for safe methods, else "operate".
        by_token: False for operations of sessions only: a leaked token must not give permissions beyond its
            scope or lifetime.
        recent: The session's user must have logged in lately.
    """

    scope: CallerScope | None = None
    by_token: bool = True
    recent: bool = False

    def needed(self, method: str | None) -> CallerScope:
        """Required scope of a request with this method."""
        return self.scope or (CallerScope.READ if method in SAFE else CallerScope.OPERATE)

    def __call__(self, request: HttpRequest) -> ApiCaller:
        """Authenticate, and set `request.user`.

        Raises:
            ProblemError: 401 without a valid token or session; 403 for a missing permission, and for a change
                by a session without the CSRF token.
        """
        caller = access().caller_of(request)
        if caller is None:
            if "Authorization" in request.headers:
                access().record_refusal(request, None, "a token that is unknown, expired or revoked")
            raise ProblemError(
                401,
                "No valid token or session came with the request",
                right="send `Authorization: Bearer TOKEN` with a token of your account, or log in",
                where="header Authorization",
                headers={"WWW-Authenticate": 'Bearer realm="pmweb"'},
            )
        needed = self.needed(request.method)
        if _RANK[caller.scope] < _RANK[needed]:
            access().record_refusal(request, caller, f"needs the scope {needed}")
            raise ProblemError(
                403,
                f"This needs the scope {needed}; yours is {caller.scope}",
                right="use a token with that scope, of a user whose role allows it",
                where="header Authorization",
            )
        if caller.by_cookie and request.method not in SAFE and check_csrf(request):
            raise ProblemError(
                403,
                "A change by a session needs the CSRF token",
                right="send the cookie `csrftoken-PORT` as the header X-CSRFToken too, or use a token",
                where="header X-CSRFToken",
            )
        if not self.by_token and not caller.by_cookie:
            access().record_refusal(request, caller, "not by a token")
            raise ProblemError(
                403,
                "No token may do this, whatever its scope: a stolen token would give further permissions",
                right="a browser's session of a permitted user; on the computer of the site, its command",
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
    """The caller as a value of foreign keys: None for an anonymous caller."""
    return request.user if request.user.is_authenticated else None


def log_action(request: HttpRequest, action: AuditAction, subject: Model) -> None:
    """Add an operation to the site's audit log."""
    access().record(request, action, subject)


read_access = ScopeRule(CallerScope.READ)
"""For operations with a body that change nothing."""
operator_access = ScopeRule(CallerScope.OPERATE)
"""For expensive operations that change nothing."""
admin_access = ScopeRule(CallerScope.ADMINISTER)
in_person = ScopeRule(CallerScope.ADMINISTER, by_token=False)
"""For operations that admit users or run programs: by a session, not by a token."""
confirmed_in_person = ScopeRule(CallerScope.ADMINISTER, by_token=False, recent=True)
"""For operations on accounts and permissions: by a session with a recent log-in."""
confirmed_operator = ScopeRule(CallerScope.OPERATE, by_token=False, recent=True)
"""For operations that show results to people without an account: by a session with a recent log-in."""


@cache
def access() -> AccessRules:
    rules: AccessRules = import_string(settings.API_ACCESS)
    return rules
