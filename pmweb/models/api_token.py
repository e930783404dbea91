"""Tokens by which programs act for a person."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class Scope(models.TextChoices):
    """What a token may be used for, each more than the one before; never more than its user may."""

    READ = "read", "read"
    OPERATE = "operate", "operate"
    ADMINISTER = "administer", "administer"


class ApiToken(models.Model):
    """What a program shows to act as a user; only its SHA-256 is kept. Revoked and expired ones let nobody
    in.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100, help_text="what it is used for")
    scope = models.CharField(max_length=10, choices=Scope.choices, default=Scope.READ)
    digest = models.CharField(max_length=64, unique=True)
    created = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField(null=True, blank=True, help_text="null: never")
    last_used = models.DateTimeField(null=True, blank=True)
    revoked = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(scope__in=["read", "operate", "administer"]), name="api_token_scope_known"
            )
        ]
