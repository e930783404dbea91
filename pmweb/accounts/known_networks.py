"""Networks from which a person, or one of their tokens, has come before: the audit log marks a new one."""

from __future__ import annotations

from django.contrib.auth.models import User

from pmweb.callers import network_of
from pmweb.models import ApiToken, KnownNetwork

NEW = "from a new address"


def is_new(user: User, address: str, token: ApiToken | None = None) -> bool:
    """Whether this user, or this token of theirs, comes from there for the first time, and has come from
    elsewhere before. Remembers it.
    """
    if not address:
        return False
    known = KnownNetwork.objects.filter(user=user, token=token)
    first_of_all = not known.exists()
    _, new = KnownNetwork.objects.get_or_create(user=user, token=token, network=network_of(address))
    return new and not first_of_all
