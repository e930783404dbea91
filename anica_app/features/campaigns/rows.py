"""Stores the rows of a running campaign."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from typing import Any

from anica_app.core.search.campaign_state import (
    CampaignDiscovery,
    CampaignGeneralisation,
    CampaignUpdate,
    FreshRound,
)
from anica_app.core.search.interestingness import JudgedBlock
from anica_app.features.families.grouping import FamilyTracker
from anica_app.models import (
    Campaign,
    CampaignPredictor,
    Discovery,
    Generalisation,
    GeneralisationStep,
    SampleBatch,
)
from inference.core.protocols import Checkpoint
from inference.models import Run
from inference.predictors.samples import Sample, pack
from inference.runs.reporter import JournalReporter
from inference.runs.request import needed_row
from inference.storage.instruction_sets import loaded_isa_row
from inference.storage.names import free_name

_COUNTED_FACTS = {"judged", "barren", "generalisations", "failed_samples"}
"""Counters that are stored in the campaign's facts, not in columns."""


class CampaignRowStore:
    """A `CampaignStore` of rows. `domain` writes documents; `last` is the last checkpoint."""

    def __init__(
        self,
        campaign: Campaign,
        domain: Any,
        reporter: JournalReporter,
        last: Checkpoint | None = None,
        tracker: FamilyTracker | None = None,
    ) -> None:
        self._tracker = tracker
        self._campaign = campaign
        self._domain = domain
        self._reporter = reporter
        self.last = last

    def save_update(self, update: CampaignUpdate, checkpoint: Checkpoint) -> None:
        """Store both or neither. Raises `LeaseLostError`."""
        self._reporter.settle(checkpoint, lambda: self.store(update))
        self.last = checkpoint
        if self._tracker is not None and self._tracker.take(update):
            self._reporter.emit(self._tracker.event())

    def store(self, update: CampaignUpdate) -> None:
        """Store the rows, within the caller's transaction."""
        if update.fresh is not None:
            self._store_round(update.fresh)
        rows = Discovery.objects.bulk_create(self._discovery(discovery) for discovery in update.discoveries)
        self._store_generalisations(update.generalised)
        if update.subsumed or rows:
            self._link(update.subsumed or {})
        counters = asdict(update.counters)
        self._campaign.facts |= {name: counters[name] for name in _COUNTED_FACTS}
        self._campaign.facts["failures"] = dict(update.failures)
        columns = {name: counters[name] for name in counters.keys() - _COUNTED_FACTS}
        Campaign.objects.filter(pk=self._campaign.pk).update(facts=self._campaign.facts, **columns)

    def _store_round(self, fresh: FreshRound) -> None:
        SampleBatch.objects.create(
            campaign=self._campaign,
            number=fresh.number,
            purpose=SampleBatch.Purpose.ROUND,
            n=len(fresh.blocks),
            interesting=sum(block.verdict.interesting for block in fresh.blocks),
            failed=fresh.failed,
            samples=packed(fresh.blocks),
        )

    def _discovery(self, discovery: CampaignDiscovery) -> Discovery:
        columns = {field.name: getattr(discovery, field.name) for field in fields(discovery)}
        columns["abstract"] = self._domain.document(discovery.abstract)
        return Discovery(campaign=self._campaign, **columns)

    def _link(self, subsumed: dict[int, int] | Any) -> None:
        numbers = {*subsumed, *subsumed.values()}
        ids = dict(self._campaign.discoveries.filter(number__in=numbers).values_list("number", "pk"))
        for special, general in subsumed.items():
            Discovery.objects.filter(pk=ids[special]).update(subsumed_by=ids[general])

    def _store_generalisations(self, generalised: Sequence[CampaignGeneralisation]) -> None:
        if not generalised:
            return
        numbers = {entry.discovery for entry in generalised if entry.discovery is not None}
        ids = dict(self._campaign.discoveries.filter(number__in=numbers).values_list("number", "pk"))
        rows = Generalisation.objects.bulk_create(
            self._generalisation(entry, ids.get(-1 if entry.discovery is None else entry.discovery))
            for entry in generalised
        )
        blobs: dict[int, bytes] = {}
        GeneralisationStep.objects.bulk_create(
            step for pair in zip(rows, generalised, strict=True) for step in self._steps(*pair, blobs)
        )

    def _generalisation(self, result: CampaignGeneralisation, discovery: int | None) -> Generalisation:
        trace = result.trace
        checks = [trace.start_check, *(step.check for step in trace.steps)]
        return Generalisation(
            campaign=self._campaign,
            discovery_id=discovery,
            number=result.number,
            order=trace.order,
            became=result.became.value,
            code=result.candidate.witness.code,
            start=self._domain.document(trace.start),
            result=self._domain.document(trace.result),
            steps_count=len(trace.steps),
            taken_count=sum(step.accepted for step in trace.steps),
            samples_count=sum(len(check.samples) for check in checks),
            facts={"place": result.candidate.place, "kind": result.candidate.kind},
        )

    def _steps(
        self, row: Generalisation, generalisation: CampaignGeneralisation, blobs: dict[int, bytes]
    ) -> Iterable[GeneralisationStep]:
        """The check of the start, then each expansion. `blobs`: packed samples by the identity of their
        check.
        """
        trace = generalisation.trace
        pairs = [(None, trace.start_check), *((step.expansion, step.check) for step in trace.steps)]
        for number, (expansion, check) in enumerate(pairs):
            if id(check) not in blobs:
                blobs[id(check)] = packed(check.samples)
            yield GeneralisationStep(
                generalisation=row,
                number=number,
                kind="start" if expansion is None else "expansion",
                expansion=None if expansion is None else self._domain.expansion_document(expansion),
                taken=check.interesting,
                reason=check.reason.value,
                samples=blobs[id(check)],
                n=len(check.samples),
                interesting=sum(generalisation.verdict.interesting for generalisation in check.samples),
                failed=check.failed,
                mean=check.mean_interest if check.samples else None,
            )


def make_campaign(run: Run, kind: Campaign.Kind, isa: str) -> Campaign:
    """Create the campaign of a run over blocks of an instruction set, with its predictors in order."""
    campaign = Campaign.objects.create(
        name=free_name(Campaign, run.name),
        isa=loaded_isa_row(isa),
        run=run,
        kind=kind,
        origin=Campaign.Origin.RUN,
        config=run.config,
    )
    CampaignPredictor.objects.bulk_create(
        CampaignPredictor(campaign=campaign, position=position, predictor_id=pk)
        for position, pk in enumerate(run.config["predictors"])
    )
    return campaign


def campaign_of(run: Run) -> Campaign:
    """The row of a campaign's run. Raises `JobError` where it has been deleted."""
    return needed_row(Campaign, Campaign.objects.filter(run=run).values_list("pk", flat=True).first())


def packed(judged: Iterable[JudgedBlock]) -> bytes:
    """Blocks with all answers, in the format of `inference.predictors.samples`."""
    return pack(Sample(block.code, block.answers) for block in judged)
