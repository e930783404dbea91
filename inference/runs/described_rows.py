"""The rows that a description of a run names by their ids; it may come from any program."""

from __future__ import annotations

from typing import TypeVar

from django.db.models import Model, QuerySet

from inference.core.errors import as_written
from inference.runs.errors import ConfigError, JobError

Row = TypeVar("Row", bound=Model)

_LARGEST = 2**63 - 1
"""What a database can be asked for."""


def is_id(pk: object) -> bool:
    """Whether a row could have this id."""
    return type(pk) is int and abs(pk) <= _LARGEST


def read_row(among: type[Row] | QuerySet[Row], field: str, pk: object, what: str = "") -> Row:
    """The row with this id. Raises `ConfigError`. `what`: its kind, where the model is called otherwise."""
    rows = among if isinstance(among, QuerySet) else among._default_manager.all()
    row = rows.filter(pk=pk).first() if is_id(pk) else None
    if row is None:
        raise ConfigError(f"{field}: there is no {_title(rows.model, what)} with the id {as_written(pk)}")
    return row


def needed_row(among: type[Row] | QuerySet[Row], pk: int | None, what: str = "") -> Row:
    """The row that a run's description names, of which it had been checked that it is there.

    Raises `JobError` where it has been deleted since. `what`: its kind, where the model is called otherwise.
    """
    rows = among if isinstance(among, QuerySet) else among._default_manager.all()
    row = rows.filter(pk=pk).first()
    if row is None:
        raise JobError(f"the {_title(rows.model, what)} that this run needs has been deleted")
    return row


def read_rows(
    model: type[Row], field: str, given: object, least: int = 0, most: int | None = None, what: str = ""
) -> list[Row]:
    """The rows with these ids, each once, in their order. Raises `ConfigError`.

    There are from `least` to `most` ids, as many as somebody likes where that is None.
    """
    number = "" if most is None else f"{least} to {most} "
    wanted = f"{field} must be a list of {number}{_title(model, what)} ids"
    if not isinstance(given, list) or not all(type(pk) is int for pk in given):
        raise ConfigError(f"{wanted}, not {as_written(given)}")
    if len(given) < least or (most is not None and len(given) > most):
        raise ConfigError(f"{wanted}, not {len(given)}")
    ids = list(dict.fromkeys(given))
    found = model._default_manager.in_bulk([pk for pk in ids if is_id(pk)])
    if gone := [pk for pk in ids if pk not in found]:
        raise ConfigError(f"{field}: there is no {_title(model, what)} with the id {as_written(gone[0])}")
    return [found[pk] for pk in ids]


def _title(model: type[Model], what: str) -> str:
    return what or str(model._meta.verbose_name)
