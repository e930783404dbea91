"""Where somebody is logged in, and how that ends."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Router, Schema, Status
from pydantic import Field

from inference.web.api.access import account_of, administering, operating
from inference.web.api.shapes import Time, fields_of
from inference.web.validation import Id
from pmweb.accounts import sessions
from pmweb.accounts.presentation import browser_name
from pmweb.models import BrowserSession

router = Router()


class BrowserSessionOut(Schema):
    """A browser in which somebody is logged in."""

    id: Id
    browser: str = Field(examples=["Firefox on Linux"])
    way: str = Field(description="How they came in: password, link, or empty.", examples=["password"])
    created: Time = Field(description="When they logged in.")
    address: str = Field(description="From where they logged in.", examples=["192.0.2.7"])
    last_seen: Time = Field(description="To the minute.")
    last_address: str = Field(description="Where it was seen last.", examples=["192.0.2.7"])


@router.get("/account/sessions", response=list[BrowserSessionOut], auth=operating)
def list_own_sessions(request: HttpRequest) -> Any:
    """The browsers in which the caller's person is logged in, the one seen last first."""
    return [_session(row) for row in sessions.of(account_of(request))]


@router.delete("/account/sessions/{own_session_id}", response={204: None})
def end_own_session(request: HttpRequest, own_session_id: Id) -> Any:
    """Log one of one's own browsers out. To everybody else it does not exist."""
    user = account_of(request)
    sessions.end_session(get_object_or_404(sessions.of(user), pk=own_session_id), by=user)
    return Status(204, None)


@router.delete("/accounts/{account_id}/sessions", response={204: None}, auth=administering)
def end_sessions_of_account(request: HttpRequest, account_id: Id) -> Any:
    """Log somebody out everywhere. Tokens, links and the password stay, so that they can come back."""
    sessions.log_out(get_object_or_404(User, pk=account_id), by=request.user)
    return Status(204, None)


def _session(row: BrowserSession) -> dict[str, Any]:
    return fields_of(row, BrowserSessionOut, browser=browser_name(row.browser))
