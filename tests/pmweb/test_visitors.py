"""Whose budget a request uses, however its session or token is spelled."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from django.core.handlers.asgi import ASGIRequest
from django.test import Client

from pmweb.accounts import api_tokens, people
from pmweb.accounts.api_access import record_caller
from pmweb.callers import CALLER, ConnectionCaller, Visitor, Visitors, credentials_in
from pmweb.models import Role, Scope


@pytest.mark.django_db
def test_who_a_request_is_from_is_told_by_session_and_token():
    ada, _ = people.invite("ada", Role.OPERATOR)
    client = Client()
    client.force_login(ada)
    _, plain = api_tokens.issue(ada, "", Scope.READ, None)
    token = {"Authorization": f"Bearer {plain}"}
    found = []
    for browser, headers, where in (
        (client, {}, "/runs/"),
        (Client(), token, "/api/v1/isas"),
        (Client(), {}, "/health/"),
    ):
        caller = ConnectionCaller()
        response = browser.get(where, headers=headers)
        request = response.wsgi_request
        request.scope = {CALLER: caller}
        record_caller(lambda _, response=response: response)(request)
        found.append((caller.proof, caller.account, caller.may_change))
    assert found == [("session", ada.pk, True), ("token", ada.pk, False), ("session", None, False)]


def test_sessions_and_tokens_are_remembered_by_digests_alone():
    visitors, scope = Visitors(), scope_with(cookie="a=b; sessionid=secret")
    assert keys(visitors, scope) == ["1.2.3.4"]
    visitors.record(scope, ConnectionCaller("session", "ada", 7, may_change=True))
    visitors.record(scope, ConnectionCaller())  # a file, for which nobody asks who wants it
    assert visitors.visitors_of(scope) == [Visitor("account 7", may_change=True, is_person=True)]
    assert b"secret" not in b"".join(visitors._accounts)
    visitors.record(scope, ConnectionCaller("session"))
    assert keys(visitors, scope) == ["1.2.3.4"], "the session has ended"


def scope_with(client: str = "1.2.3.4", **headers: str) -> dict[str, Any]:
    """A scope that shows this."""
    return {
        "headers": [(name.encode(), text.encode()) for name, text in headers.items()],
        "client": (client, 1),
    }


def keys(visitors: Visitors, scope: dict[str, Any]) -> list[str]:
    return [visitor.key for visitor in visitors.visitors_of(scope)]


SPELLINGS = [
    {"authorization": "Bearer   secret"},
    {"authorization": "bearer secret"},
    {"authorization": "BEARER secret  "},
    {"authorization": "Bearer secret\t"},
    {"authorization": "Bearer secret", "cookie": "sessionid=made-up"},
    {"cookie": "sessionid=key"},
    {"cookie": "sessionid=other; sessionid=key"},
    {"cookie": "a=b;sessionid = key ;c=d"},
    {"cookie": 'sessionid="key"'},
    {"cookie": 'sessionid="k\\145y"'},
    {"cookie": "sessionid-8000=made-up; sessionid=key"},
    {"cookie": "xsessionid=made-up; sessionid=key"},
    {"cookie": "sessionid=key", "authorization": "Bearer made-up"},
    {"cookie": "sessionid=key", "authorization": "Basic made-up"},
]


@pytest.mark.parametrize("headers", SPELLINGS, ids=str)
def test_however_it_is_spelled_a_session_or_token_is_its_person(headers: dict[str, str]):
    visitors = Visitors()
    visitors.record(scope_with(authorization="Bearer secret"), ConnectionCaller("token", "ada", 7))
    visitors.record(scope_with(cookie="sessionid=key"), ConnectionCaller("session", "ada", 7))
    assert keys(visitors, scope_with("203.0.113.9", **headers)) == ["account 7"]


@pytest.mark.parametrize("headers", SPELLINGS, ids=str)
def test_what_authenticates_reads_it_in_the_same_way(headers: dict[str, str]):
    """Whatever Django and the API take for a session or token is what budgets know."""
    scope = {"method": "GET", "path": "/", "query_string": b"", **scope_with(**headers)}
    request = ASGIRequest(scope, BytesIO())
    credentials = credentials_in(scope["headers"])
    assert credentials.token == api_tokens.bearer_token(request)
    assert credentials.session == request.COOKIES.get("sessionid", "")


WRONG_PLACES = [
    {"authorization": "Bearer\tsecret"},
    {"authorization": "secret"},
    {"authorization": "Basic secret"},
    {"authorization": "Bearer secret,Bearer secret"},
    {"x-authorization": "Bearer secret"},
    {"cookie": "sessionid=key; sessionid=other"},
    {"cookie": "SESSIONID=key"},
    {"cookie": "sessionid=%6bey"},
    {"x-forwarded-for": "203.0.113.1"},
    {"forwarded": "for=203.0.113.1"},
    {"x-real-ip": "203.0.113.1"},
]


@pytest.mark.parametrize("headers", WRONG_PLACES, ids=str)
def test_what_lets_nobody_in_counts_for_the_address(headers: dict[str, str]):
    visitors = Visitors()
    visitors.record(scope_with(authorization="Bearer secret"), ConnectionCaller("token", "ada", 7))
    visitors.record(scope_with(cookie="sessionid=key"), ConnectionCaller("session", "ada", 7))
    assert keys(visitors, scope_with("198.51.100.9", **headers)) == ["198.51.100.9"]


def test_a_second_account_is_no_way_out_of_the_budget_of_the_first():
    visitors = Visitors()
    visitors.record(scope_with(authorization="Bearer secret"), ConnectionCaller("token", "ada", 7))
    visitors.record(scope_with(cookie="sessionid=key"), ConnectionCaller("session", "bob", 8))
    both = scope_with(authorization="Bearer secret", cookie="sessionid=key")
    assert keys(visitors, both) == ["account 7", "account 8"]
