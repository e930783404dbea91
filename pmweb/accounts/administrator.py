"""The one account that there is."""

from __future__ import annotations

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User

ADMINISTRATOR = "admin"


def ensure_administrator() -> User:
    """The administrator's account, made without a password when it is missing."""
    user, created = get_user_model().objects.get_or_create(
        username=ADMINISTRATOR, defaults={"is_staff": True, "is_superuser": True}
    )
    if created:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    return user


def find_administrator() -> User | None:
    """The administrator's account, or None before the first start."""
    return get_user_model().objects.filter(username=ADMINISTRATOR, is_active=True).first()
