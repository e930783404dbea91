"""The division of stored measurements into training and held-out experiments of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from inference.core.evaluator import described_experiments
from inference.core.experiment import MeasurementState
from inference.core.sampling import held_out_experiments, held_out_indices
from inference.models import ISA, ExperimentSet
from inference.models.scheme_search import select_schemes
from inference.storage.rows import StoredMeasurement, measurements_of
from inference.storage.streaming import Chunk, set_chunks


@dataclass(frozen=True)
class RecordedShares:
    """Usable measurements of one or more sets, divided by experiment.

    `recurring`: number of experiments left out because the judging set has them as well.
    """

    training: tuple[StoredMeasurement, ...]
    held_out: tuple[StoredMeasurement, ...]
    recurring: int = 0


def selected_schemes(isa: ISA, selection: str | Sequence[int]) -> set[str] | None:
    """Scheme texts of a run's selection (a name, a search text, or row ids); None for all."""
    if selection == "all":
        return None
    if isinstance(selection, str):
        return set(select_schemes(isa.schemes.all(), selection).values_list("text", flat=True))
    schemes = set(selection)
    return {text for pk, text in isa.schemes.values_list("pk", "text") if pk in schemes}


def recorded_shares(
    sets: Sequence[ExperimentSet],
    selection: str | Sequence[int],
    share: float,
    seed: int,
    judge: ExperimentSet | None = None,
    never: int = 0,
) -> RecordedShares:
    """Divide measurements into training and held-out ones, reproducibly for equal sets and seed.

    Args:
        sets: Sets, in any order.
        selection: Schemes; other experiments are left out. See `selected_schemes`.
        share: Share of the experiments to hold out, from 0 to 1.
        seed: Seed of the random selection.
        judge: A set whose experiments are left out of the training, so that it judges all mappings by the
            same unseen experiments.
        never: Experiments of up to this many different schemes are never held out or left out.
    """
    usable = [
        row
        for experiment_set in sorted(sets, key=lambda row: row.pk)
        for row in measurements_of(experiment_set.measurements.order_by("id"))
        if row.value.usable
    ]
    admitted = selected_schemes(sets[0].isa, selection) if sets else None
    if admitted is not None:
        usable = [row for row in usable if admitted.issuperset(row.value.experiment.schemes)]
    recurring: set[int] = set()
    if judge is not None:
        settled = judge.measurements.filter(state=MeasurementState.SETTLED.value)
        learnable = {row.experiment_id for row in usable if len(row.value.experiment.terms) > never}
        recurring = learnable & set(settled.values_list("experiment_id", flat=True).distinct())
        usable = [row for row in usable if row.experiment_id not in recurring]
    experiments = (row.value.experiment for row in usable)
    held_out = held_out_experiments(experiments, share, seed, never) if usable else set()
    return RecordedShares(
        training=tuple(row for row in usable if row.value.experiment not in held_out),
        held_out=tuple(row for row in usable if row.value.experiment in held_out),
        recurring=len(recurring),
    )


def held_out_rows(
    sets: Sequence[ExperimentSet], selection: str | Sequence[int], share: float, seed: int, never: int = 0
) -> npt.NDArray[np.int64]:
    """Ids of the measurements that `recorded_shares` holds out, in its order.

    Takes 17 bytes per usable measurement, and creates no object per measurement.

    Args:
        sets: Sets of the measurements.
        selection: A search for schemes, or their ids.
        share: Share to hold out, in [0, 1).
        seed: Seed of the random selection.
        never: Experiments of up to this many different schemes are never held out.
    """
    admitted = selected_schemes(sets[0].isa, selection) if sets else None
    parts = [
        _facts(chunk, admitted)
        for experiment_set in sorted(sets, key=lambda row: row.pk)
        for chunk in set_chunks(experiment_set)
    ]
    if not parts:
        return np.zeros(0, dtype=np.int64)
    ids, experiments, singletons, scheme_counts = (
        np.concatenate(columns) for columns in zip(*parts, strict=True)
    )
    _, first, inverse = np.unique(experiments, return_index=True, return_inverse=True)
    first_rows = np.sort(first)  # the distinct experiments, as they were first met
    held_out = first_rows[
        held_out_indices(singletons[first_rows], scheme_counts[first_rows], share, seed, never)
    ]
    return ids[np.isin(first[inverse], held_out)]


def _facts(
    chunk: Chunk, schemes: set[str] | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """(row ids, experiment ids, whether of one instruction, number of schemes), of `schemes` only."""
    admitted = (
        np.ones(len(chunk.ids), dtype=bool)
        if schemes is None
        else described_experiments(schemes, chunk.table)
    )
    scheme_counts = np.diff(chunk.table.offsets)
    return (
        chunk.ids[admitted],
        chunk.experiments[admitted],
        (chunk.table.lengths == 1)[admitted],
        scheme_counts[admitted],
    )
