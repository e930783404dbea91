"""Starting a run from a page: from a form, or by a press of a button."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpRequest

from inference.core.protocols import Json
from inference.models import Run
from inference.runs.errors import ConfigError, RunNameTakenError
from inference.runs.lifecycle import submit, unused_name
from inference.web.request_fields import RunForm

NOTHING_STARTED = "Nothing was started: "


def start_run(
    request: HttpRequest,
    kind: str,
    config: Json,
    usual_name: str,
    *,
    form: forms.Form | None = None,
    forked_from: Run | None = None,
    lead: str = "",
) -> Run | None:
    """The new run, named as a `RunForm` says; None where it was refused.

    The form says why, without one a message behind the `lead`.
    """
    data = form.cleaned_data if isinstance(form, RunForm) else {"name": "", "note": ""}
    name = data["name"] or unused_name(usual_name)
    try:
        return submit(kind, config, name, user=request.user, forked_from=forked_from, note=data["note"])
    except (ConfigError, RunNameTakenError) as error:
        if form is None:
            messages.error(request, f"{lead}{error}")
        else:
            form.add_error("name" if isinstance(error, RunNameTakenError) else None, str(error))
        return None
