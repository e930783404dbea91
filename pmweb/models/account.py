"""Accounts: roles, tokens by which programs act for a person, sessions of browsers, and ways to log in."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class Role(models.TextChoices):
    """What a person may do, each more than the one before."""

    VIEWER = "viewer", "viewer"
    OPERATOR = "operator", "operator"
    ADMIN = "admin", "administrator"


class Account(models.Model):
    """The role of a user. One who has none is a viewer, or the administrator where Django says superuser."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="account"
    )
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.VIEWER)
    invited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(role__in=["viewer", "operator", "admin"]), name="account_role_known"
            )
        ]


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
