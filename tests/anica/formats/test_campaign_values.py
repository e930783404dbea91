"""Values of a campaign's archive fit the tables that they come from and go to."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_type_hints

import pytest
from django.db import models
from pydantic import TypeAdapter

from anica_app.formats import campaign_values as values
from anica_app.models import (
    Campaign,
    Discovery,
    Family,
    Generalisation,
    GeneralisationStep,
    SampleBatch,
)
from inference.models import Predictor

TABLES: dict[type[Any], type[models.Model]] = {
    values.CampaignValue: Campaign,
    values.PredictorValue: Predictor,
    values.DiscoveryValue: Discovery,
    values.GeneralisationValue: Generalisation,
    values.StepValue: GeneralisationStep,
    values.BatchValue: SampleBatch,
    values.FamilyValue: Family,
}

BESIDE = {"id", "campaign", "run", "isa", "generalisation", "before", "key"}
"""Ids that an archive tells by its places."""
OTHER_ROWS = {"discoveries", "steps"}


def columns() -> list[Any]:
    return [
        pytest.param(
            hints[field.name], table._meta.get_field(field.name), id=f"{shape.__name__}.{field.name}"
        )
        for shape, table in TABLES.items()
        for hints in [get_type_hints(shape, include_extras=True)]
        for field in fields(shape)
        if field.name not in OTHER_ROWS
    ]


@pytest.mark.parametrize(("kind", "column"), columns())
def test_a_value_has_the_limits_of_its_column(kind: Any, column: models.Field) -> None:
    schema = TypeAdapter(kind).json_schema()
    sorts = schema.get("anyOf", [schema])
    assert column.null <= ({"type": "null"} in sorts or sorts == [{}])
    if column.choices:
        assert set(schema["enum"]) == {value for value, _ in column.choices}
    elif isinstance(column, models.CharField):
        assert schema["maxLength"] == column.max_length
        assert bool(schema.get("minLength")) is not column.blank


def test_a_column_that_is_new_gets_into_the_archive() -> None:
    for shape, table in TABLES.items():
        names = {column.name for column in table._meta.concrete_fields} - BESIDE
        beside = {"created"} if table is Predictor else set()
        assert names - beside == {field.name for field in fields(shape)} - OTHER_ROWS, shape
