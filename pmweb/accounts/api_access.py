"""Who calls the HTTP API or uploads: by a token, by a session, or anybody where reading is public."""

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

from inference.web.api.access import ApiCaller, CallerScope, Deed
from pmweb.accounts import api_tokens, audit, sessions
from pmweb.accounts.api_tokens import allows, most_scope, token_shown, user_and_scope_of
from pmweb.accounts.audit import Action
from pmweb.accounts.roles import AccessLevel
from pmweb.accounts.sessions import digest_of
from pmweb.accounts.watching import SessionVisit, TokenVisit, Visit, watched
from pmweb.callers import CALLER, ConnectionCaller
from pmweb.middleware import Answer
from pmweb.models import Scope


class ApiAccess:
    def caller_of(self, request: HttpRequest) -> ApiCaller | None:
        """A token counts where one is shown, whatever session comes with it."""
        if "Authorization" in request.headers:
            found = api_tokens.user_and_scope_of(api_tokens.token_shown(request))
            if found is None:
                return None
            request._bearer = found  # type: ignore[attr-defined]  # for the access log
            return ApiCaller(found.user, CallerScope(found.scope.value))
        user = request.user
        if user.is_authenticated:
            return ApiCaller(user, CallerScope(api_tokens.most_scope(user).value), by_cookie=True)
        return ApiCaller(user, CallerScope.READ, by_cookie=True) if settings.PUBLIC_READING else None

    def watch(self, request: HttpRequest) -> AbstractContextManager[asyncio.Event]:
        """Watched as WebSockets are; but for anonymous readers, whose leave is a setting of this process."""
        return _watching(_visit(request))

    def is_recent(self, request: HttpRequest) -> bool:
        return sessions.is_recent(request)

    def refused(self, request: HttpRequest, caller: ApiCaller | None, why: str) -> None:
        """In the audit log, though not each of many."""
        name = request.resolver_match.view_name if request.resolver_match else ""
        audit.refused(None if caller is None else caller.user, kind="operation", name=name, detail=why)

    def note(self, request: HttpRequest, deed: Deed, subject: Model) -> None:
        if deed is Deed.EXPORTED:
            audit.exported(request.user, subject)
        else:
            audit.record(request.user, Action(deed.value), subject)


@contextmanager
def _watching(visit: Visit | None) -> Iterator[asyncio.Event]:
    if visit is None:
        yield asyncio.Event()
        return
    with watched(visit):
        yield visit.over


def _visit(request: HttpRequest) -> Visit | None:
    """What the caller was let in by; None for an anonymous one."""
    if "Authorization" in request.headers:
        return TokenVisit(api_tokens.digest_of(api_tokens.token_shown(request)))
    user = request.user
    if not user.is_authenticated:
        return None
    return SessionVisit(
        digest_of(request.session.session_key or ""), user.pk, user.password, AccessLevel.MEMBER
    )


access = ApiAccess()


def may_change(session: str, authorization: str) -> bool:
    """Whether the key of a session, or what the header "Authorization" says, is of somebody who may upload.

    As for the API, the header counts where there is one. Gives the thread's connections to the database back.
    """
    request = HttpRequest()
    try:
        if authorization:
            request.META["HTTP_AUTHORIZATION"] = authorization
            bearer = user_and_scope_of(token_shown(request))
            return bearer is not None and allows(bearer.scope, Scope.OPERATE)
        request.session = import_module(settings.SESSION_ENGINE).SessionStore(session)
        user = get_user(request)
        return user.is_authenticated and allows(most_scope(user), Scope.OPERATE)
    finally:
        connections.close_all()


def telling_caller(answer: Answer) -> Answer:
    """Middleware: say who a request is from, as far as anything has asked."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = answer(request)
        caller = getattr(request, "scope", {}).get(CALLER)
        if caller is not None:
            _tell(request, caller)
        return response

    return middleware


def _tell(request: HttpRequest, caller: ConnectionCaller) -> None:
    bearer = getattr(request, "_bearer", None)
    user = getattr(request, "_cached_user", None)  # asking now could ask the database for nothing
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
