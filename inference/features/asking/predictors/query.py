"""Which predictors there are here, and how a stored configuration becomes one."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import transaction

from inference.core.protocols import Json
from inference.features.asking.predictors.answers import DatabaseAnswers, StraightAnswers
from inference.features.asking.predictors.processors import options_for, processor_here
from inference.features.asking.predictors.stored_kinds import (
    STORED_KINDS,
    measured,
    reason_against,
    shared,
)
from inference.isa.blocks import body_of
from inference.models import Predictor as PredictorRow
from inference.models import identity_key
from inference.predictors import machine, mapping
from inference.predictors.kinds import KINDS, FoundKind, PredictorKind
from inference.predictors.panel import Remembering
from inference.predictors.permission import WHO_CHOOSES
from inference.predictors.protocol import Predictor, PredictorError
from inference.runs.kinds import Task
from inference.storage.names import free_name

QUESTION = "ask"
"""The kind of runs that ask predictors about basic blocks."""


@dataclass(frozen=True)
class Listed:
    """A predictor that could be used here, or why a kind or a configuration cannot.

    `name` is what commands take; empty for a kind of which there is nothing. `row`: where it is stored.
    `apart`: it is there because it was stored with these options, not because it is found.
    """

    kind: PredictorKind
    name: str
    version: str
    options: Json
    reason: str = ""
    row: PredictorRow | None = None
    apart: bool = False

    @property
    def usable(self) -> bool:
        """Whether it can be asked, as far as is known without asking."""
        return not self.reason


def all_kinds() -> dict[str, PredictorKind]:
    """{name: kind} of all predictors, programs first."""
    return {**KINDS, **STORED_KINDS}


def kinds() -> dict[str, PredictorKind]:
    """Those that the operator of this site allows."""
    return {name: kind for name, kind in all_kinds().items() if not kind.obstacle}


def kind_of(name: str) -> PredictorKind:
    """The kind of this name, allowed or not. Raises `PredictorError`."""
    known = all_kinds()
    if name not in known:
        raise PredictorError(f"there is no kind of predictor {name!r}; there are {', '.join(kinds())}")
    return known[name]


def predictor_of(kind: str, options: Mapping[str, Any]) -> Predictor:
    """A predictor from the name of its kind and its options, or texts for these. Raises `PredictorError`."""
    return kind_of(kind).predictor(options)


def row_for(
    kind: str,
    options: Mapping[str, Any],
    name: str = "",
    origin: PredictorRow.Origin = PredictorRow.Origin.FOUND,
    *,
    may_choose: bool = False,
) -> PredictorRow:
    """The stored configuration with these options, made where there is none with the same identity.

    One that so far was known from an imported file alone becomes this one, and keeps its campaigns.
    `may_choose`: the options come from a stored configuration, or from somebody who may choose what is run
    (`inference.predictors.permission`). Raises `PredictorError` where it may not be chosen or cannot be used.
    """
    if not may_choose and (chosen_options := kind_of(kind).choosing(options)):
        raise PredictorError(f"{chosen_options[0]} of {kind} {WHO_CHOOSES}")
    predictor = predictor_of(kind, options)
    try:
        key = identity_key(predictor.identity)
        with transaction.atomic():
            row = PredictorRow.objects.filter(key=key).first()
            if row is not None and row.askable:
                return row
            row = row or PredictorRow(key=key)
            wanted = name or predictor.name
            if row.name != wanted:
                row.name = free_name(PredictorRow, wanted)
            row.kind, row.options, row.origin = kind, dict(options), origin
            row.identity = predictor.identity
            row.save()
            return row
    finally:
        predictor.close()


def opened(row: PredictorRow, task: Task | None = None, *, isa: str, remembering: bool = True) -> Remembering:
    """A stored predictor; `task`: the run that it answers for, `isa`: the instruction set of the blocks.

    With `remembering`, answers are looked up in the database and kept there.

    Raises `PredictorError` where it knows no such blocks, where it cannot be used here any more, where what
    is here by now would give other answers than those that are remembered of it, and for one that came with a
    file: whoever wrote that could have named any program of this computer.
    """
    if not row.askable:
        raise PredictorError(_from_file(row))
    kind = kind_of(row.kind)
    if isa not in kind.isas:
        raise PredictorError(f"{row.name} answers for blocks of {', '.join(kind.isas)}, not of {isa}")
    if row.kind == machine.KIND and task is not None:
        predictor: Predictor = measured(kind.settings_of(row.options), task)
    else:
        predictor = kind.predictor(row.options)
    if identity_key(predictor.identity) != row.key:
        predictor.close()
        raise PredictorError(
            f"{row.name} is not what it was when it was stored: "
            f"{_difference(row.identity, predictor.identity)}. Add what is here now as a predictor of its "
            "own, or bring the former back"
        )
    if kind.anywhere and task is not None:
        predictor = shared(predictor, row, task)
    answers = StraightAnswers if row.kind == mapping.KIND else DatabaseAnswers
    store = answers(row, isa) if remembering else None
    if kind.takes_jumps:
        return Remembering(predictor, store)
    return Remembering(predictor, store, asked_about=partial(body_of, isa=isa))


def chosen(text: str, *, may_choose: bool = False) -> PredictorRow:
    """The stored configuration that a user means, made where there is none.

    `text`: the name of one, as `manage.py predictors` lists them (signs and blanks do not count), or
    `KIND:OPTION=VALUE,…` such as `llvm-mca:release=13,cpu=haswell`. `may_choose`: as for `row_for`; commands
    of the shell may. Raises `PredictorError`.
    """
    row = PredictorRow.objects.filter(name=text).first()
    if row is not None and row.askable:
        return row
    kind, _, given = text.partition(":")
    if kind in all_kinds() and (given or kind == text):
        return row_for(kind, _options(given), may_choose=may_choose)
    usable = [one for one in listed() if one.usable]
    named = {_folded(one.name): one for one in usable}
    found = named.get(_folded(text))
    if found is None and row is not None:
        raise PredictorError(_from_file(row))
    if found is None:
        if reason := reason_against(text):
            raise PredictorError(reason)
        near = difflib.get_close_matches(_folded(text), named, n=3, cutoff=0.3) or list(named)[:3]
        hint = ", ".join(repr(named[name].name) for name in near)
        raise PredictorError(f"there is no predictor {text!r}" + (f"; is it {hint}?" if hint else ""))
    return found.row or row_for(found.kind.name, found.options)


def listed(among: Mapping[str, PredictorKind] | None = None) -> list[Listed]:
    """All that can be used here, and why the rest cannot: first each kind as found, then configured ones.

    `among`: {name: kind} of those that are looked for; all, where it is left out. What only files know of is
    none of them.
    """
    found: list[Listed] = []
    among = all_kinds() if among is None else among
    stored = PredictorRow.objects.filter(kind__in=list(among)).exclude(origin=PredictorRow.Origin.IMPORTED)
    rows = {row.key: row for row in stored}
    seen: set[str] = set()
    processor = processor_here()
    for kind in among.values():
        if kind.obstacle:
            continue
        try:
            options = kind.found()
        except PredictorError as error:
            found.append(Listed(kind, "", "", {}, str(error)))
            continue
        for one in options:
            listing = _listed_for(kind, one, rows, processor)
            seen.add(listing.row.key if listing.row else "")
            found.append(listing)
    for key, row in rows.items():
        if key not in seen:
            found.append(_listed_row(row))
    return found


def programs() -> list[tuple[PredictorKind, list[FoundKind], str]]:
    """Each kind of program with what is found of it, or why it cannot be used; quicker than `listed`."""
    told = []
    for kind in KINDS.values():
        if kind.obstacle:
            continue
        try:
            told.append((kind, list(kind.found()), ""))
        except PredictorError as error:
            told.append((kind, [], str(error)))
    return told


def _listed_for(
    kind: PredictorKind, one: FoundKind, rows: Mapping[str, PredictorRow], processor: str
) -> Listed:
    """For the processor at hand, as far as the tool knows it; else as it is found."""
    for options in options_for(kind.name, one.options, processor):
        if options != one.options:
            listing = _listed(kind, FoundKind(options, one.version), rows)
            if listing.usable:
                return listing
    return _listed(kind, one, rows)


def _listed(kind: PredictorKind, one: FoundKind, rows: Mapping[str, PredictorRow]) -> Listed:
    try:
        predictor = kind.predictor(one.options) if one.make is None else one.make()
    except PredictorError as error:
        return Listed(kind, "", one.version, one.options, str(error))
    try:
        row = rows.get(identity_key(predictor.identity))
        return Listed(kind, row.name if row else predictor.name, one.version, one.options, row=row)
    finally:
        predictor.close()


def _listed_row(row: PredictorRow) -> Listed:
    kind = kind_of(row.kind)
    version = str(row.identity.get("version", ""))
    try:
        opened(row, isa=kind.isas[0]).close()
    except PredictorError as error:
        return Listed(kind, row.name, version, row.options, str(error), row, apart=True)
    return Listed(kind, row.name, version, row.options, row=row, apart=True)


def _from_file(row: PredictorRow) -> str:
    return (
        f"{row.name} comes from an imported file: nothing here can be asked. Add a predictor with the same "
        "options, and it is the same where it gives the same answers"
    )


def _options(text: str) -> dict[str, str]:
    """`name=value,…` as a dictionary; a comma in a value is written as `\\,`."""
    options = {}
    for part in re.split(r"(?<!\\),", text) if text else []:
        name, equals, value = part.partition("=")
        if not equals:
            raise PredictorError(f"options are written name=value, with commas between, not {part!r}")
        options[name.strip()] = value.replace("\\,", ",")
    return options


def written(kind: str, options: Mapping[str, Any]) -> str:
    """`KIND:OPTION=VALUE,…` as `chosen` reads it."""
    told = ",".join(f"{name}={value}".replace(",", "\\,") for name, value in options.items())
    return f"{kind}:{told}"


def _folded(name: str) -> str:
    return re.sub(r"[^\w.=+-]", "", name.casefold())


def _difference(before: Json, now: Json) -> str:
    changed = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    return "; ".join(
        f"{name} was {json.dumps(before.get(name))} and is {json.dumps(now.get(name))}" for name in changed
    )


MOST_PREDICTORS = 100
