"""Everybody's own account: the password, and the tokens of one's programs."""

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

from pmweb.accounts import api_tokens, known_browsers, links, recent, sessions
from pmweb.accounts.ending import end_links, end_other_sessions, end_tokens
from pmweb.accounts.forms import ApiTokenForm, ChangePasswordForm, FirstPasswordForm
from pmweb.accounts.people import is_fixed
from pmweb.accounts.roles import role_of
from pmweb.accounts.views.onward import ask_who_it_is
from pmweb.models import ApiToken, Scope


@never_cache
def account(request: HttpRequest) -> HttpResponse:
    """One's own account."""
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
    messages.success(request, f"The token “{token.name}” has been revoked: nobody gets in with it any more.")
    return redirect("account")


@never_cache
@sensitive_post_parameters()
def password(request: HttpRequest) -> HttpResponse:
    """Set the password, or change it: then the old one is asked for. Ends every other session.

    Whoever came by a link within a quarter of an hour need not know the old one: so it can be replaced.
    """
    user = user_of(request)
    if not user.has_usable_password() and not recent.is_recent(request):
        return ask_who_it_is(request)
    knows = user.has_usable_password() and not recent.may_replace_password(request)
    data = request.POST or None
    form = ChangePasswordForm(user, data, request=request) if knows else FirstPasswordForm(user, data)
    if request.method == "POST" and form.is_valid():
        form.save()
        recent.password_replaced(request)
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
        said.append("Log-in links let nobody in any more.")
    if wanted["end_tokens"] and end_tokens(user, by=user):
        said.append("Your API tokens are revoked.")
    return said


def user_of(request: HttpRequest) -> User:
    """Who is logged in."""
    assert isinstance(request.user, User)  # the rule of the address let nobody else in
    return request.user


def _page(request: HttpRequest, form: ApiTokenForm, *, status: int = 200, **made: Any) -> HttpResponse:
    user = user_of(request)
    context = {
        "form": form,
        "role": role_of(user),
        "tokens": api_tokens.shown(ApiToken.objects.filter(user=user)),
        "has_password": user.has_usable_password(),
        "sessions": sessions.of(user).count(),
        "is_recent": recent.is_recent(request),
        "site": f"{request.scheme}://{request.get_host()}",
        **made,
    }
    return render(request, "pmweb/account.html", context, status=status)
