"""Rates of ours and of a reference in turns, and the reference that enumerates all port sets."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import Result
from inference.core.compiling import compiled
from inference.core.mapping import Uops, uops_of
from inference.core.tables import ExperimentTable, Population

Integers = npt.NDArray[Any]

_MAX_KINDS = 1024  # µops kinds of an experiment that the compiled enumeration has room for


@compiled
def enumerate_ports(
    offsets: Integers,
    masks: Integers,
    counts: Integers,
    n_ports: int,
    experiments: Integers,
    scheme: Integers,
    repeats: Integers,
    cycles: npt.NDArray[np.float64],
) -> None:
    """Inverse throughputs, float64[n], of experiments under one mapping, both as compressed rows."""
    kinds = np.empty(_MAX_KINDS, dtype=np.int64)
    mass = np.empty(_MAX_KINDS, dtype=np.int64)
    size = np.zeros(1 << n_ports, dtype=np.int64)
    for ports in range(1, 1 << n_ports):
        size[ports] = size[ports >> 1] + (ports & 1)
    for e in range(len(cycles)):
        n = 0
        for t in range(experiments[e], experiments[e + 1]):
            for u in range(offsets[scheme[t]], offsets[scheme[t] + 1]):
                kinds[n] = masks[u]
                mass[n] = counts[u] * repeats[t]
                n += 1
        best = 0.0
        for ports in range(1, 1 << n_ports):
            inside = 0
            for k in range(n):
                if kinds[k] & ~ports == 0:
                    inside += mass[k]
            if inside > best * size[ports]:
                best = inside / size[ports]
        cycles[e] = best


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


def enumerate_one(population: Population, table: ExperimentTable, cycles: np.ndarray) -> None:
    """The `cycles` of each experiment by the first mapping of a population."""
    enumerate_ports(
        population.offsets[: population.n_schemes + 1],
        population.masks,
        population.counts,
        population.n_ports,
        table.offsets,
        table.scheme,
        table.count,
        cycles,
    )
