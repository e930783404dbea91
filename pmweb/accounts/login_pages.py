"""The pages of log-in, by password or one-time link, and the page that asks for the password once more."""

from __future__ import annotations

from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render, resolve_url
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from pmweb.accounts import credentials, links
from pmweb.accounts.forms import (
    ConfirmForm,
    PasswordLoginForm,
)
from pmweb.accounts.people import is_fixed, is_invited
from pmweb.accounts.sessions import Way, let_in, user_of


def onward_of(request: HttpRequest, otherwise: str) -> str:
    """What `next` says; else `otherwise`, an address or the name of one."""
    wanted = request.POST.get("next") or request.GET.get("next", "")
    return wanted if is_here(request, wanted) else resolve_url(otherwise)


def is_here(request: HttpRequest, address: str) -> bool:
    """Whether an address is one of this site, from its root on: no relative one, no name of a page."""
    return address.startswith(("/", "http://", "https://")) and url_has_allowed_host_and_scheme(
        address, {request.get_host()}, require_https=request.is_secure()
    )


def way_to_confirm(request: HttpRequest) -> HttpResponseRedirect:
    """To the page that asks, and from there back to this one; of a button, to the page it is on."""
    path = request.get_full_path()
    if request.method == "POST":
        referer = request.headers.get("Referer", "")
        path = urlsplit(referer).path if is_here(request, referer) else reverse("account")
    return HttpResponseRedirect(f"{reverse('confirm')}?{urlencode({'next': path})}")


def ask_who_it_is(request: HttpRequest) -> HttpResponseRedirect:
    """The way to the page that asks, which then has what a form has sent here."""
    credentials.keep_sent_form(request)
    return way_to_confirm(request)


@never_cache
@sensitive_post_parameters("password")
def confirm(request: HttpRequest) -> HttpResponse:
    """Ask for the password where there is one; say how to get a link, which leads on where this was to go."""
    user, onward = user_of(request), onward_of(request, settings.LOGIN_REDIRECT_URL)
    has_password = user.has_usable_password()
    form = ConfirmForm(user, request.POST or None, request=request) if has_password else None
    if request.method == "POST" and form is not None and form.is_valid():
        credentials.shown(request)
    if credentials.is_recent(request):
        sent = credentials.sent_form(request)
        if sent is None:
            return HttpResponseRedirect(onward)
        return render(request, "pmweb/confirmed.html", {"sent": sent, "next": onward})
    is_kept = credentials.has_sent_form(request)
    here = f"{reverse('confirm')}?{urlencode({'next': onward})}"
    credentials.wants(request, here if is_kept else onward)
    context = {
        "form": form,
        "next": onward,
        "is_kept": is_kept,
        "is_fixed": is_fixed(user),
        "minutes": round(credentials.WINDOW.total_seconds() / 60),
    }
    failed = form is not None and bool(form.errors)
    return render(request, "pmweb/confirm.html", context, status=400 if failed else 200)


@never_cache
@sensitive_post_parameters("password")
def login_page(request: HttpRequest) -> HttpResponse:
    """Ask for name and password, or say how to get a link where no password is set."""
    onward = onward_of(request, settings.LOGIN_REDIRECT_URL)
    if request.user.is_authenticated:
        return HttpResponseRedirect(onward)
    users = list(User.objects.filter(is_active=True)[:2])
    form = PasswordLoginForm(
        request.POST or None,
        request=request,
        sole=users[0] if len(users) == 1 else None,
    )
    if request.method == "POST" and form.is_valid():
        assert form.user is not None  # the form found it
        return let_in(request, form.user, Way.PASSWORD, onward)
    context = {
        "form": form,
        "has_password": len(users) > 1 or any(user.has_usable_password() for user in users),
        "next": request.POST.get("next") or request.GET.get("next", ""),
    }
    return render(request, "pmweb/login.html", context, status=400 if form.errors else 200)


@never_cache
def login_link(request: HttpRequest, token: str) -> HttpResponse:
    """Show a button, and log in when it is pressed: fetching a link must not use it up."""
    if request.method == "POST":
        user = links.redeem(token)
        if user is not None:
            invited = is_invited(user) and not is_fixed(user)
            confirmed_for = credentials.wanted(request) if user == request.user else ""
            otherwise = resolve_url("password" if invited else settings.LOGIN_REDIRECT_URL)
            onward = otherwise if invited else confirmed_for or otherwise
            return let_in(request, user, Way.LINK, onward)
    else:
        user = links.user_of(token)
        if user is not None:
            context = {"usable": True, "whose": user, "invited": is_invited(user) and not is_fixed(user)}
            return render(request, "pmweb/login_link.html", context)
    return render(request, "pmweb/login_link.html", {"usable": False}, status=410)
