"""Slowing down whoever guesses passwords: a few failures per address, then a pause.

Counted in the database, so that a restart does not hand out new attempts. Log-in links are not throttled:
their tokens cannot be guessed, and they are the way in for an administrator who shares an address with a
guesser.
"""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from pmweb.models import LoginFailure

ALLOWED_FAILURES = 5
WINDOW = timedelta(minutes=10)


def wait_before_next(address: str) -> timedelta:
    """How long `address` has to wait before its next attempt; zero if it may try now."""
    recent = list(
        LoginFailure.objects.filter(address=address, at__gt=timezone.now() - WINDOW)
        .order_by("-at")
        .values_list("at", flat=True)[:ALLOWED_FAILURES]
    )
    if len(recent) < ALLOWED_FAILURES:
        return timedelta(0)
    return max(recent[-1] + WINDOW - timezone.now(), timedelta(0))


def record_failure(address: str) -> None:
    """Count one wrong password against `address`; failures that no longer count are swept away."""
    now = timezone.now()
    LoginFailure.objects.filter(at__lte=now - WINDOW).delete()
    LoginFailure.objects.create(address=address, at=now)


def forget(address: str) -> None:
    """A success clears the address."""
    LoginFailure.objects.filter(address=address).delete()
