"""Names of rows: found exactly, missed with a hint, and never taken twice."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TypeVar

from inference.exchange.errors import ExchangeError, NameTakenError, UnknownNameError
from inference.models.naming import Named

Row = TypeVar("Row", bound=Named)

NAME_LIMIT = 200  # characters, as the column has it


def kind_of(model: type[Named]) -> str:
    """What a user calls the rows of this model, e.g. "experiment set"."""
    return str(model._meta.verbose_name)


def by_name(model: type[Row], name: str) -> Row:
    """The row of this name; raises `UnknownNameError` with the nearest names that exist."""
    row = model._default_manager.filter(name=name).first()
    if row is None:
        raise UnknownNameError(kind_of(model), name, nearest_names(model, name))
    return row


def nearest_names(model: type[Named], name: str, n: int = 3) -> list[str]:
    """Up to n existing names that resemble the given one, else the newest ones."""
    folded = {known.casefold(): known for known in model._default_manager.values_list("name", flat=True)}
    close = [folded[near] for near in get_close_matches(name.casefold(), folded, n=n, cutoff=0.4)]
    return close or list(model._default_manager.order_by("-id").values_list("name", flat=True)[:n])


def free_name(model: type[Named], wanted: str) -> str:
    """The wanted name, or the first of "wanted (2)", "wanted (3)", … that is free."""
    wanted = wanted[:NAME_LIMIT]
    stem = wanted[: NAME_LIMIT - 8]
    taken = set(model._default_manager.filter(name__startswith=stem).values_list("name", flat=True))
    name, number = wanted, 2
    while name in taken:
        name = f"{stem} ({number})"
        number += 1
    return name


def free_or_refuse(model: type[Named], name: str) -> None:
    """Raise `NameTakenError` with a free suggestion where the name has an owner.

    Raises `ExchangeError` for a name that is blank, or longer than the column.
    """
    if not name.strip() or len(name) > NAME_LIMIT:
        raise ExchangeError(
            f"the name of this {kind_of(model)} must have 1 to {NAME_LIMIT} characters, not "
            f"{len(name.strip())}"
        )
    if model._default_manager.filter(name=name).exists():
        raise NameTakenError(kind_of(model), name, free_name(model, name))
