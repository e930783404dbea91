"""Ways in: one-time log-in links and failed log-ins."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class LoginLink(models.Model):
    """A link that logs its bearer in once. Only the token's hash is kept, which is no key."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    token_hash = models.CharField(max_length=64, unique=True)
    created = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField()
    used = models.DateTimeField(null=True, blank=True)


class LoginFailure(models.Model):
    """A wrong password, kept as long as it counts against the address that it came from and the name it was
    tried for."""

    address = models.CharField(max_length=64)
    username = models.CharField(max_length=150, blank=True)
    at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["address", "at"], name="login_failures_of_address"),
            models.Index(fields=["username", "at"], name="login_failures_of_name"),
        ]
