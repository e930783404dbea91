"""Who calls the HTTP API: by a token of an account, a session, or anybody where reading is public."""

from __future__ import annotations

from django.conf import settings
from django.db.models import Model
from django.http import HttpRequest

from inference.api.access import Caller, Deed, Scope
from pmweb.accounts import api_tokens, audit
from pmweb.accounts.audit import Action


class ApiAccess:
    """What `inference.api.access.Access` asks for."""

    def caller_of(self, request: HttpRequest) -> Caller | None:
        """A token counts where one is shown, whatever session comes with it."""
        if "Authorization" in request.headers:
            found = api_tokens.user_and_scope_of(api_tokens.token_shown(request))
            return None if found is None else Caller(found.user, Scope(found.scope.value))
        user = request.user
        if user.is_authenticated:
            return Caller(user, Scope(api_tokens.most_scope(user).value), by_cookie=True)
        return Caller(user, Scope.READ, by_cookie=True) if settings.PUBLIC_READING else None

    def note(self, request: HttpRequest, deed: Deed, subject: Model) -> None:
        """In the audit log."""
        audit.record(request.user, Action(deed.value), subject)


access = ApiAccess()
