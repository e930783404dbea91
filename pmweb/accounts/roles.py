"""Who may do how much: the role of a user, and the level of a visitor.

| level | who reaches it |
|---|---|
| ANYONE | whoever asks |
| READER | everybody who is logged in; with public reading, everybody |
| MEMBER | everybody who is logged in |
| OPERATOR | operators and administrators |
| ADMIN | administrators |
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest

from pmweb.models import Account, Role


class AccessLevel(IntEnum):
    """What somebody may do: everything up to it."""

    ANYONE = 0
    READER = 1
    MEMBER = 2
    OPERATOR = 3
    ADMIN = 4


LEVEL_OF_ROLE = {
    Role.VIEWER: AccessLevel.MEMBER,
    Role.OPERATOR: AccessLevel.OPERATOR,
    Role.ADMIN: AccessLevel.ADMIN,
}


def role_of(user: User) -> Role:
    """The role of somebody who has an account."""
    try:
        return Role(user.account.role)
    except Account.DoesNotExist:
        return Role.ADMIN if user.is_superuser else Role.VIEWER


def level_of(user: Any) -> AccessLevel:
    """The level of a request's or a WebSocket's user, be it nobody or `AnonymousUser`."""
    if user is not None and user.is_authenticated:
        return LEVEL_OF_ROLE[role_of(user)] if user.is_active else AccessLevel.ANYONE
    return AccessLevel.READER if settings.PUBLIC_READING else AccessLevel.ANYONE


@transaction.atomic
def give_role(user: User, role: Role, invited_by: User | None = None) -> None:
    """Let the user have this role from the next request on."""
    account = Account.objects.filter(user=user).first() or Account(invited_by=invited_by)
    account.user = user
    account.role = role
    account.save()


def level_of_request(request: HttpRequest) -> AccessLevel:
    """The level of whoever sent it, looked up once."""
    found: AccessLevel | None = getattr(request, "_level", None)
    if found is None:
        found = request._level = level_of(getattr(request, "user", None))  # type: ignore[attr-defined]
    return found


def rights(request: HttpRequest) -> dict[str, bool]:
    """For templates: which buttons are of use to the visitor. `may_read`: pages at all."""
    level = level_of_request(request)
    return {
        "may_read": level >= AccessLevel.READER,
        "may_operate": level >= AccessLevel.OPERATOR,
        "may_administer": level >= AccessLevel.ADMIN,
    }
