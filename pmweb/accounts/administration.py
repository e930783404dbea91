"""For administrators: who has an account, and what each of them may do."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache

from pmweb.accounts import api_tokens, people, sessions
from pmweb.accounts.forms import InviteForm, RoleForm
from pmweb.accounts.links import invited_until, path_of
from pmweb.accounts.people import AccountError
from pmweb.accounts.roles import role_of
from pmweb.models import ApiToken, AuditEntry, Role

NEWEST = 10

MEANINGS = {
    Role.VIEWER: "looks at everything, changes nothing",
    Role.OPERATOR: "also uploads, measures, infers, changes and deletes",
    Role.ADMIN: "also accounts, the audit log and back-ups",
}


def accounts(request: HttpRequest) -> HttpResponse:
    """Everybody who has an account, those who are shut out last."""
    rows = [(user, role_of(user), people.is_invited(user)) for user in people.accounts()]
    return render(request, "pmweb/accounts.html", {"rows": rows})


@never_cache
def invite_page(request: HttpRequest) -> HttpResponse:
    """Ask for name and role; then make the account and show the link, this once."""
    form = InviteForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        user, token = people.invite(
            form.cleaned_data["username"], Role(form.cleaned_data["role"]), by=request.user
        )
        return _link_page(request, user, token)
    context = {"form": form, "meanings": [(role.value, role.label, MEANINGS[role]) for role in Role]}
    return render(request, "pmweb/account_invite.html", context, status=400 if form.errors else 200)


@never_cache
def account_link(request: HttpRequest, pk: int) -> HttpResponse:
    """Another link for somebody who has forgotten the password, or never came."""
    user = get_object_or_404(User, pk=pk)
    try:
        return _link_page(request, user, people.new_link(user, by=request.user))
    except AccountError as error:
        messages.error(request, f"No link was made: {error}.")
        return redirect("account-of", pk)


def _link_page(request: HttpRequest, user: User, token: str) -> HttpResponse:
    """The answer to a POST, so that no address has the link."""
    link = request.build_absolute_uri(path_of(token))
    context = {"whose": user, "link": link, "until": invited_until(user), "role": role_of(user)}
    return render(request, "pmweb/account_link.html", context)


def account_of(request: HttpRequest, pk: int) -> HttpResponse:
    user = get_object_or_404(User.objects.select_related("account"), pk=pk)
    context = {
        "whose": user,
        "role": role_of(user),
        "roles": [(role.value, role.label, MEANINGS[role]) for role in Role],
        "is_fixed": people.is_fixed(user),
        "invited": people.is_invited(user),
        "until": invited_until(user),
        "tokens": api_tokens.shown(ApiToken.objects.filter(user=user)),
        "sessions": sessions.of(user),
        "entries": AuditEntry.objects.filter(actor=user)[:NEWEST],
    }
    return render(request, "pmweb/account_of.html", context)


def account_role(request: HttpRequest, pk: int) -> HttpResponse:
    """Another role, from the next request on."""
    form = RoleForm(request.POST)
    if not form.is_valid():
        messages.error(request, " ".join(str(flaw) for flaws in form.errors.values() for flaw in flaws))
        return redirect("account-of", pk)
    role = Role(form.cleaned_data["role"])
    return _changed(
        request,
        pk,
        lambda user: people.change_role(user, role, by=request.user),
        f"is a{'n' if role.label[0] in 'ao' else ''} {role.label} now",
    )


def account_log_out(request: HttpRequest, pk: int) -> HttpResponse:
    """End all sessions of somebody, who can log in again."""
    return _changed(
        request, pk, lambda user: sessions.log_out(user, by=request.user), "is logged out everywhere"
    )


def account_deactivate(request: HttpRequest, pk: int) -> HttpResponse:
    return _changed(
        request, pk, lambda user: people.deactivate(user, by=request.user), "was deactivated, with all tokens"
    )


def account_reactivate(request: HttpRequest, pk: int) -> HttpResponse:
    return _changed(request, pk, lambda user: people.reactivate(user, by=request.user), "can log in again")


def _changed(request: HttpRequest, pk: int, change: Callable[[User], object], done: str) -> HttpResponse:
    user = get_object_or_404(User, pk=pk)
    try:
        change(user)
    except AccountError as error:
        messages.error(request, f"Nothing was changed: {error}.")
    else:
        messages.success(request, f"{user.get_username()} {done}.")
    return redirect("account-of", pk)
