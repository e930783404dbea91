"""Pages of administrators: accounts, roles, and the audit log."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.utils.dateparse import parse_date
from django.views.decorators.cache import never_cache

from inference.web.file_answers import file_answer
from inference.web.paging import Order, page_of
from inference.web.validation import choice_parameter
from pmweb.accounts import api_tokens, people, sessions
from pmweb.accounts.audit import COLUMNS, MAX_CSV_ROWS, VIA, AuditQuery
from pmweb.accounts.forms import InviteForm, RoleForm
from pmweb.accounts.people import AccountError, invited_until, link_path
from pmweb.accounts.roles import role_of
from pmweb.models import ApiToken, AuditEntry, Role

LISTED_ENTRIES = 10

ROLE_DESCRIPTIONS = {
    Role.VIEWER: "looks at everything, changes nothing",
    Role.OPERATOR: "also uploads, measures, infers, changes and deletes",
    Role.ADMIN: "also accounts, the audit log and back-ups",
}


def accounts(request: HttpRequest) -> HttpResponse:
    """All accounts, deactivated ones last."""
    rows = [(user, role_of(user), people.is_invited(user)) for user in people.accounts()]
    return render(request, "pmweb/accounts.html", {"rows": rows})


@never_cache
def invite_page(request: HttpRequest) -> HttpResponse:
    """Create an account and show its log-in link, once."""
    form = InviteForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        user, token = people.invite(
            form.cleaned_data["username"], Role(form.cleaned_data["role"]), by=request.user
        )
        return _link_page(request, user, token)
    context = {"form": form, "meanings": [(role.value, role.label, ROLE_DESCRIPTIONS[role]) for role in Role]}
    return render(request, "pmweb/account_invite.html", context, status=400 if form.errors else 200)


@never_cache
def account_link(request: HttpRequest, pk: int) -> HttpResponse:
    """Create another log-in link, such as after a forgotten password."""
    user = get_object_or_404(User, pk=pk)
    try:
        return _link_page(request, user, people.new_link(user, by=request.user))
    except AccountError as error:
        messages.error(request, f"No link was created: {error}.")
        return redirect("account-of", pk)


def _link_page(request: HttpRequest, user: User, token: str) -> HttpResponse:
    """Show a link as the answer to a POST, so that it never is in an address."""
    link = request.build_absolute_uri(link_path(token))
    context = {"person": user, "link": link, "until": invited_until(user), "role": role_of(user)}
    return render(request, "pmweb/account_link.html", context)


def account_of(request: HttpRequest, pk: int) -> HttpResponse:
    user = get_object_or_404(User.objects.select_related("account"), pk=pk)
    context = {
        "person": user,
        "role": role_of(user),
        "roles": [(role.value, role.label, ROLE_DESCRIPTIONS[role]) for role in Role],
        "is_fixed": people.is_fixed(user),
        "invited": people.is_invited(user),
        "until": invited_until(user),
        "tokens": api_tokens.with_status(ApiToken.objects.filter(user=user)),
        "sessions": sessions.sessions_of(user),
        "entries": AuditEntry.objects.filter(actor=user)[:LISTED_ENTRIES],
    }
    return render(request, "pmweb/account_of.html", context)


def account_role(request: HttpRequest, pk: int) -> HttpResponse:
    """Change the role, from the next request on."""
    form = RoleForm(request.POST)
    if not form.is_valid():
        messages.error(request, " ".join(str(flaw) for flaws in form.errors.values() for flaw in flaws))
        return redirect("account-of", pk)
    role = Role(form.cleaned_data["role"])
    return _change(
        request,
        pk,
        lambda user: people.change_role(user, role, by=request.user),
        f"is a{'n' if role.label[0] in 'ao' else ''} {role.label} now",
    )


def account_log_out(request: HttpRequest, pk: int) -> HttpResponse:
    """End all sessions of an account; its user can log in again."""
    return _change(
        request, pk, lambda user: sessions.log_out(user, by=request.user), "is logged out everywhere"
    )


def account_deactivate(request: HttpRequest, pk: int) -> HttpResponse:
    return _change(
        request, pk, lambda user: people.deactivate(user, by=request.user), "was deactivated, with all tokens"
    )


def account_reactivate(request: HttpRequest, pk: int) -> HttpResponse:
    return _change(request, pk, lambda user: people.reactivate(user, by=request.user), "can log in again")


def _change(request: HttpRequest, pk: int, change: Callable[[User], object], outcome: str) -> HttpResponse:
    user = get_object_or_404(User, pk=pk)
    try:
        change(user)
    except AccountError as error:
        messages.error(request, f"The account was not changed: {error}.")
    else:
        messages.success(request, f"{user.get_username()} {outcome}.")
    return redirect("account-of", pk)


def _audit_query(request: HttpRequest) -> AuditQuery:
    """The query of the address; malformed days are ignored. Raises `BadRequest` for an unknown action."""
    return AuditQuery(
        request.GET.get("q", "").strip(),
        choice_parameter(request, "action", tuple(AuditEntry.Action.values)),
        choice_parameter(request, "via", VIA),
        _day(request.GET.get("since", "")),
        _day(request.GET.get("until", "")),
    )


def _day(text: str) -> date | None:
    try:
        day = parse_date(text)
    except ValueError:  # the 31st of February
        return None
    return day if day is not None and 1970 <= day.year < 9999 else None


def audit(request: HttpRequest) -> HttpResponse:
    query = _audit_query(request)
    order = Order("at", descending=True)
    context = {
        "query": query,
        "page": page_of(query.rows(), order, COLUMNS, request.GET.get("page", "")),
        "actions": AuditEntry.Action.choices,
        "ways": VIA,
        "most_rows": MAX_CSV_ROWS,
    }
    return render(request, "pmweb/audit.html", context)


def audit_csv(request: HttpRequest) -> HttpResponse:
    """The newest `MAX_CSV_ROWS` entries of the query as CSV, oldest first."""
    return file_answer(_audit_query(request).csv(), "text/csv", "audit", "csv")


urlpatterns = [
    path("accounts/", accounts, name="accounts"),
    path("accounts/invite/", invite_page, name="account-invite"),
    path("accounts/<int:pk>/", account_of, name="account-of"),
    path("accounts/<int:pk>/role/", account_role, name="account-role"),
    path("accounts/<int:pk>/link/", account_link, name="account-link"),
    path("accounts/<int:pk>/log-out/", account_log_out, name="account-log-out"),
    path("accounts/<int:pk>/deactivate/", account_deactivate, name="account-deactivate"),
    path("accounts/<int:pk>/reactivate/", account_reactivate, name="account-reactivate"),
    path("audit/", audit, name="audit"),
    path("audit.csv", audit_csv, name="audit-csv"),
]
