"""Everybody's own account: the password, and the tokens of one's programs."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from pmweb.accounts import api_tokens
from pmweb.accounts.forms import ApiTokenForm, ChangePasswordForm
from pmweb.accounts.people import is_fixed
from pmweb.accounts.roles import role_of
from pmweb.accounts.views.ways_in import BY_LINK
from pmweb.models import ApiToken, Scope


@never_cache
def account(request: HttpRequest) -> HttpResponse:
    """One's own account."""
    return _page(request, ApiTokenForm(_user(request)))


@never_cache
def api_token_make(request: HttpRequest) -> HttpResponse:
    """Make a token and show it: the answer to a POST, so that no address has it."""
    user = _user(request)
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
    user = _user(request)
    token = get_object_or_404(ApiToken, pk=pk, user=user)
    api_tokens.revoke(ApiToken.objects.filter(pk=token.pk), by=user)
    messages.success(request, f"The token “{token.name}” has been revoked: nobody gets in with it any more.")
    return redirect("account")


@never_cache
@sensitive_post_parameters()
def password(request: HttpRequest) -> HttpResponse:
    """Set the password, or change it: then the old one is asked for. Ends every other session.

    Whoever came by a link just now need not know the old one: so it can be replaced.
    """
    user = _user(request)
    knows = user.has_usable_password() and not request.session.get(BY_LINK)
    data = request.POST or None
    form = (
        ChangePasswordForm(user, data, address=request.META.get("REMOTE_ADDR", ""))
        if knows
        else SetPasswordForm(user, data)
    )
    if request.method == "POST" and form.is_valid():
        form.save()
        request.session.pop(BY_LINK, None)
        update_session_auth_hash(request, user)
        messages.success(request, "The password is set. Other sessions have been logged out.")
        return redirect(settings.LOGIN_REDIRECT_URL)
    context = {"form": form, "is_fixed": is_fixed(user)}
    return render(request, "pmweb/password.html", context, status=400 if form.errors else 200)


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)  # the rule of the address let nobody else in
    return request.user


def _page(request: HttpRequest, form: ApiTokenForm, *, status: int = 200, **made: Any) -> HttpResponse:
    user = _user(request)
    context = {
        "form": form,
        "role": role_of(user),
        "tokens": api_tokens.shown(ApiToken.objects.filter(user=user)),
        "has_password": user.has_usable_password(),
        "site": f"{request.scheme}://{request.get_host()}",
        **made,
    }
    return render(request, "pmweb/account.html", context, status=status)
