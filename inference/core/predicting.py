"""What predicts inverse throughputs of experiments: port mappings, and whatever else stands in for them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from inference.core.arrays import Bools, Floats
from inference.core.evaluator import Evaluator
from inference.core.evaluator_numpy import table_bytes
from inference.core.mapping import PortMapping
from inference.core.tables import ExperimentTable

_WORTH_COMPILED = 4096
"""Experiments from which on loading the compiled kernels costs less than going without."""

_MOST_BYTES = 1 << 26
"""Going without takes a table per scheme: with thousands of schemes on many ports, too much memory."""


class ThroughputModel(Protocol):
    """Answers "how many cycles?" without measuring."""

    @property
    def described(self) -> Collection[str]:
        """The schemes that it knows: it predicts the experiments that consist of these alone."""
        ...

    def cycles(self, table: ExperimentTable) -> Floats:
        """Cycles per execution of each experiment, its own bottlenecks applied: float64[len(table)].

        Raises `UnknownSchemeError` where the numbering of the table has a scheme that is not described.
        """
        ...


@dataclass(frozen=True)
class PortMappingModel:
    """A port mapping as a throughput model, its R_max applied.

    A few experiments the plain numpy kernels are done with before the compiled ones are loaded; they say the
    same bit for bit.
    """

    mapping: PortMapping

    @property
    def described(self) -> Collection[str]:
        return self.mapping.usage.keys()

    def cycles(self, table: ExperimentTable) -> Floats:
        if not len(table):
            return np.zeros(0)
        n_ports = len(self.mapping.ports)
        few = len(table) < _WORTH_COMPILED and table_bytes(table, n_ports) <= _MOST_BYTES
        return Evaluator(table, n_ports, compiled=not few).cycles_one(self.mapping)


def known_to(described: Collection[str], table: ExperimentTable) -> Bools:
    """Which experiments consist of these schemes alone: bool[len(table)]."""
    known = _known(described, table)
    if not len(table):
        return np.zeros(0, dtype=bool)
    return np.logical_and.reduceat(known[table.scheme], table.offsets[:-1])


def predicted_cycles(model: ThroughputModel, table: ExperimentTable) -> Floats:
    """What a model says of a table in which it need not know every scheme: NaN where it does not."""
    answered = known_to(model.described, table)
    kept = np.flatnonzero(answered)
    known = _known(model.described, table)
    if not known.all():
        entries = np.repeat(answered, np.diff(table.offsets))
        ends = np.cumsum(np.diff(table.offsets)[kept])
        number = np.cumsum(known) - 1
        table = ExperimentTable(
            schemes=tuple(scheme for scheme, is_known in zip(table.schemes, known, strict=True) if is_known),
            offsets=np.concatenate(([0], ends)).astype(np.int64),
            scheme=number[table.scheme[entries]].astype(np.int32),
            count=table.count[entries],
            lengths=table.lengths[kept],
        )
    cycles = np.full(len(answered), np.nan)
    cycles[kept] = model.cycles(table)
    return cycles


def _known(described: Collection[str], table: ExperimentTable) -> Bools:
    return np.array([scheme in described for scheme in table.schemes], dtype=bool)
