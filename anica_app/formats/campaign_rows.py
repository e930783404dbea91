"""A campaign that is read but not stored: rows without ids, their bulky parts in a temporary file.

Reading takes long and touches no database; storing is nothing but inserting, all of it in one transaction,
so that nobody else has to wait for it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Generic, TypeVar

from django.db import transaction

from anica_app.models import (
    Campaign,
    CampaignFile,
    CampaignPredictor,
    Discovery,
    Family,
    Generalisation,
    GeneralisationStep,
    SampleBatch,
)
from inference.models import IMPORTED, ISA, Predictor, identity_key
from inference.storage.names import free_name, free_or_refuse

if TYPE_CHECKING:
    from inference.models import Run

_BULKY = {CampaignFile: "content", GeneralisationStep: "samples", SampleBatch: "samples"}
_HELD = 200  # rows with their bulky parts that are in memory at a time

Row = TypeVar("Row", CampaignFile, GeneralisationStep, SampleBatch)


@dataclass(frozen=True, slots=True)
class Bulk(Generic[Row]):
    """A row, and where in the temporary file its bytes are."""

    row: Row
    start: int
    size: int


class Spool:
    """A temporary file without a name: it is gone with the process, however that ends."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="pmweb-import-")  # noqa: SIM115 it lives as long as this
        self._end = 0

    def keep(self, row: Row, content: bytes) -> Bulk[Row]:
        """Put the bytes away until the row is stored."""
        self._file.seek(self._end)
        self._file.write(content)
        self._end += len(content)
        return Bulk(row, self._end - len(content), len(content))

    def content(self, bulk: Bulk[Row]) -> bytes:
        """The bytes again."""
        self._file.seek(bulk.start)
        return self._file.read(bulk.size)


@dataclass
class CampaignRows:
    """Everything of one campaign. Rows refer to discoveries and generalisations by their numbers.

    `campaign` has its own name and note, `isa` is the name of its instruction set, "" for none. `steps` are
    by the number of their generalisation.
    """

    campaign: Campaign
    isa: str = ""
    predictors: list[Predictor] = field(default_factory=list)
    discoveries: list[Discovery] = field(default_factory=list)
    subsumed_by: dict[int, int] = field(default_factory=dict)
    families: list[Family] = field(default_factory=list)
    members: dict[int, list[int]] = field(default_factory=dict)
    """{family: its discoveries}."""
    generalisations: list[Generalisation] = field(default_factory=list)
    became_of: dict[int, int] = field(default_factory=dict)
    """{generalisation: its discovery}."""
    steps: dict[int, list[Bulk[GeneralisationStep]]] = field(default_factory=dict)
    batches: list[Bulk[SampleBatch]] = field(default_factory=list)
    batch_of: dict[int, int] = field(default_factory=dict)
    """{batch: the discovery it is about}."""
    files: list[Bulk[CampaignFile]] = field(default_factory=list)
    spool: Spool = field(default_factory=Spool)

    @transaction.atomic
    def store(self, name: str = "", *, note: str = "", run: Run | None = None) -> Campaign:
        """Insert it all under a name ("": its own). Raises `NameTakenError`. To be called once."""
        campaign = self.campaign
        campaign.name, campaign.note, campaign.run = name or campaign.name, note or campaign.note, run
        free_or_refuse(Campaign, campaign.name)
        campaign.isa = ISA.objects.filter(name=self.isa).first() if self.isa else None
        seats = [_known(predictor) for predictor in self.predictors]
        if campaign.format == Campaign.Format.OURS:
            campaign.config = {"predictors": [one.pk for one in seats], **campaign.config}
        created = campaign.created
        campaign.save()
        if created is not None:
            campaign.created = created  # the first saving has set it to now
            campaign.save(update_fields=["created"])
        CampaignPredictor.objects.bulk_create(
            CampaignPredictor(campaign=campaign, position=position, predictor=one)
            for position, one in enumerate(seats)
        )
        discoveries = self._store_discoveries(campaign)
        self._store_families(campaign, discoveries)
        self._store_generalisations(campaign, discoveries)
        self._store_batches(campaign, discoveries)
        for kept in self.files:
            kept.row.campaign = campaign
        self._insert(CampaignFile, self.files)
        return campaign

    def _store_discoveries(self, campaign: Campaign) -> dict[int, Discovery]:
        for row in self.discoveries:
            row.campaign = campaign
        made = Discovery.objects.bulk_create(self.discoveries, batch_size=_HELD)
        by_number = {row.number: row for row in made}
        for number, above in self.subsumed_by.items():
            by_number[number].subsumed_by = by_number[above]
        Discovery.objects.bulk_update(
            [by_number[number] for number in self.subsumed_by], ["subsumed_by"], batch_size=_HELD
        )
        return by_number

    def _store_families(self, campaign: Campaign, discoveries: Mapping[int, Discovery]) -> None:
        for row in self.families:
            row.campaign = campaign
        made = Family.objects.bulk_create(self.families, batch_size=_HELD)
        through = Family.discoveries.through
        through.objects.bulk_create(
            through(family_id=row.pk, discovery_id=discoveries[number].pk)
            for row in made
            for number in self.members[row.number]
        )

    def _store_generalisations(self, campaign: Campaign, discoveries: Mapping[int, Discovery]) -> None:
        for row in self.generalisations:
            row.campaign = campaign
            row.discovery = discoveries.get(self.became_of.get(row.number, -1))
        for row in Generalisation.objects.bulk_create(self.generalisations, batch_size=_HELD):
            steps = self.steps.get(row.number, ())
            for step in steps:
                step.row.generalisation = row
            self._insert(GeneralisationStep, steps)

    def _store_batches(self, campaign: Campaign, discoveries: Mapping[int, Discovery]) -> None:
        for batch in self.batches:
            batch.row.campaign = campaign
            batch.row.discovery = discoveries.get(self.batch_of.get(batch.row.number, -1))
        self._insert(SampleBatch, self.batches)

    def _insert(self, model: type[Row], bulks: Sequence[Bulk[Row]]) -> None:
        """Insert rows with their bytes, which they lose again before the next ones get theirs."""
        waiting = iter(bulks)
        while few := list(islice(waiting, _HELD)):
            for bulk in few:
                setattr(bulk.row, _BULKY[model], self.spool.content(bulk))
            model._default_manager.bulk_create([bulk.row for bulk in few])
            for bulk in few:
                setattr(bulk.row, _BULKY[model], b"")


def _known(predictor: Predictor) -> Predictor:
    """The predictor that has this identity here; else a new one, of which nothing else is known.

    What the file says of how to ask it is not stored: it could name any program of this computer.
    """
    predictor.key = identity_key(predictor.identity)
    known = Predictor.objects.filter(key=predictor.key).first()
    if known is not None:
        return known
    predictor.name, predictor.origin = free_name(Predictor, predictor.name), Predictor.Origin.IMPORTED
    predictor.kind, predictor.options = IMPORTED, {}
    predictor.save()
    return predictor
