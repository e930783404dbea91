"""Predictor kinds with their options, the predictors available here, and configured ones."""

from __future__ import annotations

import dataclasses
from typing import Any

from django.db.models import ProtectedError
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Router, Schema, Status
from pydantic import Field

from inference.features.asking.predictors.kinds import kind_of, kinds
from inference.features.asking.predictors.query import PredictorListing, predictor_listings, row_for
from inference.models import Predictor
from inference.predictors import mapping
from inference.predictors.kinds import PredictorKind
from inference.predictors.protocol import PredictorError
from inference.storage.names import NAME_LIMIT, NOTE_LIMIT, check_name_free
from inference.web.api import access
from inference.web.api.access import AuditAction, admin_access, confirmed_in_person
from inference.web.api.errors import ProblemError
from inference.web.api.shapes import Input, Name, Note, RowOut, fields_of
from inference.web.validation import Id

router = Router()


class OptionOut(Schema):
    """An option of a predictor kind."""

    name: str = Field(examples=["cpu"])
    type: str = Field(examples=["str"])
    default: Any = Field(examples=[""])
    choices: list[str] = Field(description="The allowed values, if others are refused.", examples=[[]])
    chooses: str = Field(
        description="Part of the executed program that the option chooses: program, arguments, file "
        "or command; empty for none. Tokens may not set such options.",
        examples=[""],
    )
    help: str = Field(examples=["processor, as -mcpu takes it"])


class PredictorKindOut(RowOut):
    """A kind of predictor. `missing`: why none is available here without configuration; empty if one is."""

    kind: str = Field(validation_alias="name", examples=["llvm-mca"])
    title: str = Field(examples=["llvm-mca"])
    summary: str = Field(examples=["LLVM's machine code analyser: simulates a back end …"])
    install: str = Field(description="How to install it.", examples=["apt-get install llvm"])
    missing: str = Field(examples=[""])
    options: list[OptionOut]


class ConfigurationOut(Schema):
    """A predictor with its options, installed here or configured.

    `id` is what descriptions of runs take; null for one that is not stored yet, which `name` identifies.
    """

    id: Id | None = Field(examples=[2])
    name: Name = Field(examples=["llvm-mca 22 · haswell"])
    kind: str = Field(examples=["llvm-mca"])
    version: str = Field(examples=["22.1.0"])
    options: dict[str, Any] = Field(examples=[{"release": "22", "cpu": "haswell"}])
    origin: str | None = Field(description="Origin: found or configured.", examples=["configured"])
    note: Note
    reason: str = Field(description="Why it cannot be used now; empty where it can.", examples=[""])


class NewConfiguration(Input):
    """The kind and options of a predictor to add."""

    kind: str = Field(max_length=40, examples=["llvm-mca"])
    options: dict[str, Any] = Field(
        default_factory=dict,
        description="Values of options from `GET /predictors/kinds`.",
        examples=[{"cpu": "haswell"}],
    )
    name: str = Field("", max_length=NAME_LIMIT, description="Name of the predictor; empty: the default.")
    note: str = Field("", max_length=NOTE_LIMIT)


@router.get("/predictors/kinds", response=list[PredictorKindOut])
def list_predictor_kinds(request: HttpRequest) -> Any:
    """List the kinds of predictors with their options, without mappings, which need no configuration."""
    return [_kind_json(kind) for kind in kinds().values() if kind.name != mapping.KIND]


@router.get("/predictors/configurations", response=list[ConfigurationOut])
def list_configurations(request: HttpRequest) -> Any:
    """List the installed and configured predictors, and why each unavailable one cannot be used."""
    return [_listing_json(listing) for listing in predictor_listings() if listing.name]


@router.post(
    "/predictors/configurations", response={200: ConfigurationOut, 201: ConfigurationOut}, auth=admin_access
)
def add_predictor(request: HttpRequest, data: NewConfiguration) -> Any:
    """Add a predictor with these options, unless one has the same. `POST /questions` tries it.

    Options with `chooses` choose what runs on this computer. No token may set them, only a session that was
    begun or confirmed in the last 15 minutes.
    """
    name = data.name.strip()
    if name:
        check_name_free(Predictor, name)
    ours = Predictor.objects.exclude(origin=Predictor.Origin.IMPORTED)  # adding an imported one makes it ours
    before = set(ours.values_list("pk", flat=True))
    try:
        if kind_of(data.kind).launch_options(data.options):
            confirmed_in_person(request)
        row = row_for(data.kind, data.options, name, Predictor.Origin.CONFIGURED, may_choose=True)
    except PredictorError as error:
        right = "a kind and options as GET /predictors/kinds lists them"
        raise ProblemError(422, str(error), where="body options", right=right) from error
    fresh = row.pk not in before
    if fresh:
        row.note = data.note.strip()
        row.save(update_fields=["note"])
        access.log_action(request, AuditAction.CHANGED, row)
    return Status(201 if fresh else 200, _row_json(row))


@router.delete("/predictors/configurations/{predictor_id}", response={204: None}, auth=admin_access)
def remove_predictor(request: HttpRequest, predictor_id: Id) -> Any:
    """Delete a configured predictor with its cached answers, unless a campaign has used it."""
    row = get_object_or_404(Predictor, pk=predictor_id, origin=Predictor.Origin.CONFIGURED)
    try:
        row.delete()
    except ProtectedError:
        raise ProblemError(
            409,
            f"{row.name} has answered in a campaign",
            where="path predictor_id",
            right="delete the campaign first",
        ) from None
    return Status(204, None)


def _kind_json(kind: PredictorKind) -> dict[str, Any]:
    missing = ""
    try:
        kind.find()
    except PredictorError as error:
        missing = str(error)
    return fields_of(
        kind,
        PredictorKindOut,
        missing=missing,
        options=[
            {
                "name": entry.name,
                "type": str(entry.type),
                "default": None if entry.default is dataclasses.MISSING else entry.default,
                "choices": list(entry.metadata.get("choices", ()) or kind.choices_of(entry.name)),
                "chooses": entry.metadata.get("chooses", ""),
                "help": entry.metadata.get("help", ""),
            }
            for entry in kind.options
        ],
    )


def _listing_json(listing: PredictorListing) -> dict[str, Any]:
    stored: dict[str, Any] = {"id": None, "origin": None, "note": ""}
    if listing.row is not None:
        stored = {name: getattr(listing.row, name) for name in stored}
    return fields_of(listing, ConfigurationOut, **stored, kind=listing.kind.name)


def _row_json(row: Predictor) -> dict[str, Any]:
    return fields_of(row, ConfigurationOut, version=str(row.identity.get("version", "")), reason="")
