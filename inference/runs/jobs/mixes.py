"""Random mixes of schemes, as mappings are judged by (§5.2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inference.core.experiment import Experiment

MIX_LENGTH = 5
_SPARE = 1000  # draws that make repeats among few schemes unimportant


def random_mixes(schemes: Sequence[str], n: int, seed: int, length: int = MIX_LENGTH) -> list[Experiment]:
    """Up to n distinct random multisets of `length` schemes; fewer where there are fewer."""
    random = np.random.default_rng([seed, length])
    picks = random.integers(0, len(schemes), size=(4 * n + _SPARE, length))
    mixes = dict.fromkeys(Experiment.of([schemes[k] for k in row]) for row in picks)
    return list(mixes)[:n]
