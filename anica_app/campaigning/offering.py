"""Who can be asked about a block, found out without opening mappings or waiting for machines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from anica_app.campaigning.predictors import Listed, chosen, listed, written
from anica_app.campaigning.stored_kinds import LISTED, MEASURING, reason_against
from anica_app.core.errors import PredictorError
from anica_app.models import Predictor
from anica_app.predictors import machine, mapping
from anica_app.predictors.kinds import KINDS
from inference.models import Machine, PortMapping, ResourceMapping
from inference.runs.machines.facts import obstacle_to_measuring
from inference.storage.instruction_sets import X86

USUAL_MAPPINGS = 8
"""So many of the newest mappings are asked unless somebody says otherwise."""


@dataclass(frozen=True)
class Offer:
    """A predictor: `text` is what `campaigning.predictors.chosen` takes, `label` what people call it.

    `usual`: it is asked unless somebody says otherwise.
    """

    text: str
    label: str
    note: str = ""
    usual: bool = True


@dataclass(frozen=True)
class Offers:
    """Who can be asked, by what they are; `machines` measure."""

    tools: list[Offer]
    mappings: list[Offer]
    machines: list[Offer]

    @property
    def all(self) -> list[Offer]:
        """Machines first: what they say is what the others try to say."""
        return [*self.machines, *self.tools, *self.mappings]


def offers() -> Offers:
    """What can be asked now (five or six queries, whatever there is)."""
    found = listed(KINDS)
    own = Predictor.objects.filter(kind__in=(mapping.KIND, machine.KIND)).order_by("name")
    special = [row for row in own if row.askable and set(row.options) != {row.kind}]
    return Offers(
        tools=[_tool(one) for one in found if one.usable],
        mappings=[*_mappings(), *_stored(special, mapping.KIND)],
        machines=[*_machines(), *_stored(special, machine.KIND)],
    )


def named(texts: Sequence[str]) -> list[Predictor]:
    """The stored configurations of some offers, by their texts or labels, made where there are none.

    Raises `PredictorError` for any other text: it could name any program of this computer.
    """
    known: dict[str, Offer] = {}
    for one in offers().all:
        known |= {one.label: one, one.text: one}
    strangers = [text for text in texts if text not in known]
    if strangers:
        missing = f"there is no predictor {strangers[0]!r} that can be asked here"
        raise PredictorError(reason_against(strangers[0]) or missing)
    return list(dict.fromkeys(chosen(known[text].text) for text in texts))


def _tool(one: Listed) -> Offer:
    """One that somebody has configured is asked; one that a question has made is offered."""
    configured = one.row is not None and one.row.origin == Predictor.Origin.CONFIGURED
    return Offer(one.name, one.name, "" if one.apart else one.version, usual=configured or not one.apart)


def _stored(rows: Iterable[Predictor], kind: str) -> list[Offer]:
    """Configured with options that are not as usual; they are asked where somebody wants them."""
    return [Offer(row.name, row.name, usual=False) for row in rows if row.kind == kind]


def _mappings() -> list[Offer]:
    rows = [
        row
        for model in (PortMapping, ResourceMapping)
        for row in model._default_manager.filter(isa__name=X86)
        .order_by("-id")
        .values_list("created", "name")[:LISTED]
    ]
    return [
        Offer(written(mapping.KIND, {"mapping": name}), f"mapping {name}", usual=number < USUAL_MAPPINGS)
        for number, (_, name) in enumerate(sorted(rows, reverse=True)[:LISTED])
    ]


def _machines() -> list[Offer]:
    rows = Machine.objects.filter(isa__name=X86, kind__in=MEASURING).select_related("isa").order_by("name")
    return [_machine(row) for row in rows[:LISTED] if not obstacle_to_measuring(row)]


def _machine(row: Machine) -> Offer:
    """One that is away is asked where somebody wants it: the question waits until it is back."""
    here = row.kind == Machine.Kind.SIMULATED or row.is_online()
    note = row.cpu if here else "away"
    return Offer(written(machine.KIND, {"machine": row.name}), f"machine {row.name}", note, usual=here)
