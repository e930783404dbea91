"""Campaigns between the database and their files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    FileValue,
    GeneralisationValue,
    PredictorValue,
    SpooledCampaign,
    StepValue,
)
from anica_app.formats.campaign_zip import CampaignContent, CampaignDocument, OnProgress, write_archive
from anica_app.formats.value_documents import Spooled
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
from inference.storage.names import by_name, check_name_free, free_name

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_ROWS_PER_BATCH = 200
"""Rows with bulky parts in memory at a time."""

_ROWS = 500  # read from the database at once

_REFERENCES = {"steps", "discoveries", "subsumed_by"}

Value = TypeVar("Value", bound="DataclassInstance")
Discoveries = Mapping[int | None, Discovery]
"""Rows by their numbers."""

_NONE: Discoveries = {}


@transaction.atomic
def store_campaign(
    content: SpooledCampaign, name: str = "", *, note: str = "", run: Run | None = None
) -> Campaign:
    """Store a campaign with all its parts.

    Args:
        content: A campaign read from an archive.
        name: To store it under; "" for its own name.
        note: "" for its own note.
        run: Run that imported it, None for an upload.

    Raises:
        NameTakenError: The name is in use.
    """
    value = content.campaign
    campaign = Campaign(**vars(value), run=run)
    campaign.name, campaign.note = name or value.name, note or value.note
    check_name_free(Campaign, campaign.name)
    campaign.isa = ISA.objects.filter(name=content.isa).first() if content.isa else None
    seats = [_predictor_row(predictor) for predictor in content.predictors]
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
    discoveries = _store_discoveries(campaign, content.discoveries)
    _store_families(campaign, content.families, discoveries)
    generalisations = Generalisation.objects.bulk_create(
        Generalisation(**_columns(tree, discoveries), campaign=campaign) for tree in content.generalisations
    )
    for row, tree in zip(generalisations, content.generalisations, strict=True):
        _insert(GeneralisationStep, tree.steps, generalisation=row)
    _insert(SampleBatch, content.batches, discoveries, campaign=campaign)
    _insert(CampaignFile, content.files, campaign=campaign)
    return campaign


def _predictor_row(value: PredictorValue) -> Predictor:
    """The predictor with this identity, else a new row.

    How to run it is not taken from the file, which could name any program on this computer.
    """
    key = identity_key(value.identity)
    row = Predictor.objects.filter(key=key).first()
    if row is not None:
        return row
    return Predictor.objects.create(
        name=free_name(Predictor, value.name),
        note=value.note,
        kind=IMPORTED,
        identity=value.identity,
        key=key,
        origin=Predictor.Origin.IMPORTED,
    )


def _store_discoveries(campaign: Campaign, values: Sequence[DiscoveryValue]) -> Discoveries:
    """Store the discoveries first, then the references among them."""
    rows = Discovery.objects.bulk_create(
        [Discovery(**_columns(value), campaign=campaign) for value in values],
        batch_size=_ROWS_PER_BATCH,
    )
    by_number: dict[int | None, Discovery] = {row.number: row for row in rows}
    subsumed = [value for value in values if value.subsumed_by is not None]
    for value in subsumed:
        by_number[value.number].subsumed_by = by_number[value.subsumed_by]
    Discovery.objects.bulk_update(
        [by_number[value.number] for value in subsumed], ["subsumed_by"], batch_size=_ROWS_PER_BATCH
    )
    return by_number


def _store_families(campaign: Campaign, values: Sequence[FamilyValue], discoveries: Discoveries) -> None:
    rows = Family.objects.bulk_create(
        [Family(**_columns(value), campaign=campaign) for value in values], batch_size=_ROWS_PER_BATCH
    )
    through = Family.discoveries.through
    through.objects.bulk_create(
        through(family_id=row.pk, discovery_id=discoveries[number].pk)
        for row, value in zip(rows, values, strict=True)
        for number in value.discoveries
    )


def _insert(
    table: type[models.Model], values: Sequence[Any], discoveries: Discoveries = _NONE, **beside: Any
) -> None:
    """Insert values with bulky parts in batches; `beside`: further columns."""
    remaining = iter(values)
    while batch := list(islice(remaining, _ROWS_PER_BATCH)):
        table._default_manager.bulk_create(table(**_columns(value, discoveries), **beside) for value in batch)


def _columns(value: Any, discoveries: Discoveries = _NONE) -> dict[str, Any]:
    """The columns of a value without references to other rows, except for a discovery."""
    columns = {name: cell for name, cell in vars(value).items() if name not in _REFERENCES}
    if columns.get("created", "") is None:  # no file tells it: it is now
        del columns["created"]
    if "samples" in columns:
        columns["samples"] = columns["samples"] or b""
    if "discovery" in columns:
        columns["discovery"] = discoveries.get(columns["discovery"])
    return {name: bytes(cell) if isinstance(cell, Spooled) else cell for name, cell in columns.items()}


def write_campaign_archive(name: str, file: BinaryIO) -> None:
    """Write the campaign of this name as a zip archive. Raises `UnknownNameError`."""
    write_campaign(by_name(Campaign, name), file)


def write_campaign(campaign: Campaign, file: BinaryIO, report: OnProgress | None = None) -> None:
    """Write a campaign as an archive; rows are read one generalisation at a time."""
    numbers: Mapping[int | None, int] = dict(campaign.discoveries.values_list("pk", "number"))
    value = _value(campaign, CampaignValue)
    if value.format == OURS:
        # They are row ids there, which say nothing elsewhere; the list of predictors has the same order.
        value.config = {key: part for key, part in value.config.items() if key != "predictors"}
    predictors = [_value(tool, PredictorValue) for tool in campaign.tools]
    isa = campaign.isa.name if campaign.isa else ""
    content = CampaignContent(
        CampaignDocument(campaign=value, isa=isa, predictors=predictors),
        code_isa(campaign.isa),
        discoveries=(
            _value(row, DiscoveryValue, subsumed_by=numbers.get(row.subsumed_by_id))
            for row in campaign.discoveries.order_by("number")
        ),
        families=(
            _value(row, FamilyValue, discoveries=sorted(member.number for member in row.discoveries.all()))
            for row in campaign.families.order_by("number").prefetch_related("discoveries")
        ),
        generalisations=(
            _value(
                row,
                GeneralisationValue,
                discovery=numbers.get(row.discovery_id),
                steps=[_with_samples(step, StepValue) for step in row.steps.order_by("number")],
            )
            for row in campaign.generalisations.order_by("number").iterator(_ROWS)
        ),
        batches=(
            _with_samples(row, BatchValue, discovery=numbers.get(row.discovery_id))
            for row in campaign.batches.order_by("number").iterator(_ROWS)
        ),
        files=(_value(row, FileValue) for row in campaign.files.order_by("path").iterator(_ROWS)),
        parts=campaign.generalisations.count() + campaign.batches.count() + campaign.files.count(),
    )
    write_archive(content, file, report)


def _with_samples(row: GeneralisationStep | SampleBatch, shape: type[Value], **beside: Any) -> Value:
    """A row with its samples, unless only their number is stored."""
    samples = bytes(row.samples)
    return _value(row, shape, samples=None if row.n and not samples else samples, **beside)


def _value(row: models.Model, shape: type[Value], **beside: Any) -> Value:
    """A row as a value, with the fields in `beside` replaced."""
    columns = {field.name: getattr(row, field.name) for field in fields(shape) if field.name not in beside}
    return shape(
        **{name: bytes(cell) if isinstance(cell, memoryview) else cell for name, cell in columns.items()},
        **beside,
    )
