"""Listing and choosing predictors, and the processors that they answer for."""

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
    isas_of_row,
    kind_of,
    predictor_of,
    reason_against,
)
from inference.features.asking.predictors.opening import open_predictor, why_not_askable
from inference.isa.targets import names_with_blocks
from inference.models import Machine, PortMapping, Predictor, ResourceMapping, StoredCoreModel, identity_key
from inference.predictors import core_model, machine, mapping
from inference.predictors.kinds import KINDS, InstalledKind, PredictorKind
from inference.predictors.permission import WHO_CHOOSES
from inference.predictors.processor_names import (
    PROCESSORS,
    names_of_processor,
    processor_option,
    processors_named,
    usual_processor,
)
from inference.predictors.protocol import PredictorError
from inference.storage.errors import UnknownNameError
from inference.storage.instruction_sets import core_name
from inference.storage.names import free_name


def processor_here() -> str:
    """The processor of this computer, else of the machine heard from last; "" if both are unknown."""
    rows = Machine.objects.filter(isa__name__in=names_with_blocks(), kind=Machine.Kind.AGENT).select_related(
        "isa"
    )
    machines = sorted(rows, key=lambda pc: (pc.local, pc.last_seen is not None, pc.last_seen), reverse=True)
    return next(filter(None, map(core_name, machines)), "")


def processor_field() -> forms.ChoiceField:
    """The choice of a processor in a form; by default that of `processor_here`."""

    def choices() -> list[tuple[str, str]]:
        here = processor_here()
        usual = f"this machine’s: {here}" if here else "as each tool is set up"
        return [("", usual), *((name, name) for name in PROCESSORS)]

    return forms.ChoiceField(
        label="Processor",
        choices=choices,
        required=False,
        help_text="For all tools that know several processors; a tool configured with its own keeps it.",
    )


def options_for(kind: str, options: Mapping[str, Any], processor: str) -> list[Json]:
    """A tool's options with a processor, the best match first; unchanged if it has no such option.

    [] if the tool does not know the processor: it would answer for another one.
    """
    option = processor_option(kind)
    if not option or not processor or option in options:
        return [dict(options)]
    return [{**options, option: name} for name in names_of_processor(kind, processor)]


def different_processors(rows: Iterable[Predictor]) -> dict[str, list[str]]:
    """{processor: names of the predictors that answer for it} unless all may answer for the same one.

    {} if they may: a name such as OSACA's SKX stands for several cores.
    """
    predictors = list(rows)
    machines = _machines_of(predictors)
    names_by_cores: dict[tuple[str, ...], list[str]] = {}
    for row in predictors:
        if cores := _processors(row, machines):
            names_by_cores.setdefault(cores, []).append(row.name)
    if not names_by_cores or set.intersection(*map(set, names_by_cores)):
        return {}
    return {" or ".join(cores): names for cores, names in names_by_cores.items()}


def _processors(row: Predictor, machines: Mapping[tuple[str, str], Machine]) -> tuple[str, ...]:
    """The cores that a predictor may answer for; () if they are unknown."""
    options = row.options if row.is_runnable else row.identity
    if option := processor_option(row.sort):
        usual = getattr(KINDS[row.sort].settings(), option)
        return processors_named(row.sort, str(options.get(option) or usual))
    machine_row = machines.get((row.kind, str(row.options.get(_NAME_OPTION.get(row.kind, ""), ""))))
    core = "" if machine_row is None else core_name(machine_row)
    return (core,) if core else ()


_NAME_OPTION = {machine.KIND: "machine", core_model.KIND: "model", mapping.KIND: "mapping"}
"""{kind: the option with the name of the row that a predictor is made of}."""


_MACHINE_MODELS: tuple[tuple[str, type[Any]], ...] = (
    (core_model.KIND, StoredCoreModel),
    (mapping.KIND, ResourceMapping),
    (mapping.KIND, PortMapping),
)


def _machines_of(rows: Iterable[Predictor]) -> dict[tuple[str, str], Machine]:
    """{(kind, name of the row in its options): the machine of that row} in four queries."""
    names = {
        kind: [str(row.options.get(option, "")) for row in rows if row.kind == kind]
        for kind, option in _NAME_OPTION.items()
    }
    measuring = Machine.objects.filter(name__in=names[machine.KIND]).select_related("isa")
    machines = {(machine.KIND, row.name): row for row in measuring}
    for kind, model in _MACHINE_MODELS:
        rows_of_kind = model._default_manager.filter(name__in=names[kind], machine__isnull=False)
        machines |= {(kind, row.name): row.machine for row in rows_of_kind.select_related("machine__isa")}
    return machines


_RELEASE = re.compile(r"(?<!\d)\d++(?:\.\d++)++")  # in "Debian LLVM version 14.0.6 · Optimized build."
QUESTION = "ask"
"""The kind of runs that ask predictors about basic blocks."""


