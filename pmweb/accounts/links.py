"""One-time log-in links: 256 random bits, stored hashed, used once, gone after an hour.

Being able to make one means being able to run commands as the owner of the database, which is more than the
site could give. Reading a link must not use it up: chat programs and mail scanners fetch what they see.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from pmweb.models import LoginLink

LIFETIME = timedelta(hours=1)


def issue(user: User, lifetime: timedelta = LIFETIME) -> str:
    """A new token for `user`; links that can no longer be used are swept away."""
    now = timezone.now()
    LoginLink.objects.filter(expires__lt=now).delete()
    token = secrets.token_urlsafe(32)
    LoginLink.objects.create(user=user, token_hash=_hash(token), expires=now + lifetime)
    return token


def is_usable(token: str) -> bool:
    """Whether `redeem` would succeed now."""
    return _usable(token).exists()


def redeem(token: str) -> User | None:
    """Use the link up and return its user; None if it is unknown, used or expired.

    The conditional UPDATE decides between two browsers that come at once.
    """
    if _usable(token).update(used=timezone.now()) != 1:
        return None
    return LoginLink.objects.select_related("user").get(token_hash=_hash(token)).user


def _usable(token: str):
    return LoginLink.objects.filter(
        token_hash=_hash(token), used__isnull=True, expires__gt=timezone.now(), user__is_active=True
    )


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
