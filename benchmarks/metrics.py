"""How well published Skylake predictions agree with the published measurements: our numbers beside theirs.

The set is the smaller one that was published with annotations (2,000 five-scheme mixes). The references of
the two mappings are for this very set; those of the tools, from the whole set of thesis Table 5.3, are met
roughly.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from benchmarks import MissingDataError, Result
from inference.core.evaluator import Evaluator
from inference.core.metrics import score
from inference.core.tables import ExperimentTable
from tests.core.published import (
    DIRECTORY,
    EVALUATION,
    PublishedExperiments,
    published_experiments,
    published_mapping,
)

MAPPINGS = {
    "uops.info": ("mapping_uops_info.json", (9.55, 0.913, 0.793)),
    "PMEvo": ("mapping_pmevo.json", (14.67, 0.978, 0.757)),
}
TOOLS = {
    "IACA": 8.0,
    "Ithemal": 60.6,
    "llvm-mca": None,  # not those of Table 5.3 (9.7 %): several times too slow where memory is written
}


def run(quick: bool) -> Iterator[Result]:
    """MAPE, r and τ of two mappings, MAPE of three tools; `quick` changes nothing, it takes a second."""
    if not DIRECTORY.is_dir():
        raise MissingDataError(f"the published data is not in {DIRECTORY}: set PMWEB_SHARED")
    published = published_experiments(EVALUATION)
    for case, (name, references) in MAPPINGS.items():
        yield from _mapping(case, name, references, published)
    for tool, reference in TOOLS.items():
        answers = published.annotations[tool]
        known = np.isfinite(answers)
        scores = score(published.cycles[known], answers[known])
        assert scores.mape is not None
        yield Result(f"{tool} MAPE", round(scores.mape, 2), "%", reference, {"n": scores.n})


def _mapping(
    case: str, name: str, references: tuple[float, float, float], published: PublishedExperiments
) -> Iterator[Result]:
    mapping = published_mapping(name)
    evaluator = Evaluator(ExperimentTable.from_experiments(published.mixes), len(mapping.ports))
    began = time.process_time()
    scores = score(published.cycles, evaluator.cycles_one(mapping))
    more = {"n": scores.n, "cpu_seconds": round(time.process_time() - began, 4)}
    values = (("MAPE", "%", scores.mape), ("r", "", scores.pearson), ("τ", "", scores.kendall))
    for (metric, unit, value), reference in zip(values, references, strict=True):
        assert value is not None
        yield Result(f"{case} {metric}", round(value, 3), unit, reference, more)
