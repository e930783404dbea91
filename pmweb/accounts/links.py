"""One-time log-in links: 256 random bits, stored hashed, used once, gone after an hour; an invitation
after a week.

Being able to make one means being able to run commands as the owner of the database, which is more than the
site could give, or being an administrator. Reading a link must not use it up: chat programs and mail scanners
fetch what they see.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone

from pmweb.accounts import audit
from pmweb.accounts.audit import Action
from pmweb.models import LoginLink

LIFETIME = timedelta(hours=1)


def issue(user: User, lifetime: timedelta = LIFETIME) -> str:
    """A new token for `user`; links that can no longer be used are swept away."""
    now = timezone.now()
    LoginLink.objects.filter(expires__lt=now).delete()
    token = secrets.token_urlsafe(32)
    LoginLink.objects.create(user=user, token_hash=_hash(token), expires=now + lifetime)
    return token


def issue_in_shell(user: User, how: str) -> str:
    """The same for whoever runs commands here; `how` is said in the audit log."""
    audit.record(None, Action.ACCOUNTS, user, detail=f"log-in link, {how}")
    return issue(user)


def waiting_for(user: User) -> QuerySet[LoginLink]:
    """Those that would let this user in now."""
    return LoginLink.objects.filter(user=user, used=None, expires__gt=timezone.now())


def path_of(token: str) -> str:
    """Where it logs in, looked up among the addresses of accounts alone: who prints a link needs no page."""
    return reverse("login-link", "pmweb.accounts.urls", [token])


def user_of(token: str) -> User | None:
    """Whom `redeem` would return now."""
    found = _usable(token).select_related("user").first()
    return None if found is None else found.user


def invited_until(user: User) -> datetime | None:
    """Until when a link lets this user in; None where there is none."""
    return waiting_for(user).order_by("-expires").values_list("expires", flat=True).first()


def redeem(token: str) -> User | None:
    """Use the link up and return its user; None if it is unknown, used or expired.

    The conditional UPDATE decides between two browsers that come at once.
    """
    if _usable(token).update(used=timezone.now()) != 1:
        return None
    return LoginLink.objects.select_related("user").get(token_hash=_hash(token)).user


def _usable(token: str) -> QuerySet[LoginLink]:
    return LoginLink.objects.filter(
        token_hash=_hash(token), used__isnull=True, expires__gt=timezone.now(), user__is_active=True
    )


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
