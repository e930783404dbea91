"""Somebody comes in, by a password or a link: the session begins, and the browser is known from then on."""

from __future__ import annotations

from django.contrib.auth import login
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponseRedirect
from django.shortcuts import resolve_url

from pmweb.accounts import known_browsers
from pmweb.models import BrowserSession

Way = BrowserSession.Way


def let_in(request: HttpRequest, user: User, way: BrowserSession.Way, onward: str) -> HttpResponseRedirect:
    """Begin the session, and lead on to an address or the name of one; `noting` notes it."""
    request._way_in = way  # type: ignore[attr-defined]  the signal of `login` has no room for it
    login(request, user)
    response = HttpResponseRedirect(resolve_url(onward))
    known_browsers.remember(request, response, user)
    return response


def way_of(request: HttpRequest) -> BrowserSession.Way:
    """How the request's user has just come in."""
    found: BrowserSession.Way = getattr(request, "_way_in", Way.OTHER)
    return found
