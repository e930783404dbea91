"""Keeping some experiments back, so that a mapping can be judged on what it was not made from."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from inference.core.errors import InvalidInputError
from inference.core.experiment import Experiment


def split(n: int, share: float, seed: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(training, held-out) indices of `n` things, both ascending; the same seed gives the same split.

    `share` ≥ 0 and < 1 is held out, rounded to whole things, but with share > 0 and n ≥ 2 always at least
    one of them, and never all.
    """
    if n < 0:
        raise InvalidInputError(f"cannot split {n} experiments")
    if not 0 <= share < 1:
        raise InvalidInputError(f"the share to hold out must be at least 0 and below 1, not {share!r}")
    held = min(max(round(n * share), 1), n - 1) if share > 0 and n >= 2 else 0
    order = np.random.default_rng(seed).permutation(n).astype(np.int64)
    return np.sort(order[held:]), np.sort(order[:held])


def held_out_experiments(experiments: Iterable[Experiment], share: float, seed: int) -> set[Experiment]:
    """The seeded share of the distinct experiments that training never sees.

    Whole experiments, so that no repeat of one is on both sides. Single instructions stay in training as
    far as possible: nothing else tells how long a scheme takes alone.
    """
    distinct = list(dict.fromkeys(experiments))
    mixed = [experiment for experiment in distinct if not experiment.is_singleton]
    pool = mixed if len(mixed) > share * len(distinct) else distinct
    _, kept_back = split(len(pool), share * len(distinct) / len(pool), seed)
    return {pool[index] for index in kept_back}
