"""The audit log: who did what."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class AuditEntry(models.Model):
    """One thing that somebody did. Names are kept as they were, so that it can be read when the thing is
    gone.
    """

    class Action(models.TextChoices):
        STARTED = "started", "started"
        STEERED = "steered", "paused or resumed"
        CANCELLED = "cancelled", "cancelled"
        CHANGED = "changed", "changed"
        DELETED = "deleted", "deleted"
        EXPORTED = "exported", "exported"
        UPLOADED = "uploaded", "uploaded"
        LOGGED_IN = "logged-in", "logged in"
        LOGGED_OUT = "logged-out", "logged out"
        FAILED = "failed", "failed to log in"
        REFUSED = "refused", "was refused"
        ACCOUNTS = "accounts", "changed accounts"
        TOKENS = "tokens", "changed tokens"

    at = models.DateTimeField(auto_now_add=True, db_index=True)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    actor_name = models.CharField(
        max_length=150, blank=True, help_text="empty: a visitor who is not logged in"
    )
    via = models.CharField(max_length=20, help_text="page, API or command")
    address = models.CharField(max_length=64, blank=True)
    action = models.CharField(max_length=12, choices=Action.choices)
    kind = models.CharField(max_length=40, blank=True, help_text="what kind of thing, e.g. run")
    object_id = models.BigIntegerField(null=True, blank=True)
    name = models.CharField(max_length=200, blank=True)
    detail = models.CharField(max_length=500, blank=True)

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["actor_name", "id"], name="audit_of_actor"),
            models.Index(fields=["action", "id"], name="audit_of_action"),
        ]
