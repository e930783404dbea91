"""The audit log: who started, cancelled, deleted, exported, uploaded, and changed accounts and tokens.

Views do not write to it. Runs and uploads that come to be, whatever is deleted, and what is asked of runs are
noted where it happens (`pmweb.accounts.noting`), also when an API or a command does it; exports and edits by
the rule of their address (`pmweb.permissions`); accounts and tokens by the functions that change them; wrong
passwords by the forms. Refusals are noted where somebody is turned away. Neither of these nor of exports each
of many is noted (`refused`, `exported`): whoever repeats them shall not fill the log.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import Model
from django.utils import timezone

from pmweb.accounts.current_request import current_request
from pmweb.models import AuditEntry

Action = AuditEntry.Action

API_PATH = "/api/"

SAME_REFUSAL = timedelta(minutes=10)
"""Whoever is refused the same again within it is not noted again."""
MOST_REFUSALS_OF_VISITORS = 1000
"""Of people who are not logged in, within an hour: nobody shall fill the log from outside."""
SAME_EXPORT = timedelta(hours=1)
"""Whoever gets the same file from the same address again within it is not noted again."""
MOST_EXPORTS = 1000
"""Of one account within that time."""


def record(
    user: Any,
    action: AuditEntry.Action,
    subject: Model | None = None,
    *,
    kind: str = "",
    name: str = "",
    detail: str = "",
) -> AuditEntry:
    """Note what somebody did, and to what: a row, or a kind and a name of something that has no row.

    `user` may be nobody or anonymous. Where from, and whether by a page, the API or a command, is known from
    the request that is being answered.
    """
    known = _known(user)
    return AuditEntry.objects.create(
        actor=known,
        actor_name="" if known is None else known.get_username(),
        via=_via(),
        address=_address(),
        action=action,
        detail=detail[:500],
        **_named(subject, kind, name),
    )


def refused(
    user: Any, *, kind: str, name: str, detail: str = "", subject: Model | None = None
) -> AuditEntry | None:
    """Note that somebody was turned away; None where the log has it already, or too much of the kind."""
    known, now = _known(user), timezone.now()
    before = AuditEntry.objects.filter(action=Action.REFUSED, actor=known)
    if before.filter(
        at__gt=now - SAME_REFUSAL, address=_address(), name=name[:200], detail=detail[:500]
    ).exists():
        return None
    if known is None and before.filter(at__gt=now - timedelta(hours=1)).count() >= MOST_REFUSALS_OF_VISITORS:
        return None
    return record(user, Action.REFUSED, subject, kind=kind, name=name, detail=detail)


def exported(user: Any, subject: Model | None = None, *, detail: str = "") -> AuditEntry | None:
    """Note that an account got a file; None where the log has it already, or too much of the kind.

    What visitors without an account read is not in the log.
    """
    known = _known(user)
    if known is None:
        return None
    before = AuditEntry.objects.filter(
        action=Action.EXPORTED, actor=known, at__gt=timezone.now() - SAME_EXPORT
    )
    same = before.filter(address=_address(), detail=detail[:500], **_named(subject))
    if same.exists() or before.count() >= MOST_EXPORTS:
        return None
    return record(user, Action.EXPORTED, subject, detail=detail)


def _named(subject: Model | None, kind: str = "", name: str = "") -> dict[str, Any]:
    """The fields of an entry that say what it is about: a row, or a kind and a name."""
    if subject is None:
        return {"kind": kind, "object_id": None, "name": name[:200]}
    number = subject.pk if isinstance(subject.pk, int) else None
    return {
        "kind": str(subject._meta.verbose_name),
        "object_id": number,
        "name": (name or str(subject))[:200],
    }


def _known(user: Any) -> Any:
    return user if user is not None and user.is_authenticated and user.pk else None


def _address() -> str:
    request = current_request()
    return "" if request is None else request.META.get("REMOTE_ADDR", "")[:64]


def _via() -> str:
    request = current_request()
    if request is None:
        return "command"
    return "API" if request.path_info.startswith(API_PATH) else "page"
