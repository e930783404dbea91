"""Tells what stands outside of Django (limits, logs) from whom a request is, by its account or token."""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from pmweb.accounts.roles import AccessLevel
from pmweb.callers import CALLER, ConnectionCaller
from pmweb.middleware import Answer
from pmweb.models import Scope


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
