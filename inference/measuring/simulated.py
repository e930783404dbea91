"""A simulated processor: a port mapping, the bottleneck beside its ports, noise, and the odd outlier."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from inference.core.errors import InvalidInputError
from inference.core.evaluator import Evaluator
from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.core.mapping import PortMapping
from inference.core.protocols import Json
from inference.core.tables import ExperimentTable

BATCH = 512  # experiments simulated at once
LEAST_FACTOR = 0.01  # noise never makes a time zero or negative


class SimulatedProcessor:
    """Measures like a processor whose port mapping is known.

    `noise`: standard deviation of a Gaussian factor around 1. `outlier_share`: probability that an answer is
    also multiplied by `outlier_factor`. An answer depends on the seed and the experiment alone, neither on
    the order nor on how often it is asked.
    """

    def __init__(
        self,
        mapping: PortMapping,
        *,
        noise: float = 0.0,
        outlier_share: float = 0.0,
        outlier_factor: float = 2.0,
        seed: int = 0,
    ) -> None:
        if not 0 <= noise < 1:
            raise InvalidInputError(f"noise is a standard deviation in [0, 1), not {noise!r}")
        if not 0 <= outlier_share <= 1:
            raise InvalidInputError(f"outlier_share is a probability in [0, 1], not {outlier_share!r}")
        if not (math.isfinite(outlier_factor) and outlier_factor > 0):
            raise InvalidInputError(f"outlier_factor must be a finite number > 0, not {outlier_factor!r}")
        self._mapping = mapping
        self._noise = noise
        self._outlier_share = outlier_share
        self._outlier_factor = outlier_factor
        self._seed = seed

    @property
    def identity(self) -> Json:
        """The mapping's digest and every parameter of the noise."""
        usage = sorted(self._mapping.usage.items())
        content = repr((self._mapping.ports, usage, self._mapping.r_max))
        return {
            "kind": "simulated",
            "mapping": hashlib.sha256(content.encode()).hexdigest(),
            "noise": self._noise,
            "outlier_share": self._outlier_share,
            "outlier_factor": self._outlier_factor,
            "seed": self._seed,
        }

    def offers(self) -> Sequence[Experiment] | None:
        """None: anything made of the mapping's schemes can be asked."""
        return None

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        """Simulated cycles; a scheme without a port usage, or one that takes no time, is a failure."""
        source = iter(experiments)
        while batch := list(itertools.islice(source, BATCH)):
            yield from self._simulate(batch)

    def _simulate(self, batch: Sequence[Experiment]) -> Iterator[Measured]:
        known = [e for e in batch if all(scheme in self._mapping.usage for scheme in e.schemes)]
        exact: dict[Experiment, float] = {}
        if known:
            schemes = sorted({scheme for e in known for scheme in e.schemes})
            mapping = dataclasses.replace(
                self._mapping, usage={scheme: self._mapping.usage[scheme] for scheme in schemes}
            )
            evaluator = Evaluator(
                ExperimentTable.from_experiments(known, schemes), len(mapping.ports), r_max=mapping.r_max
            )
            exact = dict(zip(known, evaluator.cycles_one(mapping).tolist(), strict=True))
        for experiment in batch:
            yield self._observe(experiment, exact.get(experiment))

    def _observe(self, experiment: Experiment, cycles: float | None) -> Measured:
        if cycles is None:
            unknown = [scheme for scheme in experiment.schemes if scheme not in self._mapping.usage]
            return Measured(
                experiment,
                None,
                MeasurementState.FAILED,
                note=f"the simulated processor does not know {'; '.join(unknown)}",
            )
        if cycles <= 0:
            return Measured(
                experiment, None, MeasurementState.FAILED, note="uses no port: takes no measurable time"
            )
        content = f"{self._seed} {experiment.terms!r}".encode()
        random = np.random.default_rng(int.from_bytes(hashlib.blake2b(content, digest_size=16).digest()))
        factor = max(LEAST_FACTOR, 1 + self._noise * random.standard_normal())
        if random.random() < self._outlier_share:
            factor *= self._outlier_factor
        return Measured(experiment, cycles * factor)
