"""Pages of log-in and of one's own account: password, API tokens, sessions."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.models import User
from django.contrib.auth.views import LogoutView
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render, resolve_url
from django.urls import path, reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from pmweb.accounts import api_tokens, attempts, people, sessions
from pmweb.accounts.forms import (
    ApiTokenForm,
    ChangePasswordForm,
    ConfirmForm,
    FirstPasswordForm,
    PasswordLoginForm,
)
from pmweb.accounts.people import is_fixed, is_invited
from pmweb.accounts.roles import role_of
from pmweb.accounts.sessions import Way, log_in, user_of
from pmweb.models import ApiToken, Scope


@never_cache
def account(request: HttpRequest) -> HttpResponse:
    return _page(request, ApiTokenForm(user_of(request)))


@never_cache
def api_token_make(request: HttpRequest) -> HttpResponse:
    """Create a token and show it as the answer to a POST, so that it never is in an address."""
    user = user_of(request)
    if request.method != "POST":
        return redirect("account")
    form = ApiTokenForm(user, request.POST)
    if not form.is_valid():
        return _page(request, form, status=400)
    token, plain = api_tokens.issue(
        user, form.cleaned_data["name"], Scope(form.cleaned_data["scope"]), form.lifetime(), by=user
    )
    return _page(request, ApiTokenForm(user), new_token=token, plain=plain)


def api_token_revoke(request: HttpRequest, pk: int) -> HttpResponse:
    """Revoke a token of one's own; 404 for those of others."""
    user = user_of(request)
    token = get_object_or_404(ApiToken, pk=pk, user=user)
    api_tokens.revoke(ApiToken.objects.filter(pk=token.pk), by=user)
    messages.success(request, f"The token “{token.name}” has been revoked.")
    return redirect("account")


@never_cache
@sensitive_post_parameters()
def password(request: HttpRequest) -> HttpResponse:
    """Set or change the password; ends every other session.

    The old password is not needed within a quarter of an hour after a log-in by link: it may be forgotten.
    """
    user = user_of(request)
    if not user.has_usable_password() and not sessions.is_recent(request):
        return redirect_to_confirm(request)  # the sent form is not stored: it has a password
    needs_old = user.has_usable_password() and not sessions.may_replace_password(request)
    data = request.POST or None
    form = ChangePasswordForm(user, data, request=request) if needs_old else FirstPasswordForm(user, data)
    if request.method == "POST" and form.is_valid():
        form.save()
        sessions.password_replaced(request)
        sentences = " ".join(_end_credentials(request, user, form.cleaned_data))
        messages.success(request, f"The password is set. {sentences}")
        response = redirect(settings.LOGIN_REDIRECT_URL)
        attempts.remember_browser(request, response, user)
        return response
    context = {
        "form": form,
        "is_fixed": is_fixed(user),
        "links": people.valid_links(user).count(),
        "tokens": api_tokens.valid_tokens().filter(user=user).count(),
    }
    return render(request, "pmweb/password.html", context, status=400 if form.errors else 200)


def _end_credentials(request: HttpRequest, user: User, choices: dict[str, Any]) -> list[str]:
    """End sessions and the chosen links and tokens after a new password; returns sentences about them."""
    before = sessions.key_of(request)
    update_session_auth_hash(request, user)
    sessions.update_key(before, request)
    sessions.end_other_sessions(request, user)
    sentences = ["Other sessions have been logged out."]
    if choices["end_links"] and people.end_links(user, by=user):
        sentences.append("All log-in links are invalid now.")
    if choices["end_tokens"] and api_tokens.revoke_all_of(user, by=user):
        sentences.append("Your API tokens are revoked.")
    return sentences


def _page(request: HttpRequest, form: ApiTokenForm, *, status: int = 200, **extra: Any) -> HttpResponse:
    user = user_of(request)
    context = {
        "form": form,
        "role": role_of(user),
        "tokens": api_tokens.with_status(ApiToken.objects.filter(user=user)),
        "has_password": user.has_usable_password(),
        "sessions": sessions.sessions_of(user).count(),
        "is_recent": sessions.is_recent(request),
        "site": f"{request.scheme}://{request.get_host()}",
        **extra,
    }
    return render(request, "pmweb/account.html", context, status=status)


@never_cache
def sessions_page(request: HttpRequest) -> HttpResponse:
    context = {"sessions": sessions.sessions_of(user_of(request)), "this": sessions.key_of(request)}
    return render(request, "pmweb/sessions.html", context)


def session_end(request: HttpRequest, pk: int) -> HttpResponse:
    """End a session of one's own, but not the current one; 404 for those of others."""
    user = user_of(request)
    row = get_object_or_404(sessions.sessions_of(user), pk=pk)
    if row.session == sessions.key_of(request):
        messages.error(request, "This is the session that you are using: log out instead.")
    else:
        sessions.end_session(row, by=user)
        messages.success(request, "That browser is logged out.")
    return redirect("sessions")


def other_sessions_end(request: HttpRequest) -> HttpResponse:
    number = sessions.end_other_sessions(request, user_of(request))
    ended = "1 session has" if number == 1 else f"{number} sessions have"
    messages.success(request, f"{ended} been ended. You are logged in only here.")
    return redirect("sessions")


