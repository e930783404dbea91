"""What is noted wherever it happens, most of it in the audit log: Django's signals, connected when the site
starts.

A run or an upload that comes to be is noted always; a deletion, and what is asked of a run, where it is done
on somebody's behalf: a worker that clears up after itself is nobody.
"""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.contrib.auth import user_logged_in, user_logged_out
from django.contrib.auth.models import User
from django.db.models import Model
from django.db.models.signals import post_delete, post_save
from django.http import HttpRequest

from inference.models import Run, Upload
from inference.models.named import Named
from inference.runs.lifecycle import asked_of_run
from pmweb.accounts import audit, credentials, known_networks, sessions
from pmweb.accounts.audit import Action
from pmweb.accounts.current_request import current_request
from pmweb.accounts.sessions import way_of
from pmweb.models import BrowserSession

_WISHES = {Run.Wanted.CANCEL: Action.CANCELLED}


def connect() -> None:
    """Listen from now on; once per process."""
    for model in apps.get_models():
        if issubclass(model, (Named, Upload)):
            post_delete.connect(_deleted, sender=model, dispatch_uid="audit")
    post_save.connect(_started, sender=Run, dispatch_uid="audit")
    post_save.connect(_uploaded, sender=Upload, dispatch_uid="audit")
    asked_of_run.connect(_asked, dispatch_uid="audit")
    user_logged_in.connect(_logged_in, dispatch_uid="audit")
    user_logged_out.connect(_logged_out, dispatch_uid="audit")


def _started(instance: Run, created: bool, raw: bool, **_: Any) -> None:
    if created and not raw:
        audit.record(_actor() or instance.created_by, Action.STARTED, instance, detail=instance.kind)


def _uploaded(instance: Upload, created: bool, raw: bool, **_: Any) -> None:
    if created and not raw:
        detail = f"{len(instance.content)} bytes"
        audit.record(_actor() or instance.created_by, Action.UPLOADED, instance, detail=detail)


def _deleted(instance: Model, **_: Any) -> None:
    if current_request() is not None:
        audit.record(_actor(), Action.DELETED, instance)


def _asked(run: Run, wish: str, **_: Any) -> None:
    if current_request() is not None:
        audit.record(_actor(), _WISHES.get(wish, Action.STEERED), run, detail=wish)  # type: ignore[call-overload]


def _logged_in(request: HttpRequest, user: User, **_: Any) -> None:
    way = way_of(request)
    credentials.shown(request, by_link=way == BrowserSession.Way.LINK)
    sessions.begun(request, user, way)
    said = [f"by {way.label}"] if way else []
    if known_networks.is_new(user, sessions.address_of(request)):
        said.append(known_networks.NEW)
    audit.record(user, Action.LOGGED_IN, detail=", ".join(said))


def _logged_out(request: HttpRequest, user: User | None, **_: Any) -> None:
    if user is not None:
        sessions.ended(request)
        audit.record(user, Action.LOGGED_OUT)


def _actor() -> Any:
    """Who sent the request that is being answered; None outside of one, or for a visitor."""
    request = current_request()
    user = getattr(request, "user", None)
    return user if user is not None and user.is_authenticated else None
