"""Two ways to compute the same, in turns on the same inputs: random mappings of 310 schemes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median

import numpy as np

from benchmarks import Result
from inference.core.mapping import Uops, uops_of
from inference.core.tables import Population

SCHEMES = tuple(f"scheme {k:03}" for k in range(310))


def thread_seconds(work: Callable[[], object]) -> float:
    """CPU seconds of this thread."""
    began = time.thread_time()
    work()
    return time.thread_time() - began


def rates(
    case: str, unit: str, rounds: int, once: Callable[[], tuple[float, float]], more: Mapping[str, object]
) -> Result:
    """How many per second, beside the reference: the medians of what each round took for one.

    The first round, which loads and compiles, is not counted.
    """
    seconds = [once() for _ in range(rounds + 1)][1:]
    ours, theirs = (median(column) for column in zip(*seconds, strict=True))
    return Result(case, round(1 / ours), unit, round(1 / theirs, 2), more)


def drawn_population(
    rng: np.random.Generator, n_mappings: int, n_ports: int, most_kinds: int = 4
) -> Population:
    """Random mappings of `SCHEMES`, with up to so many kinds of µops each."""
    rows = [drawn_uops(rng, n_ports, most_kinds) for _ in range(n_mappings * len(SCHEMES))]
    return Population.from_rows(rows, n_mappings, n_ports)


def drawn_uops(rng: np.random.Generator, n_ports: int, most_kinds: int = 4) -> Uops:
    kinds = int(rng.integers(1, most_kinds + 1))
    masks = rng.integers(1, 1 << n_ports, kinds)
    return uops_of(zip(masks.tolist(), rng.integers(1, 4, kinds).tolist(), strict=True))
