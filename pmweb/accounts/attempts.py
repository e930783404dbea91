"""Throttling of guessed passwords, and recognition of browsers and networks.

A few failures are free; after that, each doubles the wait before the next attempt. Failures are counted

- per address and name,
- per address over all names, with more free failures: a laboratory may share an address,
- per name over all addresses, with more free failures: a guesser may use many addresses.

A browser that has logged in to an account before is recognised by a signed cookie, which grants no access. It
has a count of its own instead: other visitors' attempts cannot lock users out of their own browsers. The
cookie has the accounts of earlier log-ins, each with a random number as the key of the count; a new password
voids it. An IPv6 network of 64 bits counts as one address.

Counts are in the database, so that a restart gives no new attempts, and decrease with time. An attempt counts
as a failure before its password is checked, which takes long, until it has succeeded: concurrent attempts
cannot exceed the free ones. Log-in links are not throttled: their tokens cannot be guessed, and they admit a
user whose name is throttled.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.crypto import salted_hmac

from pmweb.accounts import audit
from pmweb.accounts.audit import Action
from pmweb.callers import network_of
from pmweb.models import ApiToken, FailedLogins, KnownNetwork

NEW_NETWORK = "from a new address"
FIRST_WAIT = timedelta(seconds=15)
_EXPIRY = timedelta(days=2)
_MAX_COUNTED = 12
"""Largest number of counted failures beyond the free ones: more would only take longer to be forgiven."""

_COUNTS_SALT = "pmweb.accounts.throttle"  # must not change: stored rows depend on it
_COOKIE_SALT = "pmweb.accounts.known_browsers"  # must not change: cookies in browsers depend on it
_LIFETIME = timedelta(days=365)
_MAX_ACCOUNTS = 5

BrowserNumbers = dict[str, list[str]]
"""{account id: [random number of the browser, digest of the password hash]}, oldest first."""


@dataclass
class Attempt:
    succeeded: bool = False


@contextmanager
def attempt(request: HttpRequest, name: str) -> Iterator[Attempt]:
    """Context in which a password is checked; counts the outcome, and adds a failure to the audit log.

    Raises:
        ValidationError: The visitor has to wait before the next attempt.
    """
    source = source_of(request, name)
    wait = count_attempt(source, name)
    user = User.objects.filter(username__iexact=name).first()  # never log typed text: it may be a password
    label = "an unknown name" if user is None else user.get_username()
    if wait:
        audit.record_refusal(None, kind="user", name=label, detail="too many wrong passwords", subject=user)
        seconds = math.ceil(wait.total_seconds())
        raise ValidationError(
            f"Too many wrong passwords. Try again in "
            f"{f'{seconds} s' if seconds < 100 else f'{math.ceil(seconds / 60)} min'}, "
            "or log in with a link: an administrator can make one."
        )
    outcome = Attempt()
    try:
        yield outcome
    finally:
        if outcome.succeeded:
            clear_attempts(source, name)
        else:
            audit.record(None, Action.FAILED, user, kind="user", name=label, detail="wrong password")


@dataclass(frozen=True)
class Throttle:
    """After `free` failures the wait doubles from `FIRST_WAIT` up to `max_wait`; one failure is forgiven per
    `forgiven_after`."""

    free: int
    max_wait: timedelta
    forgiven_after: timedelta

    def pending(self, row: FailedLogins | None, now: datetime) -> int:
        """Number of failures that are not forgiven yet."""
        if row is None:
            return 0
        return max(row.failures - max(now - row.last, timedelta(0)) // self.forgiven_after, 0)

    def wait(self, row: FailedLogins | None, now: datetime) -> timedelta:
        """Time before the next attempt is allowed; zero: now."""
        excess = self.pending(row, now) - self.free
        if row is None or excess < 0:
            return timedelta(0)
        full_wait = min(FIRST_WAIT * 2 ** min(excess, _MAX_COUNTED), self.max_wait)
        wait: timedelta = max(min(row.last + full_wait - now, full_wait), timedelta(0))
        return wait  # never more than the full wait: the clock may have been set


PAIR_THROTTLE = Throttle(free=5, max_wait=timedelta(hours=1), forgiven_after=timedelta(hours=1))
ADDRESS_THROTTLE = Throttle(free=30, max_wait=timedelta(minutes=15), forgiven_after=timedelta(minutes=10))
NAME_THROTTLE = Throttle(free=50, max_wait=timedelta(minutes=15), forgiven_after=timedelta(minutes=10))


@dataclass(frozen=True)
class AttemptSource:
    """Origin of an attempt; `browser` is the number of a recognised browser, else ""."""

    address: str
    browser: str = ""

    def throttles(self, name: str) -> dict[str, Throttle]:
        """{key of a count: its throttle} for attempts at this name."""
        name = name.lower()
        if self.browser:
            return {_key("browser", self.browser, name): PAIR_THROTTLE}
        network = network_of(self.address)
        return {
            _key("pair", network, name): PAIR_THROTTLE,
            _key("address", network): ADDRESS_THROTTLE,
            _key("name", name): NAME_THROTTLE,
        }


@transaction.atomic
def count_attempt(source: AttemptSource, name: str) -> timedelta:
    """Count an attempt as failed, before its password is checked; `clear_attempts` follows a success.

    Returns:
        Zero; or the time to wait, and then nothing was counted.
    """
    _lock_counts()
    now = timezone.now()
    FailedLogins.objects.filter(last__lt=now - _EXPIRY).delete()
    throttles = source.throttles(name)
    rows = {row.key: row for row in FailedLogins.objects.filter(key__in=throttles)}
    wait = max(throttle.wait(rows.get(key), now) for key, throttle in throttles.items())
    if not wait:
        for key, throttle in throttles.items():
            failures = min(throttle.pending(rows.get(key), now) + 1, throttle.free + _MAX_COUNTED)
            FailedLogins.objects.update_or_create(key=key, defaults={"failures": failures, "last": now})
    return wait


@transaction.atomic
def clear_attempts(source: AttemptSource, name: str) -> None:
    """Reset the count of source and name after a success.

    The counts of the address and of the name are only reduced by one: otherwise a user could log in now and
    then to continue guessing the passwords of others.
    """
    _lock_counts()
    for key, throttle in source.throttles(name).items():
        if throttle is PAIR_THROTTLE:
            FailedLogins.objects.filter(key=key).delete()
            continue
        row = FailedLogins.objects.filter(key=key).first()
        if row is not None:
            FailedLogins.objects.filter(pk=row.pk).update(failures=max(row.failures - 1, 0))


def _lock_counts() -> None:
    # SQLite's transactions are exclusive (IMMEDIATE); PostgreSQL needs a lock.
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext('attempts to log in'))")


def _key(*parts: str) -> str:
    return salted_hmac(_COUNTS_SALT, "\n".join(parts), algorithm="sha256").hexdigest()


def is_new_network(user: User, address: str, token: ApiToken | None = None) -> bool:
    """Whether the user or token is used from a new network, though not for the first time; stores the
    network."""
    if not address:
        return False
    known_networks = KnownNetwork.objects.filter(user=user, token=token)
    is_first = not known_networks.exists()
    _, is_created = KnownNetwork.objects.get_or_create(user=user, token=token, network=network_of(address))
    return is_created and not is_first


def cookie_name() -> str:
    """Name of the cookie, with the session cookie's suffix, which distinguishes sites on one host."""
    return settings.SESSION_COOKIE_NAME.replace("sessionid", "known-browser")


