"""The house's own tables: people, their ways in, sessions and tokens, audit log, shared links, prunings."""

from __future__ import annotations

from django.conf import settings
from django.db import models

_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS", "Firefox"),
    ("CriOS", "Chrome"),
    ("HeadlessChrome", "headless Chrome"),
    ("Chromium/", "Chromium"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
    ("Python", "a Python program"),
)
"""The first that is found counts: browsers call themselves by the names of those before them."""
_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "an iPhone"),
    ("iPad", "an iPad"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)
_MAX_BROWSER_NAME = 60  # characters


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

    `session` is the key of the session's row as it stands in the database (`pmweb.accounts.sessions`),
    without a reference: Django deletes and renames sessions by itself, and a row without one is swept away.
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

    @property
    def browser_name(self) -> str:
        """Such as "Firefox on Linux"; what is unknown is shown as it calls itself."""
        name = next((name for part, name in _BROWSERS if part in self.browser), "")
        system = next((name for part, name in _SYSTEMS if part in self.browser), "")
        if not name:
            return self.browser[:_MAX_BROWSER_NAME] or "unknown browser"
        return f"{name} on {system}" if system else name


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


class Pruning(models.Model):
    """One look at the traces of old work (`dry`), or their removal.

    `night` is the day whose night asked for it: one row, however many workers there are. Whoever sets
    `started` does it. `report` has a line for each trace: {"key", "title", "keep", "unit", "rows", "size"},
    `size` in bytes.
    """

    asked = models.DateTimeField(auto_now_add=True)
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    night = models.DateField(null=True, blank=True, unique=True)
    dry = models.BooleanField(default=False)
    started = models.DateTimeField(null=True, blank=True)
    ended = models.DateTimeField(null=True, blank=True)
    report = models.JSONField(default=list, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(ended__isnull=True) | models.Q(started__isnull=False),
                name="pruning_ends_after_its_start",
            )
        ]

    @property
    def rows(self) -> int:
        return sum(line["rows"] for line in self.report)

    @property
    def size(self) -> int:
        return sum(line["size"] for line in self.report)


class SharedLink(models.Model):
    """A link that shows a published page to anybody, and nothing else. Only its token's hash is kept.

    `item`: what it shows, "mapping:7"; `title` and `text` are shown with it. It shows nothing after its end,
    when it is revoked, and when whoever made it may make no more. `uses` are counted, `last_used` is to the
    minute.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="shared_links")
    item = models.CharField(max_length=40)
    title = models.CharField(max_length=120, blank=True)
    text = models.TextField(blank=True)
    token_hash = models.CharField(max_length=64, unique=True)
    created = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField()
    revoked = models.DateTimeField(null=True, blank=True)
    last_used = models.DateTimeField(null=True, blank=True)
    uses = models.PositiveBigIntegerField(default=0, help_text="pages shown, without data and pictures")

    class Meta:
        ordering = ["-id"]