def next_address(request: HttpRequest, otherwise: str) -> str:
    """The parameter `next` if it is an address of this site, else `otherwise`, an address or URL name."""
    address = request.POST.get("next") or request.GET.get("next", "")
    return address if is_own_address(request, address) else resolve_url(otherwise)


def is_own_address(request: HttpRequest, address: str) -> bool:
    """Whether an absolute address is one of this site; False for relative ones and URL names."""
    return address.startswith(("/", "http://", "https://")) and url_has_allowed_host_and_scheme(
        address, {request.get_host()}, require_https=request.is_secure()
    )


def redirect_to_confirm(request: HttpRequest) -> HttpResponseRedirect:
    """Redirect to the page that confirms the user's identity, and then back; after a POST, to its page."""
    page = request.get_full_path()
    if request.method == "POST":
        referer = request.headers.get("Referer", "")
        page = urlsplit(referer).path if is_own_address(request, referer) else reverse("account")
    return HttpResponseRedirect(f"{reverse('confirm')}?{urlencode({'next': page})}")


def require_confirmation(request: HttpRequest) -> HttpResponseRedirect:
    """Store the sent form and redirect to the page that confirms the user's identity."""
    sessions.keep_sent_form(request)
    return redirect_to_confirm(request)


@never_cache
@sensitive_post_parameters("password")
def confirm(request: HttpRequest) -> HttpResponse:
    """Confirm the user's identity by the password, or by a log-in link that then leads to `next`."""
    user, onward = user_of(request), next_address(request, settings.LOGIN_REDIRECT_URL)
    has_password = user.has_usable_password()
    form = ConfirmForm(user, request.POST or None, request=request) if has_password else None
    if request.method == "POST" and form is not None and form.is_valid():
        sessions.confirm(request)
    if sessions.is_recent(request):
        sent = sessions.pop_sent_form(request)
        if sent is None:
            return HttpResponseRedirect(onward)
        return render(request, "pmweb/confirmed.html", {"sent": sent, "next": onward})
    form_is_stored = sessions.has_sent_form(request)
    confirm_path = f"{reverse('confirm')}?{urlencode({'next': onward})}"
    sessions.keep_destination(request, confirm_path if form_is_stored else onward)
    context = {
        "form": form,
        "next": onward,
        "form_is_stored": form_is_stored,
        "is_fixed": is_fixed(user),
        "minutes": round(sessions.WINDOW.total_seconds() / 60),
    }
    failed = form is not None and bool(form.errors)
    return render(request, "pmweb/confirm.html", context, status=400 if failed else 200)


@never_cache
@sensitive_post_parameters("password")
def login_page(request: HttpRequest) -> HttpResponse:
    """Log in by name and password; explains log-in links if no password is set."""
    onward = next_address(request, settings.LOGIN_REDIRECT_URL)
    if request.user.is_authenticated:
        return HttpResponseRedirect(onward)
    users = list(User.objects.filter(is_active=True)[:2])
    form = PasswordLoginForm(
        request.POST or None,
        request=request,
        sole=users[0] if len(users) == 1 else None,
    )
    if request.method == "POST" and form.is_valid():
        assert form.user is not None  # set by a valid form
        return log_in(request, form.user, Way.PASSWORD, onward)
    context = {
        "form": form,
        "has_password": len(users) > 1 or any(user.has_usable_password() for user in users),
        "next": request.POST.get("next") or request.GET.get("next", ""),
    }
    return render(request, "pmweb/login.html", context, status=400 if form.errors else 200)


@never_cache
def login_link(request: HttpRequest, token: str) -> HttpResponse:
    """Log in by a link: GET shows a button, as fetching a link must not use it up."""
    if request.method == "POST":
        user = people.redeem(token)
        if user is not None:
            invited = is_invited(user) and not is_fixed(user)
            confirmed_for = sessions.pop_destination(request) if user == request.user else ""
            otherwise = resolve_url("password" if invited else settings.LOGIN_REDIRECT_URL)
            onward = otherwise if invited else confirmed_for or otherwise
            return log_in(request, user, Way.LINK, onward)
    else:
        user = people.link_user(token)
        if user is not None:
            context = {"usable": True, "person": user, "invited": is_invited(user) and not is_fixed(user)}
            return render(request, "pmweb/login_link.html", context)
    return render(request, "pmweb/login_link.html", {"usable": False}, status=410)


urlpatterns = [
    path("login/", login_page, name="login"),
    path("login/<str:token>/", login_link, name="login-link"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("account/", account, name="account"),
    path("account/password/", password, name="password"),
    path("account/confirm/", confirm, name="confirm"),
    path("account/sessions/", sessions_page, name="sessions"),
    path("account/sessions/others/end/", other_sessions_end, name="sessions-end-others"),
    path("account/sessions/<int:pk>/end/", session_end, name="session-end"),
    path("account/tokens/", api_token_make, name="api-token-make"),
    path("account/tokens/<int:pk>/revoke/", api_token_revoke, name="api-token-revoke"),
]
