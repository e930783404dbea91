"""Attempts to log in: how whoever guesses passwords is slowed down, and what is known of browsers and
networks.

A few failures are free, then each makes the next wait longer. Counted are the failures

- of an address for a name,
- of an address for all names, with more of them free: it may be that of a whole laboratory,
- of a name from everywhere, with more of them free: somebody may guess from many addresses.

A browser that has logged in to the account before is known by a signed cookie, which lets nobody in. It has a
count of its own, and none of these: so nobody is shut out of their own browser by what others try. The cookie
names the accounts that have logged in with it, each with a random number by which its failures are counted,
and is void for an account once that has another password. Of IPv6 a network of 64 bits counts as one address.

Counts are in the database, so that a restart does not hand out new attempts, and sink with time. An attempt
counts as a failure from before its password is looked at, which takes long, until it has succeeded: however
many come at once, no more than are free are looked at. Log-in links are not throttled: their tokens cannot be
guessed, and they are the way in for somebody whose name a guesser has used up.
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

NEW = "from a new address"
FIRST_WAIT = timedelta(seconds=15)
_SWEPT_AFTER = timedelta(days=2)
_MOST_COUNTED = 12
"""Failures beyond those that are free: one more changes nothing but how long it takes to be forgiven."""

_COUNTS_SALT = "pmweb.accounts.throttle"  # of rows that databases have
_COOKIE_SALT = "pmweb.accounts.known_browsers"  # of cookies that browsers have
_LIFETIME = timedelta(days=365)
_MOST_ACCOUNTS = 5

BrowserNumbers = dict[str, list[str]]
"""{number of an account: [number of the browser, what stands for the password]}, oldest first."""


@dataclass
class Attempt:
    succeeded: bool = False


@contextmanager
def attempt(request: HttpRequest, name: str) -> Iterator[Attempt]:
    """While this lasts, a password is looked at; what comes of it is counted, and a failure is noted.

    Raises `ValidationError` where one has to wait first.
    """
    source = source_of(request, name)
    wait = begin(source, name)
    user = User.objects.filter(username__iexact=name).first()  # nothing else that was typed is noted
    whom = "an unknown name" if user is None else user.get_username()
    if wait:
        audit.refused(None, kind="user", name=whom, detail="too many wrong passwords", subject=user)
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
            forget(source, name)
        else:
            audit.record(None, Action.FAILED, user, kind="user", name=whom, detail="wrong password")


@dataclass(frozen=True)
class Brake:
    """`free` failures cost nothing; the wait then doubles from `FIRST_WAIT` to `longest`; one is forgiven
    with each `forgives` that passes.
    """

    free: int
    longest: timedelta
    forgives: timedelta

    def counted(self, row: FailedLogins | None, now: datetime) -> int:
        """How many failures still count."""
        if row is None:
            return 0
        return max(row.failures - max(now - row.last, timedelta(0)) // self.forgives, 0)

    def wait(self, row: FailedLogins | None, now: datetime) -> timedelta:
        """How long to wait before the next attempt; zero for none."""
        beyond = self.counted(row, now) - self.free
        if row is None or beyond < 0:
            return timedelta(0)
        whole = min(FIRST_WAIT * 2 ** min(beyond, _MOST_COUNTED), self.longest)
        wait: timedelta = max(min(row.last + whole - now, whole), timedelta(0))
        return wait  # at most the whole: the clock may have been set


OF_PAIR = Brake(free=5, longest=timedelta(hours=1), forgives=timedelta(hours=1))
OF_ADDRESS = Brake(free=30, longest=timedelta(minutes=15), forgives=timedelta(minutes=10))
OF_NAME = Brake(free=50, longest=timedelta(minutes=15), forgives=timedelta(minutes=10))


@dataclass(frozen=True)
class AttemptSource:
    """Where an attempt comes from; `browser` is what a browser is known by that has logged in before."""

    address: str
    browser: str = ""

    def brakes(self, name: str) -> dict[str, Brake]:
        """What slows down its attempts for this name, by the keys of the counts."""
        name = name.lower()
        if self.browser:
            return {_key("browser", self.browser, name): OF_PAIR}
        network = network_of(self.address)
        return {
            _key("pair", network, name): OF_PAIR,
            _key("address", network): OF_ADDRESS,
            _key("name", name): OF_NAME,
        }


@transaction.atomic
def begin(source: AttemptSource, name: str) -> timedelta:
    """Count an attempt as failed, and return zero; or how long to wait before one, and nothing is counted.

    Whoever succeeds is to say so: `forget`.
    """
    _let_nobody_else()
    now = timezone.now()
    FailedLogins.objects.filter(last__lt=now - _SWEPT_AFTER).delete()
    brakes = source.brakes(name)
    rows = {row.key: row for row in FailedLogins.objects.filter(key__in=brakes)}
    wait = max(brake.wait(rows.get(key), now) for key, brake in brakes.items())
    if not wait:
        for key, brake in brakes.items():
            failures = min(brake.counted(rows.get(key), now) + 1, brake.free + _MOST_COUNTED)
            FailedLogins.objects.update_or_create(key=key, defaults={"failures": failures, "last": now})
    return wait


@transaction.atomic
def forget(source: AttemptSource, name: str) -> None:
    """A success: what was tried from there for that name is forgotten. Of the other counts only this attempt
    is taken back: else somebody with an account could, by logging in now and then, go on guessing the
    passwords of others.
    """
    _let_nobody_else()
    for key, brake in source.brakes(name).items():
        if brake is OF_PAIR:
            FailedLogins.objects.filter(key=key).delete()
            continue
        row = FailedLogins.objects.filter(key=key).first()
        if row is not None:
            FailedLogins.objects.filter(pk=row.pk).update(failures=max(row.failures - 1, 0))


def _let_nobody_else() -> None:
    # On SQLite the transaction itself lets nobody else begin one.
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext('attempts to log in'))")


def _key(*parts: str) -> str:
    return salted_hmac(_COUNTS_SALT, "\n".join(parts), algorithm="sha256").hexdigest()


def is_new_network(user: User, address: str, token: ApiToken | None = None) -> bool:
    """Whether this user, or this token of theirs, comes from there for the first time, and has come from
    elsewhere before. Remembers it.
    """
    if not address:
        return False
    known = KnownNetwork.objects.filter(user=user, token=token)
    first_of_all = not known.exists()
    _, new = KnownNetwork.objects.get_or_create(user=user, token=token, network=network_of(address))
    return new and not first_of_all


def cookie_name() -> str:
    """Beside the session's, which tells sites on one host apart."""
    return settings.SESSION_COOKIE_NAME.replace("sessionid", "known-browser")


