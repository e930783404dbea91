"""Tokens by which programs act for a person: made, recognised, revoked.

A token has 256 random bits, and only its SHA-256 is kept: it is found by its digest, so nothing compares it.

How to use it, e.g. from an HTTP API:

    bearer = token_shown(request)                     # of "Authorization: Bearer …"; "" without one
    found = user_and_scope_of(bearer)                 # None: unknown, expired, revoked, or its user inactive
    if found is None:                                 # → 401
        ...
    user, scope, _ = found
    if not allows(scope, Scope.OPERATE):              # → 403; READ: GET, OPERATE: changes
        ...

`scope` is what the token may do at this moment: never more than the role of its user, so nothing else has to
be asked. Set `request.user = user`, so that what is done is noted under that name in the audit log: runs and
uploads that come to be, what is asked of runs, and deletions note themselves (`pmweb.accounts.audit`).
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
"""By which people, and programs that search for leaked secrets, know what it is."""

_USE_NOTED_EVERY = timedelta(minutes=1)
_RANK = {Scope.READ: 0, Scope.OPERATE: 1, Scope.ADMINISTER: 2}
_MOST_OF_ROLE = {Role.VIEWER: Scope.READ, Role.OPERATOR: Scope.OPERATE, Role.ADMIN: Scope.ADMINISTER}


class Bearer(NamedTuple):
    """For whom a token acts, what it may do now, and its number."""

    user: User
    scope: Scope
    token_id: int


@transaction.atomic
def issue(
    user: User, name: str, scope: Scope, lifetime: timedelta | None, by: User | None = None
) -> tuple[ApiToken, str]:
    """A new token and its text, which nobody can say again. `lifetime` None: until it is revoked.

    `by`: who makes it, for the audit log.

    Raises `ValueError` where the scope is more than the user's role.
    """
    most = most_scope(user)
    if not allows(most, scope):
        raise ValueError(f"{user.username} may {most}, so a token of theirs cannot {scope}")
    plain = PREFIX + secrets.token_urlsafe(32)
    expires = None if lifetime is None else timezone.now() + lifetime
    row = ApiToken.objects.create(user=user, name=name, scope=scope, digest=digest_of(plain), expires=expires)
    ends = "no end" if expires is None else f"until {expires:%Y-%m-%d}"
    audit.record(by, Action.TOKENS, kind="API token", name=name, detail=f"made for {user}: {scope}, {ends}")
    return row, plain


def user_and_scope_of(token_text: str) -> Bearer | None:
    """For whom this token acts and what it may do; None where it lets nobody in. Notes its use, to the
    minute.
    """
    if not token_text.startswith(PREFIX):
        return None
    row = valid_tokens().select_related("user__account").filter(digest=digest_of(token_text)).first()
    if row is None:
        return None
    _note_use(row)
    return Bearer(row.user, min(Scope(row.scope), most_scope(row.user), key=_RANK.__getitem__), row.pk)


def _note_use(row: ApiToken) -> None:
    now = timezone.now()
    if row.last_used is not None and row.last_used >= now - _USE_NOTED_EVERY:
        return
    unnoted = Q(last_used=None) | Q(last_used__lt=now - _USE_NOTED_EVERY)
    request = current_request()
    if ApiToken.objects.filter(unnoted, pk=row.pk).update(last_used=now) and request is not None:
        address = request.META.get("REMOTE_ADDR", "")
        if attempts.is_new_network(row.user, address, row):
            audit.record(
                row.user, Action.TOKENS, kind="API token", name=row.name, detail=f"used {attempts.NEW}"
            )


def token_shown(request: HttpRequest) -> str:
    """The text behind "Authorization: Bearer"; "" where there is none."""
    return token_in(request.headers.get("Authorization", ""))


def allows(scope: Scope, needed: Scope) -> bool:
    """Whether a token of this scope may do what needs the other one."""
    return _RANK[scope] >= _RANK[needed]


def most_scope(user: User) -> Scope:
    """The most that a token of this user may do."""
    return _MOST_OF_ROLE[role_of(user)]


def valid_tokens() -> QuerySet[ApiToken]:
    """Those that let somebody in now."""
    unexpired = Q(expires=None) | Q(expires__gt=timezone.now())
    return ApiToken.objects.filter(unexpired, revoked=None, user__is_active=True)


@transaction.atomic
def revoke(tokens: QuerySet[ApiToken], by: User | None = None) -> int:
    """Let nobody in by these any more; how many there were that were not revoked."""
    found = list(tokens.filter(revoked=None).select_related("user"))
    for row in found:
        audit.record(by, Action.TOKENS, kind="API token", name=row.name, detail=f"of {row.user}: revoked")
    return tokens.filter(revoked=None).update(revoked=timezone.now())


def revoke_all_of(user: User, by: User | None = None) -> int:
    """Let nobody in for the user by tokens of programs; how many there were."""
    return revoke(ApiToken.objects.filter(user=user), by=by)


def shown(tokens: QuerySet[ApiToken]) -> list[tuple[ApiToken, str]]:
    """Tokens with what is the matter with each: "", "expired" or "revoked"; those in use first."""
    now = timezone.now()
    rows = [
        (row, "revoked" if row.revoked else "expired" if row.expires and row.expires <= now else "")
        for row in tokens.order_by("-id")
    ]
    return sorted(rows, key=lambda row: row[1] != "")


def digest_of(plain: str) -> str:
    """What is kept of a token's text."""
    return hashlib.sha256(plain.encode("utf-8", "replace")).hexdigest()
