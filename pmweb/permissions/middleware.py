"""Middleware that enforces the rule of a request's address before its view."""

from __future__ import annotations

import logging
from typing import Any

from django.apps import apps
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase

from inference.runs.errors import LimitError
from pmweb.accounts import audit
from pmweb.accounts.audit import Action, request_context
from pmweb.accounts.pages import require_confirmation
from pmweb.accounts.roles import AccessLevel, level_of_request
from pmweb.accounts.sessions import is_recent
from pmweb.middleware import Answer
from pmweb.permissions.table import Rule, rule_of
from pmweb.views.pages import limit_reached, not_allowed

logger = logging.getLogger(__name__)

_REFUSALS = {
    AccessLevel.OPERATOR: (
        "Your account may look at everything here, but start, change and delete nothing. An administrator "
        "can make you an operator."
    ),
    AccessLevel.ADMIN: "This is for administrators.",
}


class Permissions:
    """Enforces rules, and records successful requests in the audit log if the rule says so."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer, and record the request if it succeeded."""
        with request_context(request):
            response = self._answer(request)
            rule, subject = getattr(request, "_noted", (None, None))
            if rule is not None and response.status_code < 400:
                _record(request, rule, subject)
        if isinstance(response, HttpResponseNotAllowed) and not response.content:
            return not_allowed(request, response)
        return response

    def process_view(
        self, request: HttpRequest, _view: object, _args: object, parameters: dict[str, Any]
    ) -> HttpResponse | None:
        """None if the request is permitted, else a redirect to the log-in. Raises `PermissionDenied`."""
        name = request.resolver_match.view_name if request.resolver_match else ""
        rule = rule_of(name)
        if rule is None:
            logger.error("the address %r has no rule: add a line for it to pmweb/permissions", name)
            raise PermissionDenied("This address has no rule of permissions yet, so it is closed.")
        if rule.guards_itself:
            return None
        method = request.method or ""
        needed, level = rule.needed(method), level_of_request(request)
        if needed is None or level < needed:
            return _refusal(request, rule, needed, level)
        if rule.recent and not is_recent(request):
            return require_confirmation(request)
        if rule.records is not None and method == ("GET" if rule.change is None else "POST"):
            request._noted = (rule, _subject(rule, parameters))  # type: ignore[attr-defined]
        return None

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """A page for a `LimitError`."""
        return limit_reached(request, exception) if isinstance(exception, LimitError) else None


def _refusal(
    request: HttpRequest, rule: Rule, needed: AccessLevel | None, level: AccessLevel
) -> HttpResponse:
    """The refusal; only visitors with some permission at the address learn its methods.

    Raises:
        PermissionDenied: The user is logged in, but the level does not suffice.
    """
    lowest = min(level_needed for level_needed in (rule.read, rule.change) if level_needed is not None)
    if needed is None and level >= lowest:
        return HttpResponseNotAllowed(sorted(rule.methods))
    if level < AccessLevel.MEMBER:
        return redirect_to_login(request.get_full_path())
    name = request.resolver_match.view_name if request.resolver_match else ""
    audit.record_refusal(request.user, kind="address", name=name)
    raise PermissionDenied(_REFUSALS[lowest if needed is None else needed])


def _subject(rule: Rule, parameters: dict[str, Any]) -> Model | None:
    """The row of the address, loaded before the view may delete it; None if the rule has no model."""
    if not rule.of or "pk" not in parameters:
        return None
    row: Model | None = apps.get_model(rule.of)._default_manager.filter(pk=parameters["pk"]).first()
    return row


def _record(request: HttpRequest, rule: Rule, subject: Model | None) -> None:
    assert rule.records is not None
    name = request.resolver_match.view_name if request.resolver_match else ""
    if rule.records is Action.EXPORTED:
        audit.record_export(request.user, subject, detail=name)
    else:
        audit.record(request.user, rule.records, subject, detail=name)
