"""People get accounts, roles and one-time log-in links, and are shut out.

Each change is noted in the audit log under whoever made it. The account that the shell logs in to
(`ADMINISTRATOR`) can be neither shut out nor lose its role: so there always is an administrator.

A link has 256 random bits, is stored hashed, used once, and gone after an hour; an invitation after a week.
Being able to make one means being able to run commands as the owner of the database, which is more than the
site could give, or being an administrator. Reading a link must not use it up: chat programs and mail scanners
fetch what they see.
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
from pmweb.accounts.roles import give_role, role_of
from pmweb.models import LoginLink, Role

ADMINISTRATOR = "admin"
LINK_LIFETIME = timedelta(hours=1)
INVITATION = timedelta(days=7)
"""How long an invited person has to come."""


def ensure_administrator() -> User:
    """The administrator's account, made without a password when it is missing."""
    user, created = get_user_model().objects.get_or_create(
        username=ADMINISTRATOR, defaults={"is_staff": True, "is_superuser": True}
    )
    if created:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    if role_of(user) != Role.ADMIN:
        give_role(user, Role.ADMIN)
    return user


class AccountError(InvalidInputError):
    """An account cannot be changed in this way, or there is none; the message says why."""


def is_fixed(user: User) -> bool:
    """Whether this is the account that keeps its role, whatever happens."""
    return user.get_username() == ADMINISTRATOR


@transaction.atomic
def invite(name: str, role: Role, by: Any = None) -> tuple[User, str]:
    """A new account without a password, and the token of the link by which its owner comes in."""
    user = User(username=name)
    user.set_unusable_password()
    user.save()
    give_role(user, role, invited_by=by)
    audit.record(by, Action.ACCOUNTS, user, detail=f"invited as {role.label}")
    return user, issue_link(user, INVITATION)


@transaction.atomic
def new_link(user: User, by: Any = None) -> str:
    """The token of another link; those given before let nobody in any more. Raises `AccountError`."""
    if not user.is_active:
        raise AccountError(f"{user.get_username()} is deactivated, so no link would let them in")
    LoginLink.objects.filter(user=user, used=None).delete()
    audit.record(by, Action.ACCOUNTS, user, detail="new log-in link")
    return issue_link(user, INVITATION)


@transaction.atomic
def change_role(user: User, role: Role, by: Any = None) -> None:
    """Let the user have another role. Raises `AccountError` for one that keeps its role."""
    before = role_of(user)
    if before == role:
        return
    if is_fixed(user):
        raise AccountError(f"{ADMINISTRATOR} stays an administrator: the shell gets in by this account")
    give_role(user, role)
    audit.record(by, Action.ACCOUNTS, user, detail=f"{before.label} → {role.label}")


@transaction.atomic
def deactivate(user: User, by: Any = None) -> None:
    """Shut the user out at once and for good, with sessions, links and tokens; what they have made stays.

    Raises `AccountError`.
    """
    if is_fixed(user):
        raise AccountError(f"{ADMINISTRATOR} stays: the shell gets in by this account")
    if user == by:
        raise AccountError("you cannot shut yourself out: another administrator can")
    user.is_active = False
    user.save(update_fields=["is_active"])
    sessions.end_all_of(user)
    LoginLink.objects.filter(user=user, used=None).delete()
    audit.record(by, Action.ACCOUNTS, user, detail="deactivated")
    api_tokens.revoke_all_of(user, by=by)


@transaction.atomic
def reactivate(user: User, by: Any = None) -> None:
    """Let the user in again, with the role and password of before; sessions stay ended, tokens revoked."""
    if not user.is_active:  # one that was begun while they were being shut out, or before that ended any
        sessions.end_all_of(user)
    user.is_active = True
    user.save(update_fields=["is_active"])
    audit.record(by, Action.ACCOUNTS, user, detail="reactivated")


def active_user(name: str) -> User:
    """Whoever has this name and may come in. Raises `AccountError`."""
    user = User.objects.filter(username=name, is_active=True).first()
    if user is None:
        raise AccountError(f"there is no active account {name!r}: `manage.py account list`")
    return user


def is_invited(user: User) -> bool:
    """Whether the user has still to come for the first time."""
    return user.is_active and user.last_login is None


def accounts() -> QuerySet[User]:
    """Everybody who has an account, those who are shut out last, each with the number of valid `tokens`."""
    valid = Q(api_tokens__in=api_tokens.valid_tokens())
    counted = User.objects.select_related("account").annotate(tokens=Count("api_tokens", filter=valid))
    return counted.order_by("-is_active", "username")


def issue_link(user: User, lifetime: timedelta = LINK_LIFETIME) -> str:
    """A new token for `user`; links that can no longer be used are swept away."""
    now = timezone.now()
    LoginLink.objects.filter(expires__lt=now).delete()
    token = secrets.token_urlsafe(32)
    LoginLink.objects.create(user=user, token_hash=digest_of(token), expires=now + lifetime)
    return token


def issue_link_in_shell(user: User, how: str) -> str:
    """The same for whoever runs commands here; `how` is said in the audit log."""
    audit.record(None, Action.ACCOUNTS, user, detail=f"log-in link, {how}")
    return issue_link(user)


def waiting_links(user: User) -> QuerySet[LoginLink]:
    """Those that would let this user in now."""
    return LoginLink.objects.filter(user=user, used=None, expires__gt=timezone.now())


@transaction.atomic
def end_links(user: User, by: Any = None) -> int:
    """Log-in links that wait; how many there were."""
    number, _ = waiting_links(user).delete()
    if number:
        audit.record(by, Action.ACCOUNTS, user, detail=f"log-in links ended: {number}")
    return number


def link_path(token: str) -> str:
    """Where it logs in, looked up among the addresses of accounts alone: who prints a link needs no page."""
    return reverse("login-link", "pmweb.accounts.pages", [token])


def link_user(token: str) -> User | None:
    """Whom `redeem` would return now."""
    link = _usable(token).select_related("user").first()
    return None if link is None else link.user


def invited_until(user: User) -> datetime | None:
    """Until when a link lets this user in; None where there is none."""
    return waiting_links(user).order_by("-expires").values_list("expires", flat=True).first()


def redeem(token: str) -> User | None:
    """Use the link up and return its user; None if it is unknown, used or expired.

    The conditional UPDATE decides between two browsers that come at once.
    """
    if _usable(token).update(used=timezone.now()) != 1:
        return None
    return LoginLink.objects.select_related("user").get(token_hash=digest_of(token)).user


def _usable(token: str) -> QuerySet[LoginLink]:
    return LoginLink.objects.filter(
        token_hash=digest_of(token), used__isnull=True, expires__gt=timezone.now(), user__is_active=True
    )
