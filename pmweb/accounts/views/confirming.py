"""Somebody who is logged in shows anew who they are: by the password, or by a fresh link."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from pmweb.accounts import recent
from pmweb.accounts.forms import ConfirmForm
from pmweb.accounts.people import is_fixed
from pmweb.accounts.views.onward import onward_of
from pmweb.accounts.views.own import user_of


@never_cache
@sensitive_post_parameters("password")
def confirm(request: HttpRequest) -> HttpResponse:
    """Ask for the password where there is one; say how to get a link, which leads on where this was to go."""
    user, onward = user_of(request), onward_of(request, settings.LOGIN_REDIRECT_URL)
    has_password = user.has_usable_password()
    form = ConfirmForm(user, request.POST or None, request=request) if has_password else None
    if request.method == "POST" and form is not None and form.is_valid():
        recent.shown(request)
        return HttpResponseRedirect(onward)
    if recent.is_recent(request):
        return HttpResponseRedirect(onward)
    recent.wants(request, onward)
    context = {
        "form": form,
        "next": onward,
        "is_fixed": is_fixed(user),
        "minutes": round(recent.WINDOW.total_seconds() / 60),
    }
    failed = form is not None and bool(form.errors)
    return render(request, "pmweb/confirm.html", context, status=400 if failed else 200)
