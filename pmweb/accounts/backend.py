"""How Django finds the user of a session: together with the role, which every request asks for."""

from __future__ import annotations

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User


class Accounts(ModelBackend):
    """Django's own, but for one query less per request."""

    def get_user(self, user_id: int) -> User | None:
        """The user, if there is one who may log in."""
        user = User.objects.select_related("account").filter(pk=user_id).first()
        return user if user is not None and self.user_can_authenticate(user) else None
