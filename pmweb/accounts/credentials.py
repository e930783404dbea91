"""Whether somebody who sends much may do so, asked before the request is taken in."""

from __future__ import annotations

from importlib import import_module

from django.conf import settings
from django.contrib.auth import get_user
from django.db import connections
from django.http import HttpRequest

from pmweb.accounts.api_tokens import allows, most_scope, token_shown, user_and_scope_of
from pmweb.models import Scope


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
