"""Recorded data as an inference run divides it: what is learnt from, and what only judges the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inference.core.holdout import held_out_experiments
from inference.exchange.stored import StoredMeasurement, measurements_of
from inference.models import ISA, ExperimentSet
from inference.models.scheme_search import select_schemes


@dataclass(frozen=True)
class Shares:
    """Usable measurements of one or more sets, divided by experiment."""

    training: tuple[StoredMeasurement, ...]
    held_out: tuple[StoredMeasurement, ...]


def selected_schemes(isa: ISA, selection: str | Sequence[int]) -> set[str] | None:
    """The scheme texts that a run's selection admits: a name or search text, or row ids; None admits all."""
    if selection == "all":
        return None
    if isinstance(selection, str):
        return set(select_schemes(isa.schemes.all(), selection).values_list("text", flat=True))
    chosen = set(selection)
    return {text for pk, text in isa.schemes.values_list("pk", "text") if pk in chosen}


def recorded_shares(
    sets: Sequence[ExperimentSet], selection: str | Sequence[int], share: float, seed: int
) -> Shares:
    """Divide the measurements of the chosen schemes alone; the seed makes it the same every time.

    That is: as long as the sets are what they were. The order in which they are named does not matter.
    """
    usable = [
        row
        for one in sorted(sets, key=lambda row: row.pk)
        for row in measurements_of(one.measurements.order_by("id"))
        if row.value.usable
    ]
    wanted = selected_schemes(sets[0].isa, selection) if sets else None
    if wanted is not None:
        usable = [row for row in usable if wanted.issuperset(row.value.experiment.schemes)]
    kept = held_out_experiments((row.value.experiment for row in usable), share, seed) if usable else set()
    return Shares(
        training=tuple(row for row in usable if row.value.experiment not in kept),
        held_out=tuple(row for row in usable if row.value.experiment in kept),
    )