@dataclass(frozen=True)
class PredictorListing:
    """An available predictor, or a kind or configuration with the reason why it is unavailable.

    `name` is what commands take; "" for a kind without predictors. `row`: None if it is not stored.
    `is_stored_only`: it is stored with these options, and is not among the installed ones.
    """

    kind: PredictorKind
    name: str
    version: str
    options: Json
    reason: str = ""
    row: Predictor | None = None
    is_stored_only: bool = False

    @property
    def usable(self) -> bool:
        """Whether it can be used, as far as is known without asking it."""
        return not self.reason


def row_for(
    kind: str,
    options: Mapping[str, Any],
    name: str = "",
    origin: Predictor.Origin = Predictor.Origin.DETECTED,
    *,
    may_choose: bool = False,
) -> Predictor:
    """The stored predictor with these options; created if none has the same identity.

    A predictor of an imported file with this identity becomes usable, and keeps its campaigns.
    `may_choose`: the options come from a stored configuration, or from somebody who may choose what is run
    (`inference.predictors.permission`). Raises `PredictorError` if that is missing, or it cannot be used.
    """
    if not may_choose and (chosen_options := kind_of(kind).launch_options(options)):
        raise PredictorError(f"{chosen_options[0]} of {kind} {WHO_CHOOSES}")
    predictor = predictor_of(kind, options)
    try:
        key = identity_key(predictor.identity)
        with transaction.atomic():
            row = Predictor.objects.filter(key=key).first()
            if row is not None and row.is_runnable:
                return row
            row = row or Predictor(key=key)
            preferred_name = name or predictor.name
            if row.name != preferred_name:
                row.name = free_name(Predictor, preferred_name)
            row.kind, row.options, row.origin = kind, dict(options), origin
            row.identity = predictor.identity
            row.save()
            return row
    finally:
        predictor.close()


def predictor_row(text: str, *, may_choose: bool = False) -> Predictor:
    """The stored predictor that a user names; created if there is none.

    `text`: a listed name (punctuation and blanks do not count), or `KIND:OPTION=VALUE,…` such as
    `llvm-mca:release=13,cpu=haswell`. `may_choose`: as for `row_for`. Raises `PredictorError`.
    """
    row = Predictor.objects.filter(name=text).first()
    if row is not None and row.is_runnable:
        return row
    kind, _, options = text.partition(":")
    if kind in all_kinds() and (options or kind == text):
        return row_for(kind, _options(options), may_choose=may_choose)
    usable = [listing_row for listing_row in predictor_listings() if listing_row.usable]
    named = {_comparable_name(listing_row.name): listing_row for listing_row in usable}
    listing = named.get(_comparable_name(text))
    if listing is None and row is not None:
        raise PredictorError(why_not_askable(row))
    if listing is None:
        if reason := reason_against(text):
            raise PredictorError(reason)
        similar = difflib.get_close_matches(_comparable_name(text), named, n=3, cutoff=0.3) or list(named)[:3]
        hint = ", ".join(repr(named[name].name) for name in similar)
        raise PredictorError(f"there is no predictor {text!r}" + (f"; is it {hint}?" if hint else ""))
    return listing.row or row_for(listing.kind.name, listing.options)


def predictor_listings(kinds: Mapping[str, PredictorKind] | None = None) -> list[PredictorListing]:
    """The predictors of all kinds: the installed ones with those unavailable, then the configured ones.

    `kinds`: {name: kind} to list; None for all. Predictors known only from imported files are left out.
    """
    listings: list[PredictorListing] = []
    kinds = all_kinds() if kinds is None else kinds
    stored = Predictor.objects.filter(kind__in=list(kinds)).exclude(origin=Predictor.Origin.IMPORTED)
    rows = {row.key: row for row in stored}
    listed_keys: set[str] = set()
    processor = processor_here()
    for kind in kinds.values():
        if kind.obstacle:
            continue
        try:
            options = kind.find()
        except PredictorError as error:
            listings.append(PredictorListing(kind, "", "", {}, str(error)))
            continue
        for option in options:
            listing = _listing_for(kind, option, rows, processor)
            listed_keys.add(listing.row.key if listing.row else "")
            listings.append(listing)
    for key, row in rows.items():
        if key not in listed_keys:
            listings.append(_row_listing(row))
    return listings


def program_listings() -> list[tuple[PredictorKind, list[InstalledKind], str]]:
    """(kind, installed options, why there are none) of each kind of program; `predictor_listings` is
    slower."""
    listings = []
    for kind in KINDS.values():
        if kind.obstacle:
            continue
        try:
            listings.append((kind, list(kind.find()), ""))
        except PredictorError as error:
            listings.append((kind, [], str(error)))
    return listings


def _listing_for(
    kind: PredictorKind, installed: InstalledKind, rows: Mapping[str, Predictor], processor: str
) -> PredictorListing:
    """The listing for `processor` if the tool knows it, else with the installed options."""
    for options in options_for(kind.name, installed.options, processor):
        if options != installed.options:
            listing = _listing(kind, InstalledKind(options, installed.version), rows)
            if listing.usable:
                return listing
    return _listing(kind, installed, rows)


