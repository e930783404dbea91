"""The account that there always is: whoever can run commands here gets in by it."""

from __future__ import annotations

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User

from pmweb.accounts.roles import give_role, role_of
from pmweb.models import Role

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
