"""Random mixes of schemes (§5.2), and the seeded choice of experiments that are held out from training."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from inference.core.errors import InvalidInputError
from inference.core.experiment import Experiment
from inference.core.tunables import check_integer

MIX_LENGTH = 5
_EXTRA_DRAWS = 1000  # draws that make repeats among few schemes unimportant
"""Draws beyond four times the requested number, so that repeats among few schemes do not leave too few mixes.
"""

_MAX_ITEMS = 2**40  # beyond any memory


def random_mixes(
    schemes: Sequence[str],
    n: int,
    seed: int,
    length: int = MIX_LENGTH,
    *,
    stream: int = 0,
    without: Collection[Experiment] = (),
) -> list[Experiment]:
    """Up to `n` distinct random multisets of schemes.

    Args:
        schemes: Schemes to draw from, with equal probability.
        n: Number of mixes; fewer are returned where there are fewer distinct ones.
        seed: Equal arguments and seeds give equal mixes.
        length: Instructions per mix.
        stream: Draws of one seed that shall differ have different streams.
        without: Experiments that are not returned.

    >>> [str(mix) for mix in random_mixes(["add", "mul"], 2, seed=1, length=2)]
    ['add; mul', '2*add']
    """
    random = np.random.default_rng([seed, length, stream] if stream else [seed, length])
    picks = random.integers(0, len(schemes), size=(4 * n + _EXTRA_DRAWS, length))
    mixes: dict[Experiment, None] = {}
    for row in picks:
        if len(mixes) >= n:
            break
        mix = Experiment.of([schemes[k] for k in row.tolist()])
        if mix not in without:
            mixes[mix] = None
    return list(mixes)


def split(n: int, share: float, seed: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(training, held-out) indices of `n` items, both ascending; the same seed gives the same split.

    Args:
        n: Number of items.
        share: ≥ 0 and < 1, the share that is held out, rounded to whole items. With a share above 0 and n ≥ 2
            at least one item is held out, and never all of them.
        seed: Seed of the permutation.

    Raises:
        InvalidInputError: For a number or a share out of range.

    >>> training, held_out = split(10, 0.2, seed=0)
    >>> len(training), len(held_out)
    (8, 2)
    """
    check_integer("the number of items to split", n, 0, _MAX_ITEMS)
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share < 1:
        raise InvalidInputError(f"the share to hold out must be at least 0 and below 1, not {share!r}")
    n_test = min(max(round(n * share), 1), n - 1) if share > 0 and n >= 2 else 0
    order = np.random.default_rng(seed).permutation(n).astype(np.int64)
    return np.sort(order[n_test:]), np.sort(order[:n_test])


def held_out_experiments(
    experiments: Iterable[Experiment], share: float, seed: int, train_up_to: int = 0
) -> set[Experiment]:
    """The distinct experiments that training never sees.

    Args:
        experiments: Repetitions count once.
        share: Share of the distinct experiments, from 0 to 1.
        seed: Equal arguments and seeds give equal results.
        train_up_to: Experiments with at most so many different schemes all stay in training; 0 for no such
            rule.
    """
    distinct = list(dict.fromkeys(experiments))
    singletons = np.array([experiment.is_singleton for experiment in distinct], dtype=bool)
    n_schemes = np.array([len(experiment.terms) for experiment in distinct], dtype=np.int64)
    return {distinct[index] for index in held_out_indices(singletons, n_schemes, share, seed, train_up_to)}


def held_out_indices(
    is_singleton: npt.NDArray[np.bool_],
    n_schemes: npt.NDArray[np.int64],
    share: float,
    seed: int,
    train_up_to: int = 0,
) -> npt.NDArray[np.int64]:
    """The indices of the distinct experiments to hold out, ascending.

    Repeated measurements of one experiment are held out together, so `share` counts distinct experiments.
    Single instructions stay in training as far as possible: nothing else shows how long a scheme takes alone.

    Args:
        is_singleton: bool[n], experiments of a single instruction.
        n_schemes: int64[n], number of different schemes in each.
        share: See `split`.
        seed: See `split`.
        train_up_to: Experiments with at most so many different schemes all stay in training, because the
            algorithm cannot work without them; 0 for no such rule.
    """
    n = len(is_singleton)
    if not n:
        return np.zeros(0, dtype=np.int64)
    if train_up_to:
        pool = np.flatnonzero(n_schemes > train_up_to)
        return pool[split(len(pool), share, seed)[1]].astype(np.int64)
    mixed = np.flatnonzero(~is_singleton)
    pool = mixed if len(mixed) > share * n else np.arange(n)
    _, test = split(len(pool), share * n / len(pool), seed)
    return pool[test].astype(np.int64)
