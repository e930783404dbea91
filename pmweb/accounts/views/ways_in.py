"""Log-in by password or one-time link."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from pmweb.accounts import links, recent
from pmweb.accounts.entering import Way, let_in
from pmweb.accounts.forms import PasswordLoginForm
from pmweb.accounts.people import is_fixed, is_invited
from pmweb.accounts.views.onward import onward_of


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
            confirmed_for = recent.wanted(request) if user == request.user else ""
            onward = "password" if invited else confirmed_for or settings.LOGIN_REDIRECT_URL
            return let_in(request, user, Way.LINK, onward)
    else:
        user = links.user_of(token)
        if user is not None:
            context = {"usable": True, "whose": user, "invited": is_invited(user) and not is_fixed(user)}
            return render(request, "pmweb/login_link.html", context)
    return render(request, "pmweb/login_link.html", {"usable": False}, status=410)
