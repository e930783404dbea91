"""Random mixes of schemes: mappings are judged by such (§5.2), and may be learnt from them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from inference.core.experiment import Experiment

MIX_LENGTH = 5
_SPARE = 1000  # draws that make repeats among few schemes unimportant


def random_mixes(
    schemes: Sequence[str],
    n: int,
    seed: int,
    length: int = MIX_LENGTH,
    *,
    stream: int = 0,
    without: Collection[Experiment] = (),
) -> list[Experiment]:
    """Up to n distinct random multisets of `length` schemes, none of `without`; fewer where there are fewer.

    Each `stream` of a seed draws others.
    """
    random = np.random.default_rng([seed, length, stream] if stream else [seed, length])
    picks = random.integers(0, len(schemes), size=(4 * n + _SPARE, length))
    mixes: dict[Experiment, None] = {}
    for row in picks:
        if len(mixes) >= n:
            break
        mix = Experiment.of([schemes[k] for k in row.tolist()])
        if mix not in without:
            mixes[mix] = None
    return list(mixes)
