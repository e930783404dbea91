"""The audit log: starts, cancellations, deletions, exports, uploads, changes of accounts and tokens.

Views do not write to it. New runs and uploads are recorded by Django's signals; deletions and transitions of
runs only while a request is answered, since workers also clean up. Exports and edits are recorded by the rule
of their address (`pmweb.permissions`); accounts, tokens and sessions by the functions that change them; wrong
passwords by the forms; refusals by the code that refuses. Repeated refusals and exports are recorded once, so
that they cannot fill the log.
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

from inference.formats.quoting import csv_text
from inference.models import Run, Upload
from inference.models.named import Named
from inference.runs.lifecycle import transition_requested
from pmweb.models import AuditEntry

Action = AuditEntry.Action

API_PATH = "/api/"
VIA = ("page", "API", "command")

REFUSAL_INTERVAL = timedelta(minutes=10)
"""Time within which the same refusal is not recorded again."""
MAX_VISITOR_REFUSALS = 1000
"""Recorded refusals per hour of all visitors without an account: they must not fill the log."""
EXPORT_INTERVAL = timedelta(hours=1)
"""Time within which the same export from the same address is not recorded again."""
MAX_EXPORTS = 1000
"""Recorded exports of one account within `EXPORT_INTERVAL`."""
MAX_CSV_ROWS = 50_000
"""Largest number of rows in a CSV file; the newest are written."""
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
"""{column of the CSV file: field of an entry}"""
_TRANSITION_ACTIONS = {Run.Transition.CANCEL: Action.CANCELLED}

_request: ContextVar[HttpRequest | None] = ContextVar("request", default=None)


@contextmanager
def request_context(request: HttpRequest) -> Iterator[None]:
    """Context in which actions are recorded under the user of this request."""
    token = _request.set(request)
    try:
        yield
    finally:
        _request.reset(token)


def current_request() -> HttpRequest | None:
    """The request that is being answered; None in a command or a worker.

    Its `user` is read when an entry is recorded: the API sets it after authenticating a token.
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
    """Add an entry to the audit log; address and channel come from the current request.

    Args:
        user: Actor; None or an anonymous user for a visitor or the shell.
        action: What was done.
        subject: Row that it was done to.
        kind: Kind of a subject without a row.
        name: Name of a subject without a row.
        detail: Cut to 500 characters.
    """
    account, request = _account(user), current_request()
    via = "command"
    if request is not None:
        via = "API" if request.path_info.startswith(API_PATH) else "page"
    return AuditEntry.objects.create(
        actor=account,
        actor_name="" if account is None else account.get_username(),
        via=via,
        address=_address(),
        action=action,
        detail=detail[:500],
        **_subject_fields(subject, kind, name),
    )


def record_refusal(
    user: Any, *, kind: str, name: str, detail: str = "", subject: Model | None = None
) -> AuditEntry | None:
    """Record a refusal; None if it is a repetition, or if visitors have reached their limit."""
    account, now = _account(user), timezone.now()
    earlier = AuditEntry.objects.filter(action=Action.REFUSED, actor=account)
    if earlier.filter(
        at__gt=now - REFUSAL_INTERVAL, address=_address(), name=name[:200], detail=detail[:500]
    ).exists():
        return None
    if account is None and earlier.filter(at__gt=now - timedelta(hours=1)).count() >= MAX_VISITOR_REFUSALS:
        return None
    return record(user, Action.REFUSED, subject, kind=kind, name=name, detail=detail)


def record_export(user: Any, subject: Model | None = None, *, detail: str = "") -> AuditEntry | None:
    """Record an export; None if it is a repetition, over the limit, or by a visitor without an account."""
    account = _account(user)
    if account is None:
        return None
    earlier = AuditEntry.objects.filter(
        action=Action.EXPORTED, actor=account, at__gt=timezone.now() - EXPORT_INTERVAL
    )
    same_file = earlier.filter(address=_address(), detail=detail[:500], **_subject_fields(subject))
    if same_file.exists() or earlier.count() >= MAX_EXPORTS:
        return None
    return record(user, Action.EXPORTED, subject, detail=detail)


def _subject_fields(subject: Model | None, kind: str = "", name: str = "") -> dict[str, Any]:
    """The fields of an entry for its subject: a row, or a kind and a name."""
    if subject is None:
        return {"kind": kind, "object_id": None, "name": name[:200]}
    number = subject.pk if isinstance(subject.pk, int) else None
    return {
        "kind": str(subject._meta.verbose_name),
        "object_id": number,
        "name": (name or str(subject))[:200],
    }


def _account(user: Any) -> Any:
    return user if user is not None and user.is_authenticated and user.pk else None


def _address() -> str:
    request = current_request()
    return "" if request is None else request.META.get("REMOTE_ADDR", "")[:64]


def connect() -> None:
    """Connect the signals; repeated calls have no effect."""
    for model in apps.get_models():
        if issubclass(model, (Named, Upload)):
            post_delete.connect(_record_deletion, sender=model, dispatch_uid="audit")
    post_save.connect(_record_start, sender=Run, dispatch_uid="audit")
    post_save.connect(_record_upload, sender=Upload, dispatch_uid="audit")
    transition_requested.connect(_record_transition, dispatch_uid="audit")


def _record_start(instance: Run, created: bool, raw: bool, **_: Any) -> None:
    if created and not raw:
        record(_actor() or instance.created_by, Action.STARTED, instance, detail=instance.kind)


def _record_upload(instance: Upload, created: bool, raw: bool, **_: Any) -> None:
    if created and not raw:
        detail = f"{len(instance.content)} bytes"
        record(_actor() or instance.created_by, Action.UPLOADED, instance, detail=detail)


def _record_deletion(instance: Model, **_: Any) -> None:
    if current_request() is not None:
        record(_actor(), Action.DELETED, instance)


def _record_transition(run: Run, wish: str, **_: Any) -> None:
    if current_request() is not None:
        record(_actor(), _TRANSITION_ACTIONS.get(wish, Action.STEERED), run, detail=wish)  # type: ignore[call-overload]


def _actor() -> Any:
    """The user of the current request; None without a request, or for a visitor."""
    return _account(getattr(current_request(), "user", None))


@dataclass(frozen=True)
class AuditQuery:
    """Filter of entries; empty fields do not filter, and both days are included (UTC)."""

    q: str = ""
    action: str = ""
    via: str = ""
    since: date | None = None
    until: date | None = None

    def rows(self) -> QuerySet[AuditEntry]:
        """The entries that match all fields, unordered."""
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
        """The newest `MAX_CSV_ROWS` matching entries, oldest first."""
        newest = self.rows().order_by("-id").values_list(*_CSV.values())[:MAX_CSV_ROWS]
        rows = ((at.isoformat(timespec="seconds"), *cells) for at, *cells in reversed(newest))
        return csv_text(tuple(_CSV), rows)
