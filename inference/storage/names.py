"""Looks rows up by name, with hints for unknown names, and keeps names unique."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TypeVar

from django.db import connection, transaction

from inference.core.texts import as_single_line, check_line, is_line
from inference.formats.problems import ExchangeError
from inference.models.named import Named
from inference.storage.errors import NameInUseError, UnknownNameError

Row = TypeVar("Row", bound=Named)

NAME_LIMIT = 200  # characters, as the column has it
NOTE_LIMIT = 20_000  # characters


def kind_of(model: type[Named]) -> str:
    """The name of a model's rows in messages, such as "experiment set"."""
    return str(model._meta.verbose_name)


def by_name(model: type[Row], name: str) -> Row:
    """The row of this name. Raises `UnknownNameError` with the nearest existing names."""
    row = model._default_manager.filter(name=name).first()
    if row is None:
        raise UnknownNameError(kind_of(model), name, nearest_names(model, name))
    return row


def nearest_names(model: type[Named], name: str, n: int = 3) -> list[str]:
    """Existing names that resemble a name, else the newest ones.

    Args:
        model: Whose rows have the names.
        name: Unknown, maybe misspelt; upper and lower case count as equal.
        n: Names at most.
    """
    folded = {
        stored_name.casefold(): stored_name
        for stored_name in model._default_manager.values_list("name", flat=True)
    }
    close = [folded[near] for near in get_close_matches(name.casefold(), folded, n=n, cutoff=0.4)]
    return close or list(model._default_manager.order_by("-id").values_list("name", flat=True)[:n])


def lock_names(model: type[Named]) -> None:
    """Lock the names of a model until the transaction ends.

    No two transactions then choose the same free name.

    Does nothing outside a transaction, and on databases with a single writer.
    """
    if connection.vendor == "postgresql" and connection.in_atomic_block:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [f"names of {model._meta.label}"])


def free_name(model: type[Named], preferred: str) -> str:
    """`preferred` as a line if it is free, else the first free one of "preferred (2)", "preferred (3)", …"""
    lock_names(model)
    preferred = (preferred if is_line(preferred) else as_single_line(preferred))[:NAME_LIMIT]
    stem = preferred[: NAME_LIMIT - 8]
    used = set(model._default_manager.filter(name__startswith=stem).values_list("name", flat=True))
    candidate, number = preferred, 2
    while candidate in used:
        candidate = f"{stem} ({number})"
        number += 1
    return candidate


def rename(row: Named, name: str, note: str) -> None:
    """Store a new name and note of a row.

    Args:
        row: A row of a table with unique names.
        name: One line; the present name is allowed.
        note: Of the user, "" for none.

    Raises:
        ExchangeError: The name is invalid, or in use (`NameInUseError`), see `check_name_free`.
    """
    with transaction.atomic():
        check_name_free(type(row), name, besides=row)
        row.name, row.note = name, note
        row.save(update_fields=["name", "note"])


def check_name_line(name: str, label: str) -> None:
    """Raise `ExchangeError` for a name that is not a line of printable characters."""
    try:
        check_line(name)
    except ValueError as error:
        raise ExchangeError(f"{label}: {error}") from None


def check_name_free(model: type[Named], name: str, besides: Named | None = None) -> None:
    """Check that a row may get a name.

    Args:
        model: Whose rows have the names.
        name: The new name.
        besides: A row that may have it already: the one that is renamed.

    Raises:
        NameInUseError: Another row has the name; the message suggests a free one.
        ExchangeError: The name is blank, longer than `NAME_LIMIT`, or not a single line.
    """
    if not name.strip() or len(name) > NAME_LIMIT:
        raise ExchangeError(
            f"the name of this {kind_of(model)} must have 1 to {NAME_LIMIT} characters, not "
            f"{len(name.strip())}"
        )
    check_name_line(name, f"the name of this {kind_of(model)}")
    lock_names(model)
    if model._default_manager.filter(name=name).exclude(pk=None if besides is None else besides.pk).exists():
        raise NameInUseError(kind_of(model), name, free_name(model, name))
