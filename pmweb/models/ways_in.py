"""Ways in: one-time log-in links, failed log-ins, and from where somebody has come before."""

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


class FailedLogins(models.Model):
    """How many wrong passwords came from somewhere, for a name, or both: `key` is a keyed hash of which.

    So no name stands here that was typed: people type passwords there.
    """

    key = models.CharField(max_length=64, unique=True)
    failures = models.PositiveIntegerField()
    last = models.DateTimeField(db_index=True)


class KnownNetwork(models.Model):
    """From where somebody has logged in, or has used one of their tokens: an address, or an IPv6 /64."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    token = models.ForeignKey(
        "ApiToken", null=True, blank=True, on_delete=models.CASCADE, related_name="networks"
    )
    network = models.CharField(max_length=64)
    first = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "network"],
                condition=models.Q(token__isnull=True),
                name="known_network_of_user_once",
            ),
            models.UniqueConstraint(fields=["token", "network"], name="known_network_of_token_once"),
        ]
