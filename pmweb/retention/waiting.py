"""What the page or the night has asked for: claimed by one worker, done in a process of its own."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import F, Q
from django.utils import timezone

from pmweb.models import Pruning

NIGHT_BEGINS = 3
"""The hour, UTC, from which on the pruning of a night is due."""

GIVEN_UP_AFTER = timedelta(hours=1)
"""A pruning that has begun so long ago and has not ended has lost its process; another one does it again."""

_KEPT = 100


def ask(user: Any, *, dry: bool) -> Pruning:
    """Let a worker look or remove; one that waits for the same is enough."""
    waiting = Pruning.objects.filter(dry=dry, started=None).first()
    return waiting or Pruning.objects.create(asked_by=user, dry=dry)


def due() -> bool:
    """Whether a worker has something to do here; the night's pruning is asked for where that is wanted."""
    now = timezone.now()
    if settings.PRUNE_NIGHTLY and now.hour >= NIGHT_BEGINS:
        Pruning.objects.get_or_create(night=now.date())
    return _open().exists()


def claim() -> Pruning | None:
    """The oldest that nobody works on, from now on the caller's; None where there is none."""
    for row in _open().order_by("pk"):
        if _open().filter(pk=row.pk).update(started=timezone.now(), report=[]):
            row.refresh_from_db()
            _forget_the_oldest()
            return row
    return None


def _open() -> Any:
    lost = Q(started__lt=timezone.now() - GIVEN_UP_AFTER)
    return Pruning.objects.filter(Q(started=None) | lost, ended=None)


def _forget_the_oldest() -> None:
    surplus = Pruning.objects.filter(ended__isnull=False).order_by(F("pk").desc())[_KEPT:]
    Pruning.objects.filter(pk__in=[row.pk for row in surplus]).delete()
