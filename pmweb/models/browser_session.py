"""What is known of a browser that somebody is logged in with."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class BrowserSession(models.Model):
    """A log-in that goes on: whose, since when, from where.

    `session` is the key of the session's row as it stands in the database (`accounts.session_store`), without
    a reference: Django deletes and renames sessions by itself, and a row without one is swept away.
    """

    class Way(models.TextChoices):
        PASSWORD = "password", "password"
        LINK = "link", "log-in link"
        OTHER = "", "unknown"

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="browser_sessions"
    )
    session = models.CharField(max_length=40, unique=True)
    way = models.CharField(max_length=8, choices=Way.choices, blank=True)
    created = models.DateTimeField()
    address = models.CharField(max_length=64, blank=True, help_text="where the log-in came from")
    browser = models.CharField(max_length=300, blank=True, help_text="as it calls itself")
    last_seen = models.DateTimeField(help_text="to the minute")
    last_address = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["-last_seen", "-id"]
