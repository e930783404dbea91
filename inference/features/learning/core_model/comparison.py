"""Two core models side by side, for page and API."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inference.core.core_model.differences import ComparedCore, CoreNumber, core_numbers
from inference.core.core_model.memory_reading import memory_times
from inference.core.protocols import Json
from inference.features.learning.core_model.query import cached_overview, core_models
from inference.features.library.gallery.query import recorded_cores
from inference.models import StoredCoreModel
from inference.storage.core_models import core_model_of, overview_of
from inference.storage.result_names import processor_name

MAX_CHOICES = 100
_MAX_IN_SUMMARY = 4
_COUNTED = ("ports", "slots", "instructions")
"""Aspects that a summary names first: how many, not how quick."""


@dataclass(frozen=True)
class CoreComparison:
    """Two core models with their numbers; `summary` names the most telling differences."""

    first: StoredCoreModel
    second: StoredCoreModel
    first_label: str
    second_label: str
    numbers: Sequence[CoreNumber]
    summary: str

    @property
    def differing(self) -> list[CoreNumber]:
        return [number for number in self.numbers if number.differs]

    def as_json(self) -> Json:
        return {
            "first": self.first.name,
            "second": self.second.name,
            "summary": self.summary,
            "numbers": [
                {
                    "subject": number.subject,
                    "aspect": number.aspect,
                    "unit": number.unit,
                    "first": number.first,
                    "second": number.second,
                    "differs": number.differs,
                }
                for number in self.numbers
            ],
        }


def core_label(row: StoredCoreModel) -> str:
    """The processor of a core model's machine, else the core model's name."""
    return row.name if row.machine is None else processor_name(row.machine)


def comparable_cores(row: StoredCoreModel) -> list[StoredCoreModel]:
    """The core models that a core model can be compared with, the recorded ones last."""
    rows = [other for other in core_models().filter(isa=row.isa_id)[:MAX_CHOICES] if other.pk != row.pk]
    names = {other.name for other in (row, *rows)}
    recorded = (core for core in recorded_cores() if core.isa == row.isa.name and core.name not in names)
    return [*rows, *(core.row for core in recorded)]


def compare_cores(first: StoredCoreModel, second: StoredCoreModel) -> CoreComparison:
    """The numbers of two core models of one instruction set."""
    labels = core_label(first), core_label(second)
    if labels[0] == labels[1]:
        labels = first.name, second.name
    numbers = core_numbers(_compared_core(first), _compared_core(second))
    return CoreComparison(first, second, *labels, numbers, _summary(*labels, numbers))


def _compared_core(row: StoredCoreModel) -> ComparedCore:
    if row._state.adding:  # the recorded core model
        model = core_model_of(row)
        return ComparedCore(overview_of(row, model), model.memory)
    if row.latencies is not None:
        return ComparedCore(cached_overview(row), memory_times(row.latencies.memory))
    model = core_model_of(row, ())
    return ComparedCore(cached_overview(row), model.memory if model.latencies else None)


def _summary(first: str, second: str, numbers: Sequence[CoreNumber]) -> str:
    """A sentence such as "Zen 5 against Zen 4: ALU ports 6 against 4, issue slots 8 against 6"."""
    differing = [number for number in numbers if number.differs]
    if not differing:
        return f"{first} and {second} differ in no number that both have"
    differing.sort(key=lambda number: number.aspect not in _COUNTED)
    parts = [
        f"{number.subject} {number.aspect} {number.first:.3g} against {number.second:.3g}"
        for number in differing[:_MAX_IN_SUMMARY]
    ]
    more = len(differing) - len(parts)
    return f"{first} against {second}: {', '.join(parts)}{f', and {more} more' if more else ''}"
