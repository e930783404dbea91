"""Which predictors there are here, for which processors they answer, and how a user chooses one."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.db import transaction

from inference.core.protocols import Json
from inference.features.asking.predictors.kinds import (
    all_kinds,
    kind_of,
    predictor_of,
    reason_against,
)
from inference.features.asking.predictors.opening import opened, why_not_asked
from inference.isa.targets import names_with_blocks, names_with_operands
from inference.models import Machine, PortMapping, Predictor, ResourceMapping, StoredCoreModel, identity_key
from inference.predictors import core_model, machine, mapping
from inference.predictors.kinds import KINDS, FoundKind, PredictorKind
from inference.predictors.permission import WHO_CHOOSES
from inference.predictors.processor_names import (
    PROCESSORS,
    names_of_processor,
    processor_option,
    processors_named,
)
from inference.predictors.protocol import PredictorError
from inference.runs.errors import ConfigError
from inference.storage.errors import UnknownNameError
from inference.storage.instruction_sets import core_of
from inference.storage.names import free_name


def processor_of_machine(row: Machine) -> str:
    """The name of a machine's core, as tools are asked for it; "" where that is not known."""
    core = core_of(row)
    return "" if core is None else core.name


def processor_here() -> str:
    """That of this computer, else of the machine whose agent was heard of last; "" where neither is known."""
    rows = Machine.objects.filter(isa__name__in=names_with_blocks(), kind=Machine.Kind.AGENT).select_related(
        "isa"
    )
    listed = sorted(rows, key=lambda row: (row.local, row.last_seen is not None, row.last_seen), reverse=True)
    return next(filter(None, map(processor_of_machine, listed)), "")


def processor_field() -> forms.ChoiceField:
    """The choice of a form: that of the machine at hand, unless somebody says otherwise."""

    def choices() -> list[tuple[str, str]]:
        here = processor_here()
        usual = f"this machine’s: {here}" if here else "as each tool is set up"
        return [("", usual), *((name, name) for name in PROCESSORS)]

    return forms.ChoiceField(
        label="Processor",
        choices=choices,
        required=False,
        help_text="For which all tools predict that know several; one that was added with its own keeps it.",
    )


def options_for(kind: str, options: Mapping[str, Any], processor: str) -> list[Json]:
    """A tool's options with a processor, the best first; the same alone where it has no such option.

    Empty where it knows no such processor: it would answer for another one.
    """
    option = processor_option(kind)
    if not option or not processor or option in options:
        return [dict(options)]
    return [{**options, option: name} for name in names_of_processor(kind, processor)]


def different_processors(rows: Iterable[Predictor]) -> dict[str, list[str]]:
    """{processor: names of the predictors that answer for it} where they cannot all mean the same one.

    {} where they can, as far as is known: a name such as OSACA's SKX stands for several cores.
    """
    listed = list(rows)
    machines = _machines_of(listed)
    found: dict[tuple[str, ...], list[str]] = {}
    for row in listed:
        if cores := _processors(row, machines):
            found.setdefault(cores, []).append(row.name)
    if not found or set.intersection(*map(set, found)):
        return {}
    return {" or ".join(cores): names for cores, names in found.items()}


def _processors(row: Predictor, machines: Mapping[tuple[str, str], Machine]) -> tuple[str, ...]:
    """The cores that it may answer for; () where that is not known."""
    told = row.options if row.askable else row.identity
    if option := processor_option(row.sort):
        usual = getattr(KINDS[row.sort].settings(), option)
        return processors_named(row.sort, str(told.get(option) or usual))
    found = machines.get((row.kind, str(row.options.get(_NAMED_IN.get(row.kind, ""), ""))))
    core = "" if found is None else processor_of_machine(found)
    return (core,) if core else ()


_NAMED_IN = {machine.KIND: "machine", core_model.KIND: "model", mapping.KIND: "mapping"}
"""The option in which predictors of a kind name what they are made of."""


_MADE_OF_MACHINES: tuple[tuple[str, type[Any]], ...] = (
    (core_model.KIND, StoredCoreModel),
    (mapping.KIND, ResourceMapping),
    (mapping.KIND, PortMapping),
)


def _machines_of(rows: Iterable[Predictor]) -> dict[tuple[str, str], Machine]:
    """{(kind, name that its options have): the machine behind} of predictors that have one (four queries)."""
    wanted = {
        kind: [str(row.options.get(option, "")) for row in rows if row.kind == kind]
        for kind, option in _NAMED_IN.items()
    }
    here = Machine.objects.filter(name__in=wanted[machine.KIND]).select_related("isa")
    found = {(machine.KIND, row.name): row for row in here}
    for kind, model in _MADE_OF_MACHINES:
        made = model._default_manager.filter(name__in=wanted[kind], machine__isnull=False)
        found |= {(kind, row.name): row.machine for row in made.select_related("machine__isa")}
    return found


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
    row: Predictor | None = None
    apart: bool = False

    @property
    def usable(self) -> bool:
        """Whether it can be asked, as far as is known without asking."""
        return not self.reason


def row_for(
    kind: str,
    options: Mapping[str, Any],
    name: str = "",
    origin: Predictor.Origin = Predictor.Origin.FOUND,
    *,
    may_choose: bool = False,
) -> Predictor:
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
            row = Predictor.objects.filter(key=key).first()
            if row is not None and row.askable:
                return row
            row = row or Predictor(key=key)
            wanted = name or predictor.name
            if row.name != wanted:
                row.name = free_name(Predictor, wanted)
            row.kind, row.options, row.origin = kind, dict(options), origin
            row.identity = predictor.identity
            row.save()
            return row
    finally:
        predictor.close()


