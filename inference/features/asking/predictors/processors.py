"""For which processors predictors answer, and which one tools are asked for by default."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms

from inference.core.protocols import Json
from inference.isa.targets import names_with_blocks
from inference.models import Machine, PortMapping, Predictor, ResourceMapping, StoredCoreModel
from inference.predictors import core_model, machine, mapping
from inference.predictors.kinds import KINDS
from inference.predictors.processor_names import (
    PROCESSORS,
    names_of_processor,
    processor_option,
    processors_named,
)
from inference.storage.instruction_sets import core_of


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


def _machines_of(rows: Iterable[Predictor]) -> dict[tuple[str, str], Machine]:
    """{(kind, name that its options have): the machine behind} of predictors that have one."""
    wanted = {
        kind: [str(row.options.get(option, "")) for row in rows if row.kind == kind]
        for kind, option in _NAMED_IN.items()
    }
    found: dict[tuple[str, str], Machine] = {}
    if names := wanted[machine.KIND]:
        for one in Machine.objects.filter(name__in=names).select_related("isa"):
            found[machine.KIND, one.name] = one
    made_of = (
        (core_model.KIND, StoredCoreModel),
        (mapping.KIND, ResourceMapping),
        (mapping.KIND, PortMapping),
    )
    for kind, model in made_of:
        if names := wanted[kind]:
            rows_of = model._default_manager.filter(name__in=names, machine__isnull=False)
            for made in rows_of.select_related("machine__isa"):
                if made.machine is not None:
                    found[kind, made.name] = made.machine
    return found
