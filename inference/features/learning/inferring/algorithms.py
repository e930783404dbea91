"""All inference algorithms, by their keys in runs' configurations."""

from __future__ import annotations

from inference.features.learning.inferring.algorithm import Algorithm
from inference.features.learning.inferring.cegar import Cegar
from inference.features.learning.inferring.explain import Explain
from inference.features.learning.inferring.pmevo import PMEvo

ALGORITHMS: dict[str, Algorithm] = {algorithm.key: algorithm for algorithm in (PMEvo(), Cegar(), Explain())}
