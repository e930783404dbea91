"""Log-in by password or one-time link, and the password form."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, update_session_auth_hash
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render, resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from pmweb.accounts import links
from pmweb.accounts.administrator import find_administrator
from pmweb.accounts.forms import PasswordLoginForm

BACKEND = "django.contrib.auth.backends.ModelBackend"


@login_not_required
@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
def login_page(request: HttpRequest) -> HttpResponse:
    """Ask for the password, or say how to get a link where none is set."""
    onward = _onward(request)
    if request.user.is_authenticated:
        return HttpResponseRedirect(onward)
    administrator = find_administrator()
    form = PasswordLoginForm(request.POST or None, address=request.META.get("REMOTE_ADDR", ""))
    if request.method == "POST" and form.is_valid():
        login(request, form.user, backend=BACKEND)
        return HttpResponseRedirect(onward)
    context = {
        "form": form,
        "has_password": administrator is not None and administrator.has_usable_password(),
        "next": request.POST.get("next") or request.GET.get("next", ""),
    }
    return render(request, "pmweb/login.html", context, status=400 if form.errors else 200)


@login_not_required
@never_cache
@require_http_methods(["GET", "POST"])
def login_link(request: HttpRequest, token: str) -> HttpResponse:
    """Show a button, and log in when it is pressed: fetching a link must not use it up."""
    if request.method == "POST":
        user = links.redeem(token)
        if user is not None:
            login(request, user, backend=BACKEND)
            return redirect(settings.LOGIN_REDIRECT_URL)
    elif links.is_usable(token):
        return render(request, "pmweb/login_link.html", {"usable": True})
    return render(request, "pmweb/login_link.html", {"usable": False}, status=410)


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
def password(request: HttpRequest) -> HttpResponse:
    """Set the password, or change it: then the old one is asked for. Ends every other session."""
    user = request.user
    assert isinstance(user, User)  # LoginRequiredMiddleware let nobody else in
    form_class = PasswordChangeForm if user.has_usable_password() else SetPasswordForm
    form = form_class(user, request.POST or None)
    if request.method == "POST" and form.is_valid():
        form.save()
        update_session_auth_hash(request, user)
        messages.success(request, "The password is set. Other sessions have been logged out.")
        return redirect(settings.LOGIN_REDIRECT_URL)
    return render(request, "pmweb/password.html", {"form": form}, status=400 if form.errors else 200)


def _onward(request: HttpRequest) -> str:
    """Where the visitor wanted to go, if that is on this site."""
    wanted = request.POST.get("next") or request.GET.get("next", "")
    if url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure()):
        return wanted
    return resolve_url(settings.LOGIN_REDIRECT_URL)