def remember(request: HttpRequest, response: HttpResponseBase, user: User) -> None:
    """Let the browser that gets this answer be known as one of this user's."""
    known = _known(request)
    number = _number(known, user) or secrets.token_urlsafe(16)
    known.pop(str(user.pk), None)
    newest = [*known.items(), (str(user.pk), [number, _stands_for_password(user)])][-_MOST_ACCOUNTS:]
    response.set_cookie(
        cookie_name(),
        signing.dumps(dict(newest), salt=_COOKIE_SALT),
        max_age=_LIFETIME,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def source_of(request: HttpRequest, name: str) -> AttemptSource:
    """Where an attempt to log in as `name` comes from."""
    address, known = request.META.get("REMOTE_ADDR", ""), _known(request)
    user = User.objects.filter(username=name).first() if known else None
    return AttemptSource(address, "" if user is None else _number(known, user))


def _number(known: BrowserNumbers, user: User) -> str:
    number, password = known.get(str(user.pk), ("", ""))
    return number if number and secrets.compare_digest(password, _stands_for_password(user)) else ""


def _known(request: HttpRequest) -> BrowserNumbers:
    try:
        known: BrowserNumbers = signing.loads(
            request.COOKIES.get(cookie_name(), ""), salt=_COOKIE_SALT, max_age=_LIFETIME
        )
        return known
    except signing.BadSignature:
        return {}


def _stands_for_password(user: User) -> str:
    return salted_hmac(_COOKIE_SALT, user.password, algorithm="sha256").hexdigest()[:24]