def chosen(text: str, *, may_choose: bool = False) -> Predictor:
    """The stored configuration that a user means, made where there is none.

    `text`: the name of one, as `manage.py predictors` lists them (signs and blanks do not count), or
    `KIND:OPTION=VALUE,…` such as `llvm-mca:release=13,cpu=haswell`. `may_choose`: as for `row_for`; commands
    of the shell may. Raises `PredictorError`.
    """
    row = Predictor.objects.filter(name=text).first()
    if row is not None and row.askable:
        return row
    kind, _, given = text.partition(":")
    if kind in all_kinds() and (given or kind == text):
        return row_for(kind, _options(given), may_choose=may_choose)
    usable = [one for one in listed() if one.usable]
    named = {_folded(one.name): one for one in usable}
    found = named.get(_folded(text))
    if found is None and row is not None:
        raise PredictorError(why_not_asked(row))
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
    stored = Predictor.objects.filter(kind__in=list(among)).exclude(origin=Predictor.Origin.IMPORTED)
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


def _listed_for(kind: PredictorKind, one: FoundKind, rows: Mapping[str, Predictor], processor: str) -> Listed:
    """For the processor at hand, as far as the tool knows it; else as it is found."""
    for options in options_for(kind.name, one.options, processor):
        if options != one.options:
            listing = _listed(kind, FoundKind(options, one.version), rows)
            if listing.usable:
                return listing
    return _listed(kind, one, rows)


def _listed(kind: PredictorKind, one: FoundKind, rows: Mapping[str, Predictor]) -> Listed:
    try:
        predictor = kind.predictor(one.options) if one.make is None else one.make()
    except PredictorError as error:
        return Listed(kind, "", one.version, one.options, str(error))
    try:
        row = rows.get(identity_key(predictor.identity))
        return Listed(kind, row.name if row else predictor.name, one.version, one.options, row=row)
    finally:
        predictor.close()


def _listed_row(row: Predictor) -> Listed:
    kind = kind_of(row.kind)
    version = str(row.identity.get("version", ""))
    try:
        opened(row, isa=kind.isas[0]).close()
    except PredictorError as error:
        return Listed(kind, row.name, version, row.options, str(error), row, apart=True)
    return Listed(kind, row.name, version, row.options, row=row, apart=True)


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


MOST_PREDICTORS = 100

_NEAR = 3
"""Names that are offered for one that there is not."""


def check_processor(name: str) -> str:
    """The name. Raises `UnknownNameError` for one that no tool could know."""
    if name and name not in PROCESSORS:
        near = difflib.get_close_matches(name, PROCESSORS, _NEAR, cutoff=0.0)
        raise UnknownNameError("processor", name, near)
    return name


def on_processor(row: Predictor, processor: str) -> Predictor:
    """The same tool for a processor; itself where it is told none, or was added with one by somebody.

    Raises `PredictorError` where the tool knows no such processor.
    """
    option = processor_option(row.kind)
    if not processor or not option or row.origin == Predictor.Origin.CONFIGURED:
        return row
    rest = {name: value for name, value in row.options.items() if name != option}
    why = ""
    for options in options_for(row.kind, rest, processor):
        try:
            return row_for(row.kind, options, may_choose=True)  # all but the processor is as it was stored
        except PredictorError as error:
            why = f": {error}"
    raise PredictorError(f"{row.name} has no model of {processor}{why}")


def names_processor(text: str) -> bool:
    """Whether a predictor is named with a processor of its own, `llvm-mca:cpu=haswell`."""
    kind, _, options = text.partition(":")
    option = processor_option(kind)
    return bool(option) and f"{option}=" in options


def chosen_on(text: str, processor: str, *, may_choose: bool = False) -> Predictor:
    """See `query.chosen`, for a processor unless the text names one. Raises `PredictorError`."""
    row = chosen(text, may_choose=may_choose)
    return row if names_processor(text) else on_processor(row, processor)


def known_on(rows: Iterable[Predictor], processor: str) -> tuple[list[Predictor], list[str]]:
    """The predictors for a processor, each once, and why others cannot be asked about it."""
    found: dict[Predictor, None] = {}
    left_out = []
    for row in rows:
        try:
            found[on_processor(row, processor)] = None
        except PredictorError as error:
            left_out.append(str(error))
    return list(found), left_out


def in_words(processors: Mapping[str, Sequence[str]]) -> str:
    """What `different_processors` has found, in a sentence; "" for nothing."""
    if not processors:
        return ""
    told = "; ".join(f"{name}: {', '.join(rows)}" for name, rows in processors.items())
    return f"these predictions are for different processors: {told}"


def common_isa(predictors: Sequence[int]) -> str:
    """The first instruction set with random blocks that predictors, given by ids, all answer for.

    Kinds that are not known here answer for any. Raises `ConfigError` where there is none.
    """
    known = all_kinds()
    rows = [row for row in Predictor.objects.filter(pk__in=predictors).order_by("pk") if row.kind in known]
    choices = names_with_operands()
    for isa in choices:
        if all(isa in known[row.kind].isas for row in rows):
            return isa
    answers = "; ".join(f"{row.name} answers for {', '.join(known[row.kind].isas)}" for row in rows)
    raise ConfigError(f"predictors must all answer for one of {', '.join(choices)}: {answers}")
