"""CEGAR: how long exact inference takes, beside the times that the thesis published for the same sizes.

Random processors as in §4.5 (1 to 4 ports per µop, ε = 0.02, no noise), and Zen+'s blocking instructions
(§6.3.4, Table 6.2) with Gaussian noise on cycles per instruction. References are medians of Figure 4.6 and
Table 4.1 and the quickest run of §6.3.4, in seconds; where none ended, there is none.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks import Result
from benchmarks._published_data import mapping_by_ports
from benchmarks._silent import Silent
from inference.core.cegar import CegarProblem, CegarResult, CegarSettings, infer
from inference.core.experiment import Experiment
from inference.core.identity import same_up_to_renaming
from inference.core.mapping import PortMapping, uops_of
from inference.core.metrics import score
from inference.core.protocols import Measurer
from inference.core.throughput import inverse_throughput
from inference.isa.tables import table_of_module
from inference.measuring.simulated import SimulatedProcessor

TRUTHS = (0, 1, 2)  # seeds of random mappings
RUNS = (0, 1, 2)  # seeds of the inference, per mapping
MIXES = 1_000  # random mixes on which the found mapping is compared with the true one
TWO_LEVEL = (
    (6, 16, 1_000.0),
    (8, 10, 10_000.0),
    (8, 16, None),
    (10, 13, None),
)
"""(ports, schemes, published seconds)"""

ZEN_PLUS_PUBLISHED = 12 * 3600.0  # seconds
ZEN_PLUS_NOISE = 0.005  # cycles per instruction, standard deviation
ZEN_PLUS = mapping_by_ports("0123456789", table_of_module(__file__), 5.0)
"""Table 6.2; the last two are the improper blocking instructions."""


def run(quick: bool) -> Iterator[Result]:
    """Every size; with `quick` one small processor in each model, and one run of Zen+."""
    if quick:
        yield _grid("two-level-4x6", [1] * 6, 4, None, TRUTHS[:1], RUNS[:1])
        yield _grid("three-level-4p-3s-4u", [1, 1, 2], 4, None, TRUTHS[:1], RUNS[:1])
    else:
        for ports, schemes, published in TWO_LEVEL:
            yield _grid(f"two-level-{ports}x{schemes}", [1] * schemes, ports, published, TRUTHS, RUNS)
        yield _grid("three-level-6p-4s-16u", [4] * 4, 6, 5_815.0, TRUTHS, RUNS)
    yield _zen_plus(RUNS[:1] if quick else RUNS)


def _grid(
    case: str,
    counts: Sequence[int],
    ports: int,
    published: float | None,
    truths: Sequence[int],
    runs: Sequence[int],
) -> Result:
    """CPU seconds for random mappings of one size, as a table of the thesis has them.

    case: Name of the result.
        counts: µops of each scheme.
        ports: Number of ports.
        published: Seconds in the thesis.
        truths: Seeds of the mappings.
        runs: Seeds of the inference.
    """
    done = []
    for truth in truths:
        mapping = _random_mapping(counts, ports, truth)
        uops = dict(zip(mapping.usage, counts, strict=True))
        problem = CegarProblem(tuple(mapping.usage), CegarSettings(ports=ports), uops=uops)
        done += [_timed(problem, mapping, SimulatedProcessor(mapping, seed=run), run) for run in runs]
    return _summary(case, published, done)


def _zen_plus(runs: Sequence[int]) -> Result:
    """CPU seconds for the blocking instructions of Zen+, with their published µops as the truth."""
    uops = {scheme: sum(n for _, n in terms) for scheme, terms in ZEN_PLUS.usage.items()}
    improper = tuple(scheme for scheme, count in uops.items() if count > 1)
    settings = CegarSettings(ports=10, r_max=5.0, alternatives=300)
    problem = CegarProblem(tuple(ZEN_PLUS.usage), settings, uops=uops, improper=improper)
    done = [
        _timed(problem, ZEN_PLUS, SimulatedProcessor(ZEN_PLUS, noise_cpi=ZEN_PLUS_NOISE, seed=run), run)
        for run in runs
    ]
    ambiguous = sorted({scheme for run in done for scheme in run.result.ambiguous_schemes})
    summary = _summary("zen+-blocking", ZEN_PLUS_PUBLISHED, done)
    return replace(summary, more={**summary.more, "ambiguous": ambiguous})


@dataclass(frozen=True)
class _Run:
    seconds: float
    result: CegarResult
    pearson: float
    includes_truth: bool


def _timed(problem: CegarProblem, mapping: PortMapping, processor: Measurer, seed: int) -> _Run:
    """One inference, with its CPU time and how well the mapping found predicts random mixes of five."""
    began = time.process_time()
    result = infer(problem, processor, Silent(), seed)
    seconds = time.process_time() - began
    draw = random.Random(seed)
    mixes = [Experiment.of(draw.choices(problem.schemes, k=5)) for _ in range(MIXES)]
    truth, predicted = (
        np.array([inverse_throughput(candidate, mix) for mix in mixes])
        for candidate in (mapping, result.mapping)
    )
    explained = [result.mapping, *(alternative.mapping for alternative in result.alternatives)]
    pearson = score(truth, predicted).pearson
    assert pearson is not None
    return _Run(
        seconds, result, pearson, any(same_up_to_renaming(candidate, mapping) for candidate in explained)
    )


def _summary(case: str, published: float | None, done: Sequence[_Run]) -> Result:
    """The median CPU seconds of several inferences, with their experiments and verdicts."""
    times = [run.seconds for run in done]
    experiments = [len(run.result.experiments) for run in done]
    more = {
        "length": round(
            statistics.mean(m.experiment.length for run in done for m in run.result.experiments), 2
        ),
        "least": round(min(times), 2),
        "most": round(max(times), 2),
        "runs": len(done),
        "experiments": statistics.median(experiments),
        "longest": max(m.experiment.length for run in done for m in run.result.experiments),
        "searching": round(statistics.median(r.result.searching_seconds / r.result.seconds for r in done), 3),
        "pearson_least": round(min(run.pearson for run in done), 6),
        "pearson_median": round(statistics.median(run.pearson for run in done), 6),
        "verdicts": sorted(run.result.verdict.value for run in done),
        "alternatives": [len(run.result.alternatives) for run in done],
        "truth_listed": sum(run.includes_truth for run in done),
    }
    return Result(case, round(statistics.median(times), 2), "CPU s", published, more)


def _random_mapping(counts: Sequence[int], ports: int, seed: int) -> PortMapping:
    """1 to 4 ports per µop, each set of ports drawn at random (§4.5.1)."""
    draw = random.Random(seed)

    def uop() -> tuple[int, int]:
        return sum(1 << port for port in draw.sample(range(ports), draw.randint(1, min(4, ports)))), 1

    usage = {f"scheme {k:02}": uops_of(uop() for _ in range(count)) for k, count in enumerate(counts)}
    return PortMapping(tuple(map(str, range(ports))), usage)
