"""Slowing down whoever guesses passwords: a few failures, then a pause.

A few per address; and, for those who guess from many addresses, some more per name. Counted in the database,
so that a restart does not hand out new attempts. An attempt counts as a failure from before its password is
looked at, which takes long, until it has succeeded: however many come at once, no more than that are looked
at. Log-in links are not throttled: their tokens cannot be
guessed, and they are the way in for somebody whose address or name a guesser has used up.
"""

from __future__ import annotations

from datetime import timedelta

from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from pmweb.models import LoginFailure

ALLOWED_FAILURES = 5
ALLOWED_FAILURES_OF_NAME = 50
WINDOW = timedelta(minutes=10)


@transaction.atomic
def begin(address: str, name: str) -> timedelta:
    """Count an attempt as failed, and return zero; or how long to wait before one, and nothing is counted.

    Whoever succeeds is to say so: `forget`.
    """
    # On SQLite the transaction itself lets nobody else begin one.
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext('attempts to log in'))")
    wait = wait_before_next(address, name)
    if not wait:
        record_failure(address, name)
    return wait


def wait_before_next(address: str, name: str = "") -> timedelta:
    """How long to wait before the next attempt from `address` for the user `name`; zero for none."""
    of_address = _wait(Q(address=address), ALLOWED_FAILURES)
    return max(of_address, _wait(Q(username=name.lower()), ALLOWED_FAILURES_OF_NAME)) if name else of_address


def _wait(which: Q, allowed: int) -> timedelta:
    recent = list(
        LoginFailure.objects.filter(which, at__gt=timezone.now() - WINDOW)
        .order_by("-at")
        .values_list("at", flat=True)[:allowed]
    )
    if len(recent) < allowed:
        return timedelta(0)
    return max(recent[-1] + WINDOW - timezone.now(), timedelta(0))


def record_failure(address: str, name: str = "") -> None:
    """Count one wrong password; failures that no longer count are swept away."""
    now = timezone.now()
    LoginFailure.objects.filter(at__lte=now - WINDOW).delete()
    LoginFailure.objects.create(address=address, username=name.lower()[:150], at=now)


def forget(address: str, name: str = "") -> None:
    """A success clears what was tried from the address for that name: else somebody with an account could, by
    logging in now and then, go on guessing the password of another one."""
    LoginFailure.objects.filter(address=address, username=name.lower()).delete()
