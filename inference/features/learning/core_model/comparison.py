"""Two core models side by side, for page and API."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from inference.core.core_model.differences import CoreNumber, core_numbers
from inference.core.protocols import Json
from inference.features.learning.core_model.query import comparable_cores, core_models
from inference.features.library.gallery.query import recorded_core, recorded_cores
from inference.models import StoredCoreModel
from inference.storage.names import machine_label, processor_name

MAX_CHOICES = 100
_MAX_IN_SUMMARY = 4
_COUNTED = ("ports", "slots", "instructions")
"""Aspects that a summary names first: how many, not how quick."""


@dataclass(frozen=True)
class CoreComparison:
    """Two core models with their numbers; `summary` names the most telling differences.

    `schemes`: number of those that both describe, over which kinds of instructions are compared.
    """

    first: StoredCoreModel
    second: StoredCoreModel
    first_label: str
    second_label: str
    numbers: Sequence[CoreNumber]
    schemes: int
    summary: str

    @property
    def differing(self) -> list[CoreNumber]:
        return [number for number in self.numbers if number.differs]

    def as_json(self) -> Json:
        return {
            "first": self.first.name,
            "second": self.second.name,
            "summary": self.summary,
            "numbers": [{**asdict(number), "differs": number.differs} for number in self.numbers],
        }


def core_label(row: StoredCoreModel) -> str:
    """What a core model is of: "Zen 5 (AMD EPYC 9R14), this computer"; of no machine, what it is called."""
    if row.machine is not None:
        return machine_label(row.machine)
    core = recorded_core(row.name)
    return row.name if core is None else core.label


def processor_label(row: StoredCoreModel) -> str:
    """As `core_label`, in a word or two for sentences and heads of columns: "Zen 5"."""
    return core_label(row) if row.machine is None else processor_name(row.machine)


def core_choices(row: StoredCoreModel) -> list[tuple[str, str]]:
    """(name, label) of the core models that a core model can be compared with, the recorded ones last.

    Labels differ. The documents of recorded cores are not read.
    """
    stored = core_models().filter(isa__name=row.isa.name)[:MAX_CHOICES]
    choices = [(other.name, core_label(other)) for other in stored if other.pk != row.pk]
    names = {row.name, *(name for name, _ in choices)}
    choices += [
        (core.name, core.label)
        for core in recorded_cores()
        if core.isa == row.isa.name and core.name not in names
    ]
    counts = Counter(label for _, label in choices)
    return [
        (name, label if counts[label] == 1 or label == name else f"{label}: {name}")
        for name, label in choices
    ]


def other_core(row: StoredCoreModel, name: str) -> StoredCoreModel | None:
    """The core model with this name among those that `row` can be compared with."""
    other = core_models().filter(isa__name=row.isa.name, name=name).exclude(pk=row.pk).first()
    if other is not None or name == row.name:
        return other
    core = recorded_core(name)
    return None if core is None or core.isa != row.isa.name else core.row


def compare_cores(first: StoredCoreModel, second: StoredCoreModel) -> CoreComparison:
    """The numbers of two core models of one instruction set."""
    labels = processor_label(first), processor_label(second)
    if labels[0] == labels[1]:
        labels = first.name, second.name
    *cores, schemes = comparable_cores(first, second)
    numbers = core_numbers(*cores)
    return CoreComparison(first, second, *labels, numbers, schemes, _summary(*labels, numbers))


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
    n_omitted = len(differing) - len(parts)
    return (
        f"{first} against {second}: {', '.join(parts)}{f', and {n_omitted} n_omitted' if n_omitted else ''}"
    )
