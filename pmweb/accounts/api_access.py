"""The site's access rules of the HTTP API and of uploads: by token, by session, or by public reading."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module

from django.conf import settings
from django.contrib.auth import get_user
from django.db import connections
from django.db.models import Model
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from inference.web.api.access import ApiCaller, AuditAction, CallerScope
from pmweb.accounts import api_tokens, audit, sessions
from pmweb.accounts.api_tokens import allows, bearer_of, bearer_token, highest_scope
from pmweb.accounts.audit import Action
from pmweb.accounts.roles import AccessLevel
from pmweb.accounts.sessions import digest_of
from pmweb.accounts.watching import SessionVisit, TokenVisit, Visit, watch_visit
from pmweb.callers import CALLER, ConnectionCaller
from pmweb.middleware import Answer
from pmweb.models import Scope


class ApiAccess:
    def caller_of(self, request: HttpRequest) -> ApiCaller | None:
        """The caller; an "Authorization" header takes precedence over a session."""
        if "Authorization" in request.headers:
            bearer = api_tokens.bearer_of(api_tokens.bearer_token(request))
            if bearer is None:
                return None
            request._bearer = bearer  # type: ignore[attr-defined]  # read by the access log
            return ApiCaller(bearer.user, CallerScope(bearer.scope.value))
        user = request.user
        if user.is_authenticated:
            return ApiCaller(user, CallerScope(api_tokens.highest_scope(user).value), by_cookie=True)
        return ApiCaller(user, CallerScope.READ, by_cookie=True) if settings.PUBLIC_READING else None

    def watch(self, request: HttpRequest) -> AbstractContextManager[asyncio.Event]:
        """Watch the connection like a WebSocket; for anonymous readers the event is never set."""
        return _watch(_visit(request))

    def is_recent(self, request: HttpRequest) -> bool:
        return sessions.is_recent(request)

    def record_refusal(self, request: HttpRequest, caller: ApiCaller | None, reason: str) -> None:
        """Add the refusal to the audit log, which leaves out repetitions."""
        name = request.resolver_match.view_name if request.resolver_match else ""
        audit.record_refusal(
            None if caller is None else caller.user, kind="operation", name=name, detail=reason
        )

    def record(self, request: HttpRequest, action: AuditAction, subject: Model) -> None:
        if action is AuditAction.EXPORTED:
            audit.record_export(request.user, subject)
        else:
            audit.record(request.user, Action(action.value), subject)


@contextmanager
def _watch(visit: Visit | None) -> Iterator[asyncio.Event]:
    if visit is None:
        yield asyncio.Event()
        return
    with watch_visit(visit):
        yield visit.ended


def _visit(request: HttpRequest) -> Visit | None:
    """The session or token of the caller; None for an anonymous one."""
    if "Authorization" in request.headers:
        return TokenVisit(api_tokens.digest_of(api_tokens.bearer_token(request)))
    user = request.user
    if not user.is_authenticated:
        return None
    return SessionVisit(
        digest_of(request.session.session_key or ""), user.pk, user.password, AccessLevel.MEMBER
    )


access = ApiAccess()


def may_change(session: str, authorization: str) -> bool:
    """Whether a session's key or an "Authorization" header belongs to a user who may upload.

    The header takes precedence, as in the API. Closes the thread's database connections.
    """
    request = HttpRequest()
    try:
        if authorization:
            request.META["HTTP_AUTHORIZATION"] = authorization
            bearer = bearer_of(bearer_token(request))
            return bearer is not None and allows(bearer.scope, Scope.OPERATE)
        request.session = import_module(settings.SESSION_ENGINE).SessionStore(session)
        user = get_user(request)
        return user.is_authenticated and allows(highest_scope(user), Scope.OPERATE)
    finally:
        connections.close_all()


def record_caller(answer: Answer) -> Answer:
    """Middleware: store the request's caller for the access log, if it has been looked up."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = answer(request)
        caller = getattr(request, "scope", {}).get(CALLER)
        if caller is not None:
            _record(request, caller)
        return response

    return middleware


def _record(request: HttpRequest, caller: ConnectionCaller) -> None:
    bearer = getattr(request, "_bearer", None)
    user = getattr(request, "_cached_user", None)  # `request.user` could query the database
    if bearer is not None:
        caller.proof = "token"
        caller.name = f"{bearer.user.get_username()}/token:{bearer.token_id}"
        caller.account, caller.may_change = bearer.user.pk, bearer.scope != Scope.READ
    elif user is None:
        caller.proof = "token" if "Authorization" in request.headers else ""
    elif not user.is_authenticated:
        caller.proof = "session"
    else:
        caller.proof = "session"
        caller.name, caller.account = user.get_username(), user.pk
        caller.may_change = getattr(request, "_level", AccessLevel.ANYONE) >= AccessLevel.OPERATOR
