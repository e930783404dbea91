"""What lets somebody in ends: sessions, links, tokens. Each end is noted in the audit log."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest

from pmweb.accounts import api_tokens, audit, links, sessions
from pmweb.accounts.audit import Action
from pmweb.models import ApiToken, BrowserSession


@transaction.atomic
def end_session(row: BrowserSession, by: Any = None) -> None:
    """One session."""
    whose = row.user
    sessions.end(row)
    audit.record(by, Action.LOGGED_OUT, kind="session", name=str(whose), detail=f"ended, from {row.address}")


@transaction.atomic
def end_other_sessions(request: HttpRequest, user: User) -> int:
    """All sessions of the request's user but that of the request; how many there were."""
    number = sessions.end_all_of(user, but=sessions.key_of(request))
    if number:
        _note(user, user, f"{number} other")
    return number


@transaction.atomic
def log_out(user: User, by: Any = None) -> int:
    """All sessions of a user; how many there were. Tokens, links and the password stay."""
    number = sessions.end_all_of(user)
    _note(by, user, str(number))
    return number


@transaction.atomic
def end_links(user: User, by: Any = None) -> int:
    """Log-in links that wait; how many there were."""
    number, _ = links.waiting_for(user).delete()
    if number:
        audit.record(by, Action.ACCOUNTS, user, detail=f"log-in links ended: {number}")
    return number


def end_tokens(user: User, by: Any = None) -> int:
    """API tokens; how many there were."""
    return api_tokens.revoke(ApiToken.objects.filter(user=user), by=by)


def _note(by: Any, whose: User, number: str) -> None:
    audit.record(by, Action.LOGGED_OUT, whose, detail=f"sessions ended: {number}")
