"""Random mixes of schemes (§5.2), and which experiments are kept back to judge a mapping by."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from inference.core.errors import InvalidInputError
from inference.core.experiment import Experiment
from inference.core.tunables import check_whole

MIX_LENGTH = 5
_SPARE = 1000  # draws that make repeats among few schemes unimportant

_MOST = 2**40  # beyond any memory


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


def split(n: int, share: float, seed: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(training, held-out) indices of `n` things, both ascending; the same seed gives the same split.

    `share` ≥ 0 and < 1 is held out, rounded to whole things, but with share > 0 and n ≥ 2 always at least
    one of them, and never all. Raises `InvalidInputError`.
    """
    check_whole("the number of things to split", n, 0, _MOST)
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share < 1:
        raise InvalidInputError(f"the share to hold out must be at least 0 and below 1, not {share!r}")
    held = min(max(round(n * share), 1), n - 1) if share > 0 and n >= 2 else 0
    order = np.random.default_rng(seed).permutation(n).astype(np.int64)
    return np.sort(order[held:]), np.sort(order[:held])


def held_out_experiments(
    experiments: Iterable[Experiment], share: float, seed: int, never: int = 0
) -> set[Experiment]:
    """The seeded share of the distinct experiments that training never sees: see `held_out_of`."""
    distinct = list(dict.fromkeys(experiments))
    singletons = np.array([experiment.is_singleton for experiment in distinct], dtype=bool)
    different = np.array([len(experiment.terms) for experiment in distinct], dtype=np.int64)
    return {distinct[index] for index in held_out_of(singletons, different, share, seed, never)}


def held_out_of(
    singletons: npt.NDArray[np.bool_],
    different: npt.NDArray[np.int64],
    share: float,
    seed: int,
    never: int = 0,
) -> npt.NDArray[np.int64]:
    """The indices, ascending, of the distinct experiments to hold out.

    Whole experiments, so that no repeat of one is on both sides. Experiments of up to `never` different
    schemes, of which there are `different`, all stay in training: an algorithm can do nothing without them.
    Single instructions, which `singletons` marks, stay there as far as possible: nothing else tells how long
    a scheme takes alone.
    """
    n = len(singletons)
    if not n:
        return np.zeros(0, dtype=np.int64)
    if never:
        pool = np.flatnonzero(different > never)
        return pool[split(len(pool), share, seed)[1]].astype(np.int64)
    mixed = np.flatnonzero(~singletons)
    pool = mixed if len(mixed) > share * n else np.arange(n)
    _, kept_back = split(len(pool), share * n / len(pool), seed)
    return pool[kept_back].astype(np.int64)
