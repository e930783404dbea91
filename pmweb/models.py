"""Tables of the site: accounts, sessions, tokens, log-in links, audit log, shared links, prunings."""

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
"""(part of the user agent, name); the first match counts, as browsers mention their predecessors."""
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
    """Roles of users; each has the permissions of the ones before."""

    VIEWER = "viewer", "viewer"
    OPERATOR = "operator", "operator"
    ADMIN = "admin", "administrator"


class Account(models.Model):
    """The role of a user. Without a row a user is a viewer, a superuser the administrator."""

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
    """Scopes of tokens; each includes the ones before. The user's role limits them."""

    READ = "read", "read"
    OPERATE = "operate", "operate"
    ADMINISTER = "administer", "administer"


class ApiToken(models.Model):
    """A token by which a program acts as a user; only its SHA-256 is stored."""

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
    """Facts about a session of a user.

    `session` is the stored key (`pmweb.accounts.sessions`), but no foreign key: Django deletes and renames
    sessions itself, and rows without a session are deleted later.
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
        """Such as "Firefox on Linux"; the user agent itself for unknown browsers."""
        name = next((name for part, name in _BROWSERS if part in self.browser), "")
        system = next((name for part, name in _SYSTEMS if part in self.browser), "")
        if not name:
            return self.browser[:_MAX_BROWSER_NAME] or "unknown browser"
        return f"{name} on {system}" if system else name


class LoginLink(models.Model):
    """A one-time log-in link; only its token's hash is stored."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    token_hash = models.CharField(max_length=64, unique=True)
    created = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField()
    used = models.DateTimeField(null=True, blank=True)


class FailedLogins(models.Model):
    """Number of failed log-ins of an address, a name, or both.

    `key` is a keyed hash of these: typed names must not be stored, since people type passwords there.
    """

    key = models.CharField(max_length=64, unique=True)
    failures = models.PositiveIntegerField()
    last = models.DateTimeField(db_index=True)


class KnownNetwork(models.Model):
    """A network from which a user has logged in or used a token: an IPv4 address, or an IPv6 /64."""

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
    """An entry of the audit log. Names are stored as texts, so that it stays readable after a deletion."""

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
    """A removal of old data, or a dry run of one.

    `night` is the day of a nightly pruning, unique for all workers. The worker that sets `started` carries it
    out. `report` has a line per kind of data: {"key", "title", "keep", "unit", "rows", "size"}, `size` in
    bytes.
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
    """A link that shows one published page without an account; only its token's hash is stored.

    `item` is the result, such as "mapping:7"; `title` and `text` are shown with it. The link ends when it
    expires or is revoked, and while its owner may not share. `last_used` is to the minute.
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
