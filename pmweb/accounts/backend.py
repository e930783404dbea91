"""Django's authentication backend that loads a session's user together with the role."""

from __future__ import annotations

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User


class Accounts(ModelBackend):
    """Saves one query per request: the role is needed every time."""

    def get_user(self, user_id: int) -> User | None:
        """The user with this id, if active."""
        user = User.objects.select_related("account").filter(pk=user_id).first()
        return user if user is not None and self.user_can_authenticate(user) else None
