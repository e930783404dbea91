"""The predictors that forms offer, collected without opening mappings or waiting for machines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from inference.features.asking.predictors.kinds import (
    MAX_LISTED,
    isas_of_row,
    machines_for_blocks,
    reason_against,
)
from inference.features.asking.predictors.query import (
    PredictorListing,
    check_processor,
    on_processor,
    predictor_listings,
    predictor_row,
    selector_of,
)
from inference.features.learning.core_model.query import usable_core_models
from inference.formats.problems import ExchangeError
from inference.isa.targets import DEFAULT, names_with_blocks
from inference.models import Machine, PortMapping, ResourceMapping, StoredCoreModel
from inference.models import Predictor as PredictorRow
from inference.predictors import core_model, machine, mapping
from inference.predictors.kinds import KINDS
from inference.predictors.processor_names import PROCESSORS
from inference.predictors.protocol import PredictorError
from inference.storage.instruction_sets import code_isa
from inference.web.api.errors import ProblemError

USUAL_MAPPINGS = 8
"""Mappings that are preselected: the newest."""


@dataclass(frozen=True)
class Offer:
    """An offered predictor: `text` is the argument of `predictors.query.predictor_row`, `label` its name on
    pages.

    Attributes:
        usual: Whether it is preselected.
        fixed: Whether it is stored with options of its own, such as a processor.
        isas: The instruction sets whose blocks it answers for, with one processor or another unless it is
            fixed.
    """

    text: str
    label: str
    note: str = ""
    usual: bool = True
    fixed: bool = True
    isas: Sequence[str] = (DEFAULT,)


@dataclass(frozen=True)
class Offers:
    """The offered predictors by kind; `machines` measure."""

    tools: list[Offer]
    core_models: list[Offer]
    mappings: list[Offer]
    machines: list[Offer]

    @property
    def all(self) -> list[Offer]:
        """All offers; machines first, since the others predict what these measure."""
        return [*self.machines, *self.core_models, *self.tools, *self.mappings]

    def answering_for(self, isa: str) -> Offers:
        """The offers that answer for blocks of an instruction set."""

        def among(candidates: list[Offer]) -> list[Offer]:
            return [offer for offer in candidates if isa in offer.isas]

        return Offers(*map(among, (self.tools, self.core_models, self.mappings, self.machines)))


def offers() -> Offers:
    """The predictors available now (a bounded number of queries)."""
    listings = predictor_listings(KINDS)
    stored = PredictorRow.objects.filter(kind__in=(mapping.KIND, machine.KIND)).order_by("name")
    configured = [row for row in stored if row.is_runnable and set(row.options) != {row.kind}]
    return Offers(
        tools=[_tool(listing) for listing in listings if listing.usable],
        core_models=[_core_model(row) for row in usable_core_models().select_related("isa")[:MAX_LISTED]],
        mappings=[*_mappings(), *_stored_offers(configured, mapping.KIND)],
        machines=[*map(_machine, machines_for_blocks()), *_stored_offers(configured, machine.KIND)],
    )


def offered_rows(texts: Sequence[str]) -> list[PredictorRow]:
    """The stored predictors of offers, given by their texts or labels; created where there are none.

    Raises `PredictorError` for any other text: it could name any program of this computer.
    """
    by_text: dict[str, Offer] = {}
    for offer in offers().all:
        by_text |= {offer.label: offer, offer.text: offer}
    unknown = [text for text in texts if text not in by_text]
    if unknown:
        missing = f"there is no predictor {unknown[0]!r} that can be asked here"
        raise PredictorError(reason_against(unknown[0]) or missing)
    return list(dict.fromkeys(predictor_row(by_text[text].text) for text in texts))


def _tool(listing: PredictorListing) -> Offer:
    """The offer of a program; preselected if it is configured, not if an earlier question created it."""
    configured = listing.row is not None and listing.row.origin == PredictorRow.Origin.CONFIGURED
    usual, note = configured or not listing.is_stored_only, "" if listing.is_stored_only else listing.version
    isas = isas_of_row(listing.row) if listing.row and listing.is_stored_only else listing.kind.isas
    return Offer(listing.name, listing.name, note, usual=usual, fixed=listing.is_stored_only, isas=isas)


def _stored_offers(rows: Iterable[PredictorRow], kind: str) -> list[Offer]:
    """Offers of stored predictors with other options than the defaults, not preselected."""
    return [Offer(row.name, row.name, usual=False, isas=isas_of_row(row)) for row in rows if row.kind == kind]


def _mappings() -> list[Offer]:
    rows = [
        row
        for model in (PortMapping, ResourceMapping)
        for row in model._default_manager.filter(isa__name__in=names_with_blocks())
        .order_by("-id")
        .values_list("created", "name", "isa__name")[:MAX_LISTED]
    ]
    return [
        Offer(
            selector_of(mapping.KIND, {"mapping": name}),
            f"mapping {name}",
            usual=number < USUAL_MAPPINGS,
            isas=(isa,),
        )
        for number, (_, name, isa) in enumerate(sorted(rows, reverse=True)[:MAX_LISTED])
    ]


def _core_model(row: StoredCoreModel) -> Offer:
    text = selector_of(core_model.KIND, {"model": row.name})
    note = row.machine.cpu if row.machine else ""
    return Offer(text, f"core model {row.name}", note, isas=(code_isa(row.isa),))


def _machine(row: Machine) -> Offer:
    """The offer of a machine; not preselected while it is offline, since the question would wait for it."""
    here = row.kind == Machine.Kind.SIMULATED or row.is_online()
    note = row.cpu if here else "offline"
    text, isas = selector_of(machine.KIND, {"machine": row.name}), (code_isa(row.isa),)
    return Offer(text, f"machine {row.name}", note, usual=here, isas=isas)


def predictors_named(texts: list[str], processor: str = "") -> list[PredictorRow]:
    """The stored predictors of these names, for a processor. Raises `ProblemError` (422)."""
    try:
        check_processor(processor)
    except ExchangeError as error:
        right = f"one of {', '.join(PROCESSORS)}"
        raise ProblemError(422, str(error), where="body processor", right=right) from error
    try:
        return [on_processor(row, processor) for row in offered_rows(texts)]
    except PredictorError as error:
        right = "names as GET /predictors has them"
        raise ProblemError(422, str(error), where="body predictors", right=right) from error
