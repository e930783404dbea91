"""Tokens by which programs act for a user: issuing, authentication, revocation.

A token has 256 random bits. Only its SHA-256 is stored, and the row is looked up by that digest: no
comparison of secrets can leak by its timing.

Use in a view:

    token = bearer_token(request)                     # of "Authorization: Bearer …"; "" without one
    bearer = bearer_of(token)                         # None: unknown, expired, revoked, or its user inactive
    if bearer is None:                                # → 401
        ...
    user, scope, _ = bearer
    if not allows(scope, Scope.OPERATE):              # → 403; READ: GET, OPERATE: changes
        ...

`scope` never exceeds the present role of the user, so no further check is needed. Set `request.user = user`:
the audit log records new runs, uploads, transitions of runs and deletions under that name
(`pmweb.accounts.audit`).
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from typing import NamedTuple

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from pmweb.accounts import attempts, audit
from pmweb.accounts.audit import Action, current_request
from pmweb.accounts.roles import role_of
from pmweb.callers import token_in
from pmweb.models import ApiToken, Role, Scope

PREFIX = "pmwebapi_"
"""Prefix by which people, and scanners for leaked secrets, recognise a token."""

_USE_INTERVAL = timedelta(minutes=1)
_RANK = {Scope.READ: 0, Scope.OPERATE: 1, Scope.ADMINISTER: 2}
_HIGHEST_SCOPE = {Role.VIEWER: Scope.READ, Role.OPERATOR: Scope.OPERATE, Role.ADMIN: Scope.ADMINISTER}


class Bearer(NamedTuple):
    """The user of a token, its present scope, and its id."""

    user: User
    scope: Scope
    token_id: int


@transaction.atomic
def issue(
    user: User, name: str, scope: Scope, lifetime: timedelta | None, by: User | None = None
) -> tuple[ApiToken, str]:
    """Create a token.

    Args:
        user: User for whom the token acts.
        name: Purpose, for lists.
        scope: Highest permission; later limited by the user's role.
        lifetime: None: no expiry.
        by: Actor in the audit log; None for the shell.

    Returns:
        The row and the token, which cannot be shown again.

    Raises:
        ValueError: The scope exceeds the user's role.
    """
    highest = highest_scope(user)
    if not allows(highest, scope):
        raise ValueError(f"{user.username} may {highest}, so a token of theirs cannot {scope}")
    plain = PREFIX + secrets.token_urlsafe(32)
    expires = None if lifetime is None else timezone.now() + lifetime
    row = ApiToken.objects.create(user=user, name=name, scope=scope, digest=digest_of(plain), expires=expires)
    ends = "no end" if expires is None else f"until {expires:%Y-%m-%d}"
    audit.record(by, Action.TOKENS, kind="API token", name=name, detail=f"made for {user}: {scope}, {ends}")
    return row, plain


def bearer_of(token_text: str) -> Bearer | None:
    """Authenticate a token; None if it is not valid. Stores the time of use, to the minute."""
    if not token_text.startswith(PREFIX):
        return None
    row = valid_tokens().select_related("user__account").filter(digest=digest_of(token_text)).first()
    if row is None:
        return None
    _note_use(row)
    return Bearer(row.user, min(Scope(row.scope), highest_scope(row.user), key=_RANK.__getitem__), row.pk)


def _note_use(row: ApiToken) -> None:
    now = timezone.now()
    if row.last_used is not None and row.last_used >= now - _USE_INTERVAL:
        return
    unnoted = Q(last_used=None) | Q(last_used__lt=now - _USE_INTERVAL)
    request = current_request()
    if ApiToken.objects.filter(unnoted, pk=row.pk).update(last_used=now) and request is not None:
        address = request.META.get("REMOTE_ADDR", "")
        if attempts.is_new_network(row.user, address, row):
            audit.record(
                row.user,
                Action.TOKENS,
                kind="API token",
                name=row.name,
                detail=f"used {attempts.NEW_NETWORK}",
            )


def bearer_token(request: HttpRequest) -> str:
    """The token in the header "Authorization: Bearer"; "" without one."""
    return token_in(request.headers.get("Authorization", ""))


def allows(scope: Scope, needed: Scope) -> bool:
    """Whether the permissions of `scope` include those of `needed`."""
    return _RANK[scope] >= _RANK[needed]


def highest_scope(user: User) -> Scope:
    """Highest scope of a token of this user, by the role."""
    return _HIGHEST_SCOPE[role_of(user)]


def valid_tokens() -> QuerySet[ApiToken]:
    """Tokens that are neither expired nor revoked, of active users."""
    unexpired = Q(expires=None) | Q(expires__gt=timezone.now())
    return ApiToken.objects.filter(unexpired, revoked=None, user__is_active=True)


@transaction.atomic
def revoke(tokens: QuerySet[ApiToken], by: User | None = None) -> int:
    """Revoke tokens; returns how many were not revoked yet."""
    rows = list(tokens.filter(revoked=None).select_related("user"))
    for row in rows:
        audit.record(by, Action.TOKENS, kind="API token", name=row.name, detail=f"of {row.user}: revoked")
    return tokens.filter(revoked=None).update(revoked=timezone.now())


def revoke_all_of(user: User, by: User | None = None) -> int:
    """Revoke all tokens of a user; returns their number."""
    return revoke(ApiToken.objects.filter(user=user), by=by)


def with_status(tokens: QuerySet[ApiToken]) -> list[tuple[ApiToken, str]]:
    """(token, status): "" for valid ones, which come first, else "expired" or "revoked"."""
    now = timezone.now()
    rows = [
        (row, "revoked" if row.revoked else "expired" if row.expires and row.expires <= now else "")
        for row in tokens.order_by("-id")
    ]
    return sorted(rows, key=lambda row: row[1] != "")


def digest_of(plain: str) -> str:
    return hashlib.sha256(plain.encode("utf-8", "replace")).hexdigest()
