"""Campaigns between the database and their files."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from django.db import models, transaction

from anica_app.formats.campaign_values import (
    OURS,
    BatchValue,
    CampaignValue,
    DiscoveryValue,
    FamilyValue,
    GeneralisationValue,
    PredictorValue,
    StepValue,
)
from anica_app.formats.campaign_zip import CampaignContent, Told, write_archive
from anica_app.formats.spooled_campaigns import Bulk, BulkyValue, Spool, SpooledCampaign
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
from inference.models import ISA, Predictor, Run, identity_key
from inference.predictors.protocol import IMPORTED
from inference.storage.instruction_sets import code_isa
from inference.storage.names import by_name, free_name, free_or_refuse

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_HELD = 200
"""Rows with their bulky parts that are in memory at a time."""
_ROWS = 500

Value = TypeVar("Value", bound="DataclassInstance")


@transaction.atomic
def store_campaign(
    content: SpooledCampaign, name: str = "", *, note: str = "", run: Run | None = None
) -> Campaign:
    """Insert it all under a name ("": its own). Raises `NameTakenError`."""
    value = content.campaign
    campaign = Campaign(**vars(value), run=run)
    campaign.name, campaign.note = name or value.name, note or value.note
    free_or_refuse(Campaign, campaign.name)
    campaign.isa = ISA.objects.filter(name=content.isa).first() if content.isa else None
    seats = [_known(predictor) for predictor in content.predictors]
    if campaign.format == OURS:
        campaign.config = {"predictors": [predictor.pk for predictor in seats], **campaign.config}
    campaign.save()
    if value.created is not None:
        campaign.created = value.created  # the first saving has set it to now
        campaign.save(update_fields=["created"])
    CampaignPredictor.objects.bulk_create(
        CampaignPredictor(campaign=campaign, position=position, predictor=predictor)
        for position, predictor in enumerate(seats)
    )
    discoveries = _store_discoveries(campaign, content)
    _store_families(campaign, content, discoveries)
    _store_generalisations(campaign, content, discoveries)
    abouts = {number: discoveries[about] for number, about in content.batch_of.items()}
    for few in _few(content.batches, content.spool):
        SampleBatch.objects.bulk_create(
            SampleBatch(**vars(value), campaign=campaign, discovery=abouts.get(value.number), samples=packed)
            for value, packed in few
        )
    for files in _few(content.files, content.spool):
        CampaignFile.objects.bulk_create(
            CampaignFile(**vars(value), campaign=campaign, content=packed) for value, packed in files
        )
    return campaign


def _known(value: PredictorValue) -> Predictor:
    """The predictor that has this identity here; else a new one, of which nothing else is known.

    What the file says of how to ask it is not stored: it could name any program of this computer.
    """
    key = identity_key(value.identity)
    known = Predictor.objects.filter(key=key).first()
    if known is not None:
        return known
    return Predictor.objects.create(
        name=free_name(Predictor, value.name),
        note=value.note,
        kind=IMPORTED,
        identity=value.identity,
        key=key,
        origin=Predictor.Origin.IMPORTED,
    )


def _store_discoveries(campaign: Campaign, content: SpooledCampaign) -> dict[int, Discovery]:
    made = Discovery.objects.bulk_create(
        [Discovery(**_columns_of(value), campaign=campaign) for value in content.discoveries],
        batch_size=_HELD,
    )
    by_number = {row.number: row for row in made}
    for number, above in content.subsumed_by.items():
        by_number[number].subsumed_by = by_number[above]
    Discovery.objects.bulk_update(
        [by_number[number] for number in content.subsumed_by], ["subsumed_by"], batch_size=_HELD
    )
    return by_number


def _columns_of(value: DiscoveryValue) -> dict[str, Any]:
    """Without the time of one that the files do not tell: it is now."""
    return {name: part for name, part in vars(value).items() if (name, part) != ("created", None)}


def _store_families(
    campaign: Campaign, content: SpooledCampaign, discoveries: Mapping[int, Discovery]
) -> None:
    made = Family.objects.bulk_create(
        [Family(**vars(value), campaign=campaign) for value in content.families], batch_size=_HELD
    )
    through = Family.discoveries.through
    through.objects.bulk_create(
        through(family_id=row.pk, discovery_id=discoveries[number].pk)
        for row in made
        for number in content.members[row.number]
    )


def _store_generalisations(
    campaign: Campaign, content: SpooledCampaign, discoveries: Mapping[int, Discovery]
) -> None:
    rows = Generalisation.objects.bulk_create(
        Generalisation(
            **vars(value),
            campaign=campaign,
            discovery=discoveries.get(content.became_of.get(value.number, -1)),
        )
        for value in content.generalisations
    )
    for row in rows:
        for few in _few(content.steps.get(row.number, ()), content.spool):
            GeneralisationStep.objects.bulk_create(
                GeneralisationStep(**vars(value), generalisation=row, samples=packed) for value, packed in few
            )


def _few(bulks: Sequence[Bulk[BulkyValue]], spool: Spool) -> Iterator[Sequence[tuple[BulkyValue, bytes]]]:
    """Values with their bytes, as many at a time as may be in memory."""
    waiting = iter(bulks)
    while few := list(islice(waiting, _HELD)):
        yield [(bulk.value, spool.content(bulk)) for bulk in few]


def write_campaign_archive(name: str, file: BinaryIO) -> None:
    """The campaign of this name as a zip archive. Raises `UnknownNameError`."""
    write_campaign(by_name(Campaign, name), file)


def write_campaign(campaign: Campaign, file: BinaryIO, told: Told | None = None) -> None:
    """Write a campaign as an archive; rows are read one generalisation at a time."""
    numbers = dict(campaign.discoveries.values_list("pk", "number"))
    value = _value(campaign, CampaignValue)
    if value.format == OURS:
        # They are row ids there, which say nothing elsewhere; the list of predictors has the same order.
        value.config = {key: part for key, part in value.config.items() if key != "predictors"}
    content = CampaignContent(
        value,
        campaign.isa.name if campaign.isa else "",
        code_isa(campaign.isa),
        [_value(seat.predictor, PredictorValue) for seat in campaign.seats.select_related("predictor")],
        discoveries=(
            (_value(row, DiscoveryValue), numbers.get(row.subsumed_by_id or 0))
            for row in campaign.discoveries.order_by("number")
        ),
        families=(
            (_value(row, FamilyValue), sorted(member.number for member in row.discoveries.all()))
            for row in campaign.families.order_by("number").prefetch_related("discoveries")
        ),
        generalisations=(
            (_value(row, GeneralisationValue), numbers.get(row.discovery_id or 0), _steps(row))
            for row in campaign.generalisations.order_by("number").iterator(_ROWS)
        ),
        batches=(
            (_value(row, BatchValue), numbers.get(row.discovery_id or 0), bytes(row.samples))
            for row in campaign.batches.order_by("number").iterator(_ROWS)
        ),
        files=(
            (row.path, zlib.decompress(row.content))
            for row in campaign.files.order_by("path").iterator(_ROWS)
        ),
        parts=campaign.generalisations.count() + campaign.batches.count() + campaign.files.count(),
    )
    write_archive(content, file, told)


def _steps(row: Generalisation) -> Iterator[tuple[StepValue, bytes]]:
    for step in row.steps.order_by("number"):
        yield _value(step, StepValue), bytes(step.samples)


def _value(row: models.Model, shape: type[Value]) -> Value:
    """The fields of a row that its value has."""
    columns = {field.name: getattr(row, field.name) for field in fields(shape)}
    return shape(
        **{name: bytes(cell) if isinstance(cell, memoryview) else cell for name, cell in columns.items()}
    )
