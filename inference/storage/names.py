"""Names of rows: looked up, kept unique, and composed for runs and results.

A composed name is processor · subject · method, as in "Zen 4 · starter set · PMEvo".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar

from django.db import connection, transaction

from inference.core.texts import as_single_line, check_line, is_line
from inference.formats.problems import ExchangeError
from inference.isa.targets import code_target
from inference.models import BlockColumn, InstructionScheme, Machine, Upload
from inference.models.named import Named
from inference.storage.errors import NameInUseError, UnknownNameError

Row = TypeVar("Row", bound=Named)

NAME_LIMIT = 200  # characters, as the column has it
NOTE_LIMIT = 20_000  # characters

SEPARATOR = " · "
_COMPOSED_LIMIT = NAME_LIMIT - 20
"""Characters of a composed name; the rest is for a number that makes it unique."""

_MIN_PART_LENGTH = 20  # characters

_BRAND_NOISE = re.compile(r"\((?:R|TM|C)\)| (?:\d+-Core )?Processor\b| CPU\b", re.IGNORECASE)
"""What brand strings have beside the product's name: "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz"."""

_SELECTIONS = {
    "all": "all schemes",
    "default": "default set",
    "starter": "starter set",
    "probes": "probes",
    "legacy-sse": "legacy SSE",
    "mmx": "MMX",
    "x87": "x87",
    "avx512": "AVX-512",
}
_MAX_NAMED = 2
"""Longer lists are named by their first entry and their size."""


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
        note: Note of the user, "" for none.

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


def result_name(*parts: str) -> str:
    """The non-empty parts, joined; the longest one is shortened where the name would be too long.

    >>> result_name("Zen 4", "starter set", "", "PMEvo")
    'Zen 4 · starter set · PMEvo'
    """
    named = [part for part in parts if part]
    while (excess := len(SEPARATOR.join(named)) - _COMPOSED_LIMIT) > 0:
        longest = max(range(len(named)), key=lambda place: len(named[place]))
        length = max(_MIN_PART_LENGTH, len(named[longest]) - excess - 1)
        if length >= len(named[longest]) - 1:
            return SEPARATOR.join(named)[:_COMPOSED_LIMIT]
        named[longest] = f"{named[longest][:length].rstrip()}…"
    return SEPARATOR.join(named)


def row_names(model: type[Named] | type[BlockColumn], ids: Iterable[int | None]) -> list[str]:
    """The names of rows in the order of their ids; None and unknown ids are left out (one query)."""
    numbers = [pk for pk in ids if pk is not None]
    names = dict(model._default_manager.filter(pk__in=numbers).values_list("pk", "name"))
    return [names[pk] for pk in numbers if pk in names]


def file_name(upload: int) -> str:
    """The name of an uploaded file; "" where it has been deleted."""
    return "".join(Upload.objects.filter(pk=upload).values_list("file_name", flat=True))


def enumerated(names: Sequence[str]) -> str:
    """One or two names; of more, the first one and the number of others.

    >>> enumerated(["uiCA", "OSACA", "llvm-mca 18"])
    'uiCA and 2 more'
    """
    if len(names) <= _MAX_NAMED:
        return " and ".join(names)
    return f"{names[0]} and {len(names) - 1} more"


def processor_name(machine: Machine | int) -> str:
    """The documented core of a machine, else its CPU's product name, else the machine's name.

    Where another computer has the same core, the machine's name is added, as in "Zen 4 (lab)". Simulated
    processors go by their own name.

    Args:
        machine: A row, or its id.
    """
    if isinstance(machine, int):
        machine = Machine.objects.select_related("isa").get(pk=machine)
    if machine.is_simulated:
        return machine.name
    name = _core_or_product(machine.isa.name, machine.facts, machine.cpu)
    if not name:
        return machine.name
    computers = Machine.objects.filter(isa=machine.isa_id).exclude(kind=Machine.Kind.SIMULATED)
    rivals = computers.exclude(pk=machine.pk).values_list("facts", "cpu")
    if all(_core_or_product(machine.isa.name, facts, cpu) != name for facts, cpu in rivals):
        return name
    return machine.name if name.casefold() in machine.name.casefold() else f"{name} ({machine.name})"


def _core_or_product(isa: str, facts: dict[str, Any], cpu: str) -> str:
    core = code_target(isa).schemes.core_of(facts)
    return _product(cpu) if core is None else core.name


def _product(cpu: str) -> str:
    """A brand string without its noise."""
    return _BRAND_NOISE.sub("", " ".join(cpu.partition("@")[0].split())).strip()


def machine_label(machine: Machine) -> str:
    """What a machine is and which one: "Zen 5 (AMD EPYC 9R14), this computer", "Zen 4 (AMD EPYC), lab".

    Takes no query where `machine.isa` has been read.
    """
    if machine.is_simulated:
        return f"{machine.name}, simulated"
    core = code_target(machine.isa.name).schemes.core_of(machine.facts)
    product = _product(machine.cpu)
    if core is None:
        name = product
    else:
        name = f"{core.name} ({product})" if product and product != core.name else core.name
    if not name or machine.kind == Machine.Kind.PUBLISHED:
        return machine.name
    return f"{name}, this computer" if machine.local else f"{name}, {machine.name}"


def selection_name(schemes: str | Sequence[int], search: str = "", sample: int | None = None) -> str:
    """A selection of schemes as a run's description has it.

    Args:
        schemes: A word for a selection, or row ids.
        search: The search text that the ids come from; a word for a selection, too.
        sample: Number of schemes that are taken of the selection; None for all.
    """
    if isinstance(schemes, str):
        words = _SELECTIONS.get(schemes, schemes)
    elif search:
        words = _SELECTIONS.get(search, search)
    elif len(schemes) <= _MAX_NAMED:
        rows = InstructionScheme.objects.filter(pk__in=schemes).order_by("pk")
        words = " and ".join(rows.values_list("text", flat=True))
    else:
        words = f"{len(schemes):,} schemes"
    return words if sample is None else f"{sample:,} of {words}"
