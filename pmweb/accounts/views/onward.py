"""Where a visitor wanted to go before they were asked who they are, if that is on this site."""

from __future__ import annotations

from urllib.parse import urlencode, urlsplit

from django.http import HttpRequest, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme


def onward_of(request: HttpRequest, otherwise: str) -> str:
    """What `next` says; else `otherwise`, an address or the name of one."""
    wanted = request.POST.get("next") or request.GET.get("next", "")
    return wanted if is_here(request, wanted) else resolve_url(otherwise)


def is_here(request: HttpRequest, address: str) -> bool:
    """Whether an address is one of this site."""
    return url_has_allowed_host_and_scheme(address, {request.get_host()}, require_https=request.is_secure())


def ask_who_it_is(request: HttpRequest) -> HttpResponseRedirect:
    """The way to the page that asks, and from there back to this one; of a button, to the page it is on."""
    path = request.get_full_path()
    if request.method == "POST":
        referer = request.headers.get("Referer", "")
        path = urlsplit(referer).path if is_here(request, referer) else reverse("account")
    return HttpResponseRedirect(f"{reverse('confirm')}?{urlencode({'next': path})}")
