"""People get accounts, roles, and are shut out. Each change is noted in the audit log under whoever made it.

The account that the shell logs in to (`administrator`) can be neither shut out nor lose its role: so there
always is an administrator.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Q, QuerySet

from inference.core.errors import InvalidInputError
from pmweb.accounts import api_tokens, audit, links, sessions
from pmweb.accounts.audit import Action
from pmweb.accounts.roles import give_role, role_of
from pmweb.models import ApiToken, LoginLink, Role

ADMINISTRATOR = "admin"


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


INVITATION = timedelta(days=7)
"""How long an invited person has to come."""


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
    return user, links.issue(user, INVITATION)


@transaction.atomic
def new_link(user: User, by: Any = None) -> str:
    """The token of another link; those given before let nobody in any more. Raises `AccountError`."""
    if not user.is_active:
        raise AccountError(f"{user.get_username()} is deactivated, so no link would let them in")
    LoginLink.objects.filter(user=user, used=None).delete()
    audit.record(by, Action.ACCOUNTS, user, detail="new log-in link")
    return links.issue(user, INVITATION)


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
    api_tokens.revoke(ApiToken.objects.filter(user=user), by=by)


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
