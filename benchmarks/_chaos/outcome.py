"""What a run has left in the database, as a value: the same for the same question, whatever happened.

It is found by following the tables' own references from the run, so a new kind of run needs nothing here.
Left out is what differs every time: numbers of rows, names, moments and durations.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from django.db import models
from django.db.models import Model

from inference.core import checkpoint
from inference.core.protocols import Json
from inference.models import (
    BasicBlock,
    Batch,
    Comparison,
    Measurement,
    Run,
    RunCheckpoint,
    RunEvent,
    SchemeConflict,
    Upload,
)
from inference.models.run import Webhook

APART = (RunEvent, RunCheckpoint, Batch, Webhook, Upload, Run, SchemeConflict)
"""What says how the run went, not what came of it; the journal has checks of its own. And what results of
other runs contradict, which depends on the others: `invariants.check_conflicts` compares the pairs."""

VOLATILE = frozenset(
    (
        *("seconds", "searching_seconds", "solver_seconds", "busy", "eta", "rate", "per_second", "began"),
        *("name", "run", "mapping", "experiment_set", "evaluation", "campaign", "block_set", "file"),
        *("id", "machine", "url", "comparison"),
        *("created", "saved", "finished", "started", "at", "summary", "measured_in"),
    )
)
"""Fields and keys that are another's every time: names, numbers of rows, moments, durations."""

_SIZE = " (entries)"
_NATURAL = ("key", "text", "number", "position", "name")
"""What tells a row that another one refers to from its neighbours."""


def outcome(run: Run) -> Json:
    """Everything that came of a run: its state and result, and the rows that belong to it."""
    run.refresh_from_db()
    facts = {"state": run.state, "result": cleaned(run.result), **_belongings(run, {Run})}
    renamed: Json = _renamed(facts, run.name)
    return renamed


def difference(expected: Json, actual: Json) -> str:
    """The first place at which two outcomes differ, in words; "" where they do not."""
    right, leaves = dict(_leaves(expected)), dict(_leaves(actual))
    for place in sorted(right.keys() | leaves.keys(), key=lambda place: (place.endswith(_SIZE), place)):
        if place not in leaves:
            return f"{place} is missing"
        if place not in right:
            return f"{place} is too much"
        if right[place] != leaves[place]:
            return f"{place} is {leaves[place]!r:.120}, not {right[place]!r:.120}"
    return ""


def _leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """(path, value) of what is no container, and how many entries each container has."""
    if isinstance(value, dict | list):
        yield f"{place}{_SIZE}", len(value)
        for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(entry, f"{place}/{key}")
    else:
        yield place, value


def _renamed(value: Any, name: str) -> Any:
    """The same with other words for the run's name, wherever a text has it."""
    if isinstance(value, str):
        return value.replace(name, "(this run)")
    if isinstance(value, dict):
        return {key: _renamed(entry, name) for key, entry in value.items()}
    return [_renamed(entry, name) for entry in value] if isinstance(value, list) else value


def cleaned(value: Any) -> Any:
    """A JSON value without what differs every time."""
    if isinstance(value, Mapping):
        return {key: cleaned(entry) for key, entry in value.items() if key not in VOLATILE}
    if isinstance(value, list | tuple):
        return [cleaned(entry) for entry in value]
    return value


def _belongings(row: Model, above: set[type[Model]]) -> dict[str, list[Json]]:
    """The rows that refer to this one and are gone without it, by table, in an order of their own."""
    belongings: dict[str, list[Json]] = {}
    for relation in row._meta.related_objects:
        model = relation.related_model
        if model in APART or model in above or not (_is_owned(relation) or isinstance(row, Run)):
            continue
        referred = [
            field.name
            for field in model._meta.concrete_fields
            if field.is_relation and field.related_model not in above and field.name not in VOLATILE
        ]
        rows = model._default_manager.filter(**{relation.field.name: row.pk}).order_by("pk")
        rows = rows.select_related(*referred) if referred else rows
        members = sorted((_facts_of(member, above | {type(row)}) for member in rows), key=_text)
        if members:
            belongings[f"{model._meta.label_lower} by {relation.field.name}"] = members
    return belongings


def _is_owned(relation: Any) -> bool:
    return getattr(relation, "on_delete", None) is models.CASCADE and not relation.many_to_many


def _facts_of(row: Model, above: set[type[Model]]) -> Json:
    """A row as {field: value}, with what belongs to it, without ids, times and rows `above` it."""
    facts: Json = {}
    for field in row._meta.concrete_fields:
        if field.primary_key or field.name in VOLATILE or isinstance(field, models.DateTimeField):
            continue
        if field.is_relation:
            if field.related_model not in above and getattr(row, field.attname) is not None:
                facts[field.name] = _referred(getattr(row, field.name))
        else:
            facts[field.name] = _plain(field.value_from_object(row))
    if isinstance(row, Comparison):
        facts |= _compared(row)
    return facts | _belongings(row, above)


def _compared(row: Comparison) -> Json:
    """What has names and numbers of other rows in it, by what they refer to."""
    subject = row.block_set or row.experiment_set
    stored = checkpoint.decode(bytes(row.points))
    arrays = dict(stored.arrays)
    items = np.cumsum(arrays.pop("ids"), dtype=np.int64).tolist()
    if row.item_kind == Comparison.ItemKind.BLOCKS:
        blocks = BasicBlock.objects.filter(pk__in=items).values_list("pk", "position", "code")
        known = {pk: f"{position} {bytes(code).hex()}" for pk, position, code in blocks}
    else:
        arrays.pop("experiments", None)  # those that the measurements are of
        measurements = Measurement.objects.filter(pk__in=items).values_list("pk", "repeat", "experiment__key")
        known = {pk: f"{repeat} {key}" for pk, repeat, key in measurements}
    return {
        "source": "its set" if subject is not None and row.source == subject.name else row.source,
        "points": {
            **stored.meta,
            "arrays": {name: _plain(array.tobytes()) for name, array in arrays.items()},
        },
        "items": [known.get(item) for item in items],
    }


def _referred(row: Model) -> str:
    """A row that stands elsewhere, by what it is called there."""
    names: Sequence[str] = [name for name in _NATURAL if hasattr(row, name)]
    return f"{row._meta.label_lower} {getattr(row, names[0]) if names else ''}"


def _plain(value: Any) -> Any:
    if isinstance(value, bytes | memoryview):
        return hashlib.sha256(bytes(value)).hexdigest()
    return cleaned(value)


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)
