"""Who can be asked about a block, found out without opening mappings or waiting for machines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from inference.features.asking.predictors.kinds import LISTED, MEASURING, reason_against
from inference.features.asking.predictors.query import (
    Listed,
    check_processor,
    chosen,
    listed,
    on_processor,
    written,
)
from inference.features.learning.core_model.query import usable_core_models
from inference.formats.errors import ExchangeError
from inference.isa.targets import names_with_blocks
from inference.models import Machine, PortMapping, ResourceMapping, StoredCoreModel
from inference.models import Predictor as PredictorRow
from inference.predictors import core_model, machine, mapping
from inference.predictors.kinds import KINDS
from inference.predictors.processor_names import PROCESSORS
from inference.predictors.protocol import PredictorError
from inference.runs.machines.facts import obstacle_to_measuring
from inference.web.api.errors import ProblemError

USUAL_MAPPINGS = 8
"""So many of the newest mappings are asked unless somebody says otherwise."""


@dataclass(frozen=True)
class OfferedPredictor:
    """A predictor: `text` is what `predictors.query.chosen` takes, `label` what people call it.

    `usual`: it is asked unless somebody says otherwise. `fixed`: it was stored with options of its own.
    """

    text: str
    label: str
    note: str = ""
    usual: bool = True
    fixed: bool = True


@dataclass(frozen=True)
class Offers:
    """Who can be asked, by what they are; `machines` measure."""

    tools: list[OfferedPredictor]
    core_models: list[OfferedPredictor]
    mappings: list[OfferedPredictor]
    machines: list[OfferedPredictor]

    @property
    def all(self) -> list[OfferedPredictor]:
        """Machines first: what they say is what the others try to say."""
        return [*self.machines, *self.core_models, *self.tools, *self.mappings]


def offers() -> Offers:
    """What can be asked now (a bounded number of queries, whatever there is)."""
    found = listed(KINDS)
    own = PredictorRow.objects.filter(kind__in=(mapping.KIND, machine.KIND)).order_by("name")
    special = [row for row in own if row.askable and set(row.options) != {row.kind}]
    return Offers(
        tools=[_tool(one) for one in found if one.usable],
        core_models=[_core_model(row) for row in usable_core_models()[:LISTED]],
        mappings=[*_mappings(), *_stored(special, mapping.KIND)],
        machines=[*_machines(), *_stored(special, machine.KIND)],
    )


def named(texts: Sequence[str]) -> list[PredictorRow]:
    """The stored configurations of some offers, by their texts or labels, made where there are none.

    Raises `PredictorError` for any other text: it could name any program of this computer.
    """
    known: dict[str, OfferedPredictor] = {}
    for one in offers().all:
        known |= {one.label: one, one.text: one}
    strangers = [text for text in texts if text not in known]
    if strangers:
        missing = f"there is no predictor {strangers[0]!r} that can be asked here"
        raise PredictorError(reason_against(strangers[0]) or missing)
    return list(dict.fromkeys(chosen(known[text].text) for text in texts))


def _tool(one: Listed) -> OfferedPredictor:
    """One that somebody has configured is asked; one that a question has made is offered."""
    configured = one.row is not None and one.row.origin == PredictorRow.Origin.CONFIGURED
    usual, note = configured or not one.apart, "" if one.apart else one.version
    return OfferedPredictor(one.name, one.name, note, usual=usual, fixed=one.apart)


def _stored(rows: Iterable[PredictorRow], kind: str) -> list[OfferedPredictor]:
    """Configured with options that are not as usual; they are asked where somebody wants them."""
    return [OfferedPredictor(row.name, row.name, usual=False) for row in rows if row.kind == kind]


def _mappings() -> list[OfferedPredictor]:
    rows = [
        row
        for model in (PortMapping, ResourceMapping)
        for row in model._default_manager.filter(isa__name__in=names_with_blocks())
        .order_by("-id")
        .values_list("created", "name")[:LISTED]
    ]
    return [
        OfferedPredictor(
            written(mapping.KIND, {"mapping": name}), f"mapping {name}", usual=number < USUAL_MAPPINGS
        )
        for number, (_, name) in enumerate(sorted(rows, reverse=True)[:LISTED])
    ]


def _core_model(row: StoredCoreModel) -> OfferedPredictor:
    text = written(core_model.KIND, {"model": row.name})
    return OfferedPredictor(text, f"core model {row.name}", row.machine.cpu if row.machine else "")


def _machines() -> list[OfferedPredictor]:
    rows = (
        Machine.objects.filter(isa__name__in=names_with_blocks(), kind__in=MEASURING)
        .select_related("isa")
        .order_by("name")
    )
    return [_machine(row) for row in rows[:LISTED] if not obstacle_to_measuring(row)]


def _machine(row: Machine) -> OfferedPredictor:
    """One that is away is asked where somebody wants it: the question waits until it is back."""
    here = row.kind == Machine.Kind.SIMULATED or row.is_online()
    note = row.cpu if here else "away"
    return OfferedPredictor(
        written(machine.KIND, {"machine": row.name}), f"machine {row.name}", note, usual=here
    )


def predictors_named(texts: list[str], processor: str = "") -> list[PredictorRow]:
    """Those of these names for a processor. Raises `ProblemError` (422)."""
    try:
        check_processor(processor)
    except ExchangeError as error:
        right = f"one of {', '.join(PROCESSORS)}"
        raise ProblemError(422, str(error), where="body processor", right=right) from error
    try:
        return [on_processor(row, processor) for row in named(texts)]
    except PredictorError as error:
        right = "names as GET /predictors has them"
        raise ProblemError(422, str(error), where="body predictors", right=right) from error
