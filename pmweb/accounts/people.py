"""Inviting people, roles, one-time log-in links, deactivation.

Every change is recorded in the audit log. The account of the shell (`ADMINISTRATOR`) can neither be
deactivated nor lose its role, so that there always is an administrator.

A link has 256 random bits, is stored hashed, can be used once, and expires after an hour; an invitation after
a week. Only administrators and users of the shell can create links. Reading a link must not use it up: chat
programs and mail scanners fetch addresses.
"""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.urls import reverse
from django.utils import timezone

from inference.core.errors import InvalidInputError
from pmweb.accounts import api_tokens, audit, sessions
from pmweb.accounts.api_tokens import digest_of
from pmweb.accounts.audit import Action
from pmweb.accounts.roles import role_of, set_role
from pmweb.models import LoginLink, Role

ADMINISTRATOR = "admin"
LINK_LIFETIME = timedelta(hours=1)
INVITATION = timedelta(days=7)
"""Lifetime of the link of an invitation."""


def ensure_administrator() -> User:
    """The administrator's account; created without a password if it is missing."""
    user, created = get_user_model().objects.get_or_create(
        username=ADMINISTRATOR, defaults={"is_staff": True, "is_superuser": True}
    )
    if created:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    if role_of(user) != Role.ADMIN:
        set_role(user, Role.ADMIN)
    return user


class AccountError(InvalidInputError):
    """An account cannot be changed in this way, or does not exist; the message says why."""


def is_fixed(user: User) -> bool:
    """Whether this is the administrator's account, whose role cannot change."""
    return user.get_username() == ADMINISTRATOR


@transaction.atomic
def invite(name: str, role: Role, by: Any = None) -> tuple[User, str]:
    """Create an account without a password; returns it with the token of its log-in link."""
    user = User(username=name)
    user.set_unusable_password()
    user.save()
    set_role(user, role, invited_by=by)
    audit.record(by, Action.ACCOUNTS, user, detail=f"invited as {role.label}")
    return user, issue_link(user, INVITATION)


@transaction.atomic
def new_link(user: User, by: Any = None) -> str:
    """Replace the account's log-in links by a new one; returns its token. Raises `AccountError`."""
    if not user.is_active:
        raise AccountError(f"{user.get_username()} is deactivated, so no link would let them in")
    LoginLink.objects.filter(user=user, used=None).delete()
    audit.record(by, Action.ACCOUNTS, user, detail="new log-in link")
    return issue_link(user, INVITATION)


@transaction.atomic
def change_role(user: User, role: Role, by: Any = None) -> None:
    """Change a role. Raises `AccountError` for the administrator's account."""
    before = role_of(user)
    if before == role:
        return
    if is_fixed(user):
        raise AccountError(f"{ADMINISTRATOR} stays an administrator: the shell gets in by this account")
    set_role(user, role)
    audit.record(by, Action.ACCOUNTS, user, detail=f"{before.label} → {role.label}")


@transaction.atomic
def deactivate(user: User, by: Any = None) -> None:
    """Deactivate an account: its sessions, links and tokens end at once, its rows stay.

    Raises `AccountError` for the administrator's account and for one's own.
    """
    if is_fixed(user):
        raise AccountError(f"{ADMINISTRATOR} stays: the shell gets in by this account")
    if user == by:
        raise AccountError("you cannot deactivate your own account: another administrator can")
    user.is_active = False
    user.save(update_fields=["is_active"])
    sessions.end_all_of(user)
    LoginLink.objects.filter(user=user, used=None).delete()
    audit.record(by, Action.ACCOUNTS, user, detail="deactivated")
    api_tokens.revoke_all_of(user, by=by)


@transaction.atomic
def reactivate(user: User, by: Any = None) -> None:
    """Reactivate an account with its role and password; sessions stay ended, tokens revoked."""
    if not user.is_active:  # sessions that began during the deactivation
        sessions.end_all_of(user)
    user.is_active = True
    user.save(update_fields=["is_active"])
    audit.record(by, Action.ACCOUNTS, user, detail="reactivated")


def active_user(name: str) -> User:
    """The active account with this name. Raises `AccountError`."""
    user = User.objects.filter(username=name, is_active=True).first()
    if user is None:
        raise AccountError(f"there is no active account {name!r}: `manage.py account list`")
    return user


def is_invited(user: User) -> bool:
    """Whether the user has never logged in."""
    return user.is_active and user.last_login is None


def accounts() -> QuerySet[User]:
    """All accounts with the number of their valid `tokens`, deactivated ones last."""
    valid = Q(api_tokens__in=api_tokens.valid_tokens())
    rows = User.objects.select_related("account").annotate(tokens=Count("api_tokens", filter=valid))
    return rows.order_by("-is_active", "username")


def issue_link(user: User, lifetime: timedelta = LINK_LIFETIME) -> str:
    """Create a log-in link and return its token; deletes expired links."""
    now = timezone.now()
    LoginLink.objects.filter(expires__lt=now).delete()
    token = secrets.token_urlsafe(32)
    LoginLink.objects.create(user=user, token_hash=digest_of(token), expires=now + lifetime)
    return token


def issue_link_in_shell(user: User, how: str) -> str:
    """`issue_link` for commands; `how` is the detail in the audit log."""
    audit.record(None, Action.ACCOUNTS, user, detail=f"log-in link, {how}")
    return issue_link(user)


def valid_links(user: User) -> QuerySet[LoginLink]:
    return LoginLink.objects.filter(user=user, used=None, expires__gt=timezone.now())


@transaction.atomic
def end_links(user: User, by: Any = None) -> int:
    """Delete the user's unused links; returns their number."""
    number, _ = valid_links(user).delete()
    if number:
        audit.record(by, Action.ACCOUNTS, user, detail=f"log-in links ended: {number}")
    return number


def link_path(token: str) -> str:
    """Path of a log-in link; it is resolved without loading all pages, as commands print it."""
    return reverse("login-link", "pmweb.accounts.pages", [token])


def link_user(token: str) -> User | None:
    """The user whom `redeem` would return, without using up the link."""
    link = _usable(token).select_related("user").first()
    return None if link is None else link.user


def invited_until(user: User) -> datetime | None:
    """Expiry of the user's last valid link; None without one."""
    return valid_links(user).order_by("-expires").values_list("expires", flat=True).first()


def redeem(token: str) -> User | None:
    """Use up the link and return its user; None if it is unknown, used or expired.

    The conditional UPDATE lets only one of two concurrent browsers in.
    """
    if _usable(token).update(used=timezone.now()) != 1:
        return None
    return LoginLink.objects.select_related("user").get(token_hash=digest_of(token)).user


def _usable(token: str) -> QuerySet[LoginLink]:
    return LoginLink.objects.filter(
        token_hash=digest_of(token), used__isnull=True, expires__gt=timezone.now(), user__is_active=True
    )