def _listing(
    kind: PredictorKind, installed: InstalledKind, rows: Mapping[str, Predictor]
) -> PredictorListing:
    try:
        predictor = kind.predictor(installed.options) if installed.make is None else installed.make()
    except PredictorError as error:
        return PredictorListing(kind, "", installed.version, installed.options, str(error))
    try:
        row = rows.get(identity_key(predictor.identity))
        return PredictorListing(
            kind, row.name if row else predictor.name, installed.version, installed.options, row=row
        )
    finally:
        predictor.close()


def _row_listing(row: Predictor) -> PredictorListing:
    kind, version = kind_of(row.kind), str(row.identity.get("version", ""))
    if release := _RELEASE.search(version):
        version = release[0]
    try:
        open_predictor(row, isa=kind.isas_of(row.options)[0]).close()
    except PredictorError as error:
        return PredictorListing(kind, row.name, version, row.options, str(error), row, is_stored_only=True)
    return PredictorListing(kind, row.name, version, row.options, row=row, is_stored_only=True)


def _options(text: str) -> dict[str, str]:
    """`name=value,…` as a dictionary; a comma in a value is written as `\\,`."""
    options = {}
    for part in re.split(r"(?<!\\),", text) if text else []:
        name, equals, value = part.partition("=")
        if not equals:
            raise PredictorError(f"options are written name=value, with commas between, not {part!r}")
        options[name.strip()] = value.replace("\\,", ",")
    return options


def selector_of(kind: str, options: Mapping[str, Any]) -> str:
    """The text `KIND:OPTION=VALUE,…` for `predictor_row`; commas in values are escaped."""
    assignments = ",".join(f"{name}={value}".replace(",", "\\,") for name, value in options.items())
    return f"{kind}:{assignments}"


def _comparable_name(name: str) -> str:
    return re.sub(r"[^\w.=+-]", "", name.casefold())


MAX_PREDICTORS = 100

_MAX_SUGGESTIONS = 3
"""Similar names in the error for an unknown one."""


def check_processor(name: str) -> str:
    """The name. Raises `UnknownNameError` for one that no tool could know."""
    if name and name not in PROCESSORS:
        similar = difflib.get_close_matches(name, PROCESSORS, _MAX_SUGGESTIONS, cutoff=0.0)
        raise UnknownNameError("processor", name, similar)
    return name


def on_processor(row: Predictor, processor: str) -> Predictor:
    """The tool for a processor; itself without one, or if configured by hand. Raises `PredictorError`."""
    option = processor_option(row.kind)
    if not processor or not option or row.origin == Predictor.Origin.CONFIGURED:
        return row
    other_options = {name: value for name, value in row.options.items() if name != option}
    reason = ""
    for options in options_for(row.kind, other_options, processor):
        try:
            return row_for(row.kind, options, may_choose=True)  # only the processor is new
        except PredictorError as error:
            reason = f": {error}"
    raise PredictorError(f"{row.name} has no model of {processor}{reason}")


def names_processor(text: str) -> bool:
    """Whether a text names a predictor with its processor, like `llvm-mca:cpu=haswell`."""
    kind, _, options = text.partition(":")
    option = processor_option(kind)
    return bool(option) and f"{option}=" in options


def row_on_processor(text: str, processor: str, *, may_choose: bool = False, isa: str = "") -> Predictor:
    """`predictor_row` for a processor, unless the text names one itself. Raises `PredictorError`.

    `isa`: see `available_on`.
    """
    row = predictor_row(text, may_choose=may_choose)
    return row if names_processor(text) else _on_processor_or_usual(row, processor, isa)


def _on_processor_or_usual(row: Predictor, processor: str, isa: str) -> Predictor:
    predictor = on_processor(row, processor)
    lacks_isa = isa and not processor and isa not in isas_of_row(predictor)
    return on_processor(row, usual_processor(isa)) if lacks_isa else predictor


def available_on(
    rows: Iterable[Predictor], processor: str, isa: str = ""
) -> tuple[list[Predictor], list[str]]:
    """The predictors for a processor, each once, and why each of the others is unavailable for it.

    `isa`: they answer for blocks of this instruction set; without a processor, tools that are set up for one
    of another set predict for `usual_processor`. "" for any set.
    """
    available: dict[Predictor, None] = {}
    exclusions = []
    for row in rows:
        try:
            choice = _on_processor_or_usual(row, processor, isa)
            if isa and isa not in (isas := isas_of_row(choice)):
                raise PredictorError(f"{choice.name} answers for blocks of {', '.join(isas)}, not of {isa}")
            available[choice] = None
        except PredictorError as error:
            exclusions.append(str(error))
    return list(available), exclusions


def different_processors_text(processors: Mapping[str, Sequence[str]]) -> str:
    """The result of `different_processors` in a sentence; "" for {}."""
    if not processors:
        return ""
    groups = "; ".join(f"{name}: {', '.join(rows)}" for name, rows in processors.items())
    return f"these predictions are for different processors: {groups}"
