"""The audit log: who started, cancelled, deleted, exported, uploaded, and changed accounts and tokens.

Views do not write to it. Runs and uploads that come to be are noted always, by Django's signals; a deletion,
and what is asked of a run, where it is done on somebody's behalf: a worker that clears up after itself is
nobody. Exports and edits are noted by the rule of their address (`pmweb.permissions`); accounts, tokens and
sessions by the functions that change them; wrong passwords by the forms. Refusals are noted where somebody is
turned away. Neither of these nor of exports each of many is noted (`refused`, `exported`): whoever repeats
them shall not fill the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.apps import apps
from django.db.models import Model, Q, QuerySet
from django.db.models.signals import post_delete, post_save
from django.http import HttpRequest
from django.utils import timezone

from inference.formats.csv_cells import written
from inference.models import Run, Upload
from inference.models.named import Named
from inference.runs.lifecycle import asked_of_run
from pmweb.models import AuditEntry

Action = AuditEntry.Action

API_PATH = "/api/"
VIA = ("page", "API", "command")

SAME_REFUSAL = timedelta(minutes=10)
"""Whoever is refused the same again within it is not noted again."""
MOST_REFUSALS_OF_VISITORS = 1000
"""Of people who are not logged in, within an hour: nobody shall fill the log from outside."""
SAME_EXPORT = timedelta(hours=1)
"""Whoever gets the same file from the same address again within it is not noted again."""
MOST_EXPORTS = 1000
"""Of one account within that time."""
MOST_ROWS = 50_000
"""Rows of a CSV file; the newest."""
COLUMNS = {"at": "id"}
_CSV = {
    "at": "at",
    "who": "actor_name",
    "action": "action",
    "kind": "kind",
    "id": "object_id",
    "name": "name",
    "detail": "detail",
    "via": "via",
    "address": "address",
}
"""{column of a CSV file: field of an entry}"""
_STEPS = {Run.Wanted.CANCEL: Action.CANCELLED}

_request: ContextVar[HttpRequest | None] = ContextVar("request", default=None)


@contextmanager
def acting_in(request: HttpRequest) -> Iterator[None]:
    """While this lasts, whatever is done is done by the user of this request."""
    token = _request.set(request)
    try:
        yield
    finally:
        _request.reset(token)


def current_request() -> HttpRequest | None:
    """The request that is being answered; None in a command or a worker.

    Its `user` is asked for when something is noted, so that an API can set it after it has read a token.
    """
    return _request.get()


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
    known, request = _known(user), current_request()
    via = "command"
    if request is not None:
        via = "API" if request.path_info.startswith(API_PATH) else "page"
    return AuditEntry.objects.create(
        actor=known,
        actor_name="" if known is None else known.get_username(),
        via=via,
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


def connect() -> None:
    """Note what happens to rows from now on; once per process."""
    for model in apps.get_models():
        if issubclass(model, (Named, Upload)):
            post_delete.connect(_deleted, sender=model, dispatch_uid="audit")
    post_save.connect(_started, sender=Run, dispatch_uid="audit")
    post_save.connect(_uploaded, sender=Upload, dispatch_uid="audit")
    asked_of_run.connect(_asked, dispatch_uid="audit")


def _started(instance: Run, created: bool, raw: bool, **_: Any) -> None:
    if created and not raw:
        record(_actor() or instance.created_by, Action.STARTED, instance, detail=instance.kind)


def _uploaded(instance: Upload, created: bool, raw: bool, **_: Any) -> None:
    if created and not raw:
        detail = f"{len(instance.content)} bytes"
        record(_actor() or instance.created_by, Action.UPLOADED, instance, detail=detail)


def _deleted(instance: Model, **_: Any) -> None:
    if current_request() is not None:
        record(_actor(), Action.DELETED, instance)


def _asked(run: Run, wish: str, **_: Any) -> None:
    if current_request() is not None:
        record(_actor(), _STEPS.get(wish, Action.STEERED), run, detail=wish)  # type: ignore[call-overload]


def _actor() -> Any:
    """Who sent the request that is being answered; None outside of one, or for a visitor."""
    return _known(getattr(current_request(), "user", None))


@dataclass(frozen=True)
class AuditQuery:
    """Entries with a text, of an action, by a way, from a day to another one, both included."""

    q: str = ""
    action: str = ""
    via: str = ""
    since: date | None = None
    until: date | None = None

    def rows(self) -> QuerySet[AuditEntry]:
        """The entries, in no order."""
        rows = AuditEntry.objects.all()
        if self.q:
            rows = rows.filter(
                Q(actor_name__icontains=self.q) | Q(name__icontains=self.q) | Q(detail__icontains=self.q)
            )
        if self.action:
            rows = rows.filter(action=self.action)
        if self.via:
            rows = rows.filter(via=self.via)
        if self.since:
            rows = rows.filter(at__gte=datetime.combine(self.since, time(), UTC))
        if self.until:
            rows = rows.filter(at__lte=datetime.combine(self.until, time.max, UTC))
        return rows

    def csv(self) -> str:
        """The newest `MOST_ROWS` of them, oldest first."""
        newest = self.rows().order_by("-id").values_list(*_CSV.values())[:MOST_ROWS]
        rows = ((at.isoformat(timespec="seconds"), *cells) for at, *cells in reversed(newest))
        return written(tuple(_CSV), rows)
