"""All inference algorithms, by the keys that descriptions of runs have."""

from __future__ import annotations

from inference.features.learning.inferring.algorithm import Algorithm
from inference.features.learning.inferring.cegar import Cegar
from inference.features.learning.inferring.explain import Explain
from inference.features.learning.inferring.pmevo import PMEvo

ALGORITHMS: dict[str, Algorithm] = {algorithm.key: algorithm for algorithm in (PMEvo(), Cegar(), Explain())}
