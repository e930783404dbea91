"""Roles of users, and access levels of visitors.

| level | visitors |
|---|---|
| ANYONE | all |
| READER | logged-in users; with public reading, all visitors |
| MEMBER | logged-in users |
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
    """A visitor's permissions; each level includes the lower ones."""

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
    """The role of a user; superusers without one are administrators, others viewers."""
    try:
        return Role(user.account.role)
    except Account.DoesNotExist:
        return Role.ADMIN if user.is_superuser else Role.VIEWER


def level_of(user: Any) -> AccessLevel:
    """The level of a user; None and `AnonymousUser` are visitors."""
    if user is not None and user.is_authenticated:
        return LEVEL_OF_ROLE[role_of(user)] if user.is_active else AccessLevel.ANYONE
    return AccessLevel.READER if settings.PUBLIC_READING else AccessLevel.ANYONE


@transaction.atomic
def set_role(user: User, role: Role, invited_by: User | None = None) -> None:
    """Set the role, from the next request on; `invited_by` is stored for a new account."""
    account = Account.objects.filter(user=user).first() or Account(invited_by=invited_by)
    account.user = user
    account.role = role
    account.save()


def level_of_request(request: HttpRequest) -> AccessLevel:
    """The level of the request's user, cached in the request."""
    level: AccessLevel | None = getattr(request, "_level", None)
    if level is None:
        level = request._level = level_of(getattr(request, "user", None))  # type: ignore[attr-defined]
    return level


def rights(request: HttpRequest) -> dict[str, bool]:
    """Context processor: the visitor's permissions."""
    level = level_of_request(request)
    return {
        "may_read": level >= AccessLevel.READER,
        "may_operate": level >= AccessLevel.OPERATOR,
        "may_administer": level >= AccessLevel.ADMIN,
    }