def remember_browser(request: HttpRequest, response: HttpResponseBase, user: User) -> None:
    """Set the cookie by which the browser is recognised as one of this user's."""
    browsers = _known_accounts(request)
    number = _browser_number(browsers, user) or secrets.token_urlsafe(16)
    browsers.pop(str(user.pk), None)
    newest = [*browsers.items(), (str(user.pk), [number, _password_digest(user)])][-_MAX_ACCOUNTS:]
    response.set_cookie(
        cookie_name(),
        signing.dumps(dict(newest), salt=_COOKIE_SALT),
        max_age=_LIFETIME,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def source_of(request: HttpRequest, name: str) -> AttemptSource:
    """Origin of an attempt to log in as `name`."""
    address, browsers = request.META.get("REMOTE_ADDR", ""), _known_accounts(request)
    user = User.objects.filter(username=name).first() if browsers else None
    return AttemptSource(address, "" if user is None else _browser_number(browsers, user))


def _browser_number(browsers: BrowserNumbers, user: User) -> str:
    number, password = browsers.get(str(user.pk), ("", ""))
    return number if number and secrets.compare_digest(password, _password_digest(user)) else ""


def _known_accounts(request: HttpRequest) -> BrowserNumbers:
    try:
        browsers: BrowserNumbers = signing.loads(
            request.COOKIES.get(cookie_name(), ""), salt=_COOKIE_SALT, max_age=_LIFETIME
        )
        return browsers
    except signing.BadSignature:
        return {}


def _password_digest(user: User) -> str:
    return salted_hmac(_COOKIE_SALT, user.password, algorithm="sha256").hexdigest()[:24]
