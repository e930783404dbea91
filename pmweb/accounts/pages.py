"""The pages of a person's own account: the password, the tokens of programs, and the sessions."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from pmweb.accounts import api_tokens, credentials, known_browsers, links, sessions
from pmweb.accounts.forms import (
    ApiTokenForm,
    ChangePasswordForm,
    FirstPasswordForm,
)
from pmweb.accounts.login_pages import way_to_confirm
from pmweb.accounts.people import is_fixed
from pmweb.accounts.roles import role_of
from pmweb.accounts.sessions import end_links, end_other_sessions, end_session, end_tokens, user_of
from pmweb.models import ApiToken, Scope


@never_cache
def account(request: HttpRequest) -> HttpResponse:
    return _page(request, ApiTokenForm(user_of(request)))


@never_cache
def api_token_make(request: HttpRequest) -> HttpResponse:
    """Make a token and show it: the answer to a POST, so that no address has it."""
    user = user_of(request)
    if request.method != "POST":
        return redirect("account")
    form = ApiTokenForm(user, request.POST)
    if not form.is_valid():
        return _page(request, form, status=400)
    made, plain = api_tokens.issue(
        user, form.cleaned_data["name"], Scope(form.cleaned_data["scope"]), form.lifetime(), by=user
    )
    return _page(request, ApiTokenForm(user), made=made, plain=plain)


def api_token_revoke(request: HttpRequest, pk: int) -> HttpResponse:
    """Take a token of one's own back. To everybody else it does not exist."""
    user = user_of(request)
    token = get_object_or_404(ApiToken, pk=pk, user=user)
    api_tokens.revoke(ApiToken.objects.filter(pk=token.pk), by=user)
    messages.success(request, f"The token “{token.name}” has been revoked.")
    return redirect("account")


@never_cache
@sensitive_post_parameters()
def password(request: HttpRequest) -> HttpResponse:
    """Set the password, or change it: then the old one is asked for. Ends every other session.

    Whoever came by a link within a quarter of an hour need not know the old one: so it can be replaced.
    """
    user = user_of(request)
    if not user.has_usable_password() and not credentials.is_recent(request):
        return way_to_confirm(request)  # without what was sent: no session has a new password
    knows = user.has_usable_password() and not credentials.may_replace_password(request)
    data = request.POST or None
    form = ChangePasswordForm(user, data, request=request) if knows else FirstPasswordForm(user, data)
    if request.method == "POST" and form.is_valid():
        form.save()
        credentials.password_replaced(request)
        said = " ".join(_ended_with_password(request, user, form.cleaned_data))
        messages.success(request, f"The password is set. {said}")
        response = redirect(settings.LOGIN_REDIRECT_URL)
        known_browsers.remember(request, response, user)
        return response
    context = {
        "form": form,
        "is_fixed": is_fixed(user),
        "links": links.waiting_for(user).count(),
        "tokens": api_tokens.valid_tokens().filter(user=user).count(),
    }
    return render(request, "pmweb/password.html", context, status=400 if form.errors else 200)


def _ended_with_password(request: HttpRequest, user: User, wanted: dict[str, Any]) -> list[str]:
    """End what goes with the old password, and say what that was."""
    before = sessions.key_of(request)
    update_session_auth_hash(request, user)
    sessions.renamed(before, request)
    end_other_sessions(request, user)
    said = ["Other sessions have been logged out."]
    if wanted["end_links"] and end_links(user, by=user):
        said.append("All log-in links are invalid now.")
    if wanted["end_tokens"] and end_tokens(user, by=user):
        said.append("Your API tokens are revoked.")
    return said


def _page(request: HttpRequest, form: ApiTokenForm, *, status: int = 200, **made: Any) -> HttpResponse:
    user = user_of(request)
    context = {
        "form": form,
        "role": role_of(user),
        "tokens": api_tokens.shown(ApiToken.objects.filter(user=user)),
        "has_password": user.has_usable_password(),
        "sessions": sessions.of(user).count(),
        "is_recent": credentials.is_recent(request),
        "site": f"{request.scheme}://{request.get_host()}",
        **made,
    }
    return render(request, "pmweb/account.html", context, status=status)


@never_cache
def sessions_page(request: HttpRequest) -> HttpResponse:
    """Where one is logged in."""
    context = {"sessions": sessions.of(user_of(request)), "this": sessions.key_of(request)}
    return render(request, "pmweb/sessions.html", context)


def session_end(request: HttpRequest, pk: int) -> HttpResponse:
    """Log one of one's browsers out; this one, too. To everybody else it does not exist."""
    user = user_of(request)
    row = get_object_or_404(sessions.of(user), pk=pk)
    if row.session == sessions.key_of(request):
        messages.error(request, "This is the session that you are using: log out instead.")
    else:
        end_session(row, by=user)
        messages.success(request, "That browser is logged out.")
    return redirect("sessions")


def session_end_others(request: HttpRequest) -> HttpResponse:
    """Stay logged in here alone."""
    number = end_other_sessions(request, user_of(request))
    ended = "1 session has" if number == 1 else f"{number} sessions have"
    messages.success(request, f"{ended} been ended. You are logged in here alone.")
    return redirect("sessions")
