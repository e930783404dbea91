"""Starting a run from a form with the fields `name` and `note`, or by a press of a button."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpRequest

from inference.core.protocols import Json
from inference.models import Run
from inference.runs.errors import ConfigError, RunNameTakenError
from inference.runs.lifecycle import submit, unused_name

NOTHING_STARTED = "Nothing was started: "


def start_run(
    request: HttpRequest,
    form: forms.Form,
    kind: str,
    config: Json,
    usual_name: str,
    forked_from: Run | None = None,
) -> Run | None:
    """The new run; None where it was refused, which the form then says. An empty name is made up."""
    data = form.cleaned_data
    name = data["name"] or unused_name(usual_name)
    try:
        return submit(kind, config, name, user=request.user, forked_from=forked_from, note=data["note"])
    except RunNameTakenError as error:
        form.add_error("name", str(error))
        return None
    except ConfigError as error:
        form.add_error(None, str(error))
        return None


def start_or_tell(
    request: HttpRequest,
    kind: str,
    config: Json,
    usual_name: str,
    *,
    forked_from: Run | None = None,
    lead: str = "",
    form: forms.Form | None = None,
) -> Run | None:
    """The new run; None where it was refused: the form says so, without one a message behind the `lead`."""
    try:
        return submit(kind, config, unused_name(usual_name), user=request.user, forked_from=forked_from)
    except ConfigError as error:
        if form is None:
            messages.error(request, f"{lead}{error}")
        else:
            form.add_error(None, str(error))
        return None
