"""What pages read from addresses and forms, starting a run from a form, and answers that are files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from django import forms
from django.contrib import messages
from django.core.exceptions import BadRequest
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.text import slugify

from inference.core.protocols import Json
from inference.formats.provenance import head_of
from inference.models import Run
from inference.runs.errors import ConfigError, RunNameTakenError
from inference.runs.lifecycle import submit, unused_name

RowT = TypeVar("RowT", bound=Model)

# What a page reads from its address, and numbers in what is posted to it.


def whole_number(request: HttpRequest, name: str, default: int | None = None) -> int | None:
    """Return the whole number under `name`, or the default; anything else is a bad request."""
    text = request.GET.get(name, "")
    return as_whole_number(text, name) if text else default


def as_whole_number(text: str, name: str) -> int:
    """Return the whole number that was given under `name`; anything else is a bad request."""
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise BadRequest(f"{name} must be a whole number, not {text[:40]!r}")
    return int(text)


def row_named(request: HttpRequest, name: str, rows: QuerySet[RowT]) -> RowT | None:
    """Return the row whose number is under `name`; None where there is no number, or no such row."""
    number = whole_number(request, name)
    return None if number is None else rows.filter(pk=number).first()


def one_of(request: HttpRequest, name: str, allowed: tuple[str, ...], default: str = "") -> str:
    """Return the value under `name` if it is one of `allowed`, `default` where there is none."""
    text = request.GET.get(name, "")
    if not text:
        return default
    if text not in allowed:
        raise BadRequest(f"{name} must be one of {', '.join(filter(None, allowed))}, not {text[:40]!r}")
    return text


def chosen_bin(request: HttpRequest, bins: int) -> tuple[int, int] | None:
    """Return the bin of a heat map under `bin`, as `row,column`; None where there is none."""
    text = request.GET.get("bin", "")
    if not text:
        return None
    row, _, column = text.partition(",")
    if not all(part.isdecimal() and len(part) < 10 and int(part) < bins for part in (row, column)):
        raise BadRequest(f"bin must be two numbers below {bins}, not {text[:40]!r}")
    return int(row), int(column)


def row_number(text: str) -> int | None:
    """The number of a database's row that a text is; None for anything else."""
    return int(text) if text.isdecimal() and len(text) < 19 else None


def row_numbers(texts: Iterable[str]) -> list[int]:
    """Those of these texts that are numbers of rows."""
    return [number for text in texts if (number := row_number(text)) is not None]


# Starting a run from a form with the fields `name` and `note`, or by a press of a button.


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
) -> Run | None:
    """The new run; None where it was refused, which a message says, behind the `lead`."""
    try:
        return submit(kind, config, unused_name(usual_name), user=request.user, forked_from=forked_from)
    except ConfigError as error:
        messages.error(request, f"{lead}{error}")
        return None


# Texts that a browser stores as files.


def file_answer(text: str, content_type: str, name: str, extension: str) -> HttpResponse:
    """The text under a file name made of what it is called."""
    return HttpResponse(
        text,
        content_type=f"{content_type}; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{slugify(name) or "export"}.{extension}"'},
    )


def table_answer(text: str, name: str, **about: str) -> HttpResponse:
    """A table as CSV behind the product, what it is `about`, and how to cite it."""
    return file_answer(head_of(**about) + text, "text/csv", name, "csv")
