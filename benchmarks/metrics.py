"""Agreement of predictions with measurements: what it costs for many points.

Points: a million generated ones, scored and drawn; the reference does the same in one go with numpy and scipy
(already imported) on the same arrays. Seconds are CPU seconds. Megabytes are the peak of what is allocated
beside the two arrays. Streaming: a generated set in a temporary SQLite database, evaluated; the reference
makes an object per row, as everything else that needs measurements does.
"""

from __future__ import annotations

import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import numpy.typing as npt

from benchmarks import Result
from benchmarks._generated_sets import generate_set, generated_mapping
from benchmarks._measured import cost_of
from benchmarks._sites import temporary_database
from inference.core.evaluator import PortMappingModel
from inference.core.metrics import Scores, Unit, score
from inference.figures.heatmap import BINS, COVERED, heat_map

Floats = npt.NDArray[np.float64]

POINTS = 1_000_000
"""Pairs of a measured and a predicted value that are scored and drawn."""

ROWS = 100_000
"""Measurements of the generated set that is evaluated."""

SEED = 1
"""Of the generated points."""


def run(quick: bool) -> Iterator[Result]:
    """Points and streaming; `quick` has a tenth of the points and of the rows."""
    yield from _points(POINTS // 10 if quick else POINTS)
    yield from _streaming(ROWS // 10 if quick else ROWS)


def _points(n: int) -> Iterator[Result]:
    """Cost of scoring and of drawing `n` points, for predictions that repeat and for arbitrary ones."""
    rng = np.random.default_rng(SEED)
    measured = np.round(rng.gamma(3.0, 2.0, n) + 0.25, 2)
    # A port mapping predicts few different values, mostly multiples of 1/12: means over up to four ports.
    mapping = np.round(measured * rng.uniform(0.7, 1.3, n) * 12) / 12
    anything = measured * rng.uniform(0.7, 1.3, n)
    import scipy.stats  # noqa: F401 its loading is not part of the reference

    for case, predicted in (("port mapping", mapping), ("anything", anything)):
        _check(score(measured, predicted), *_reference_scores(measured, predicted))
        more = {
            "points": n,
            "distinct": len(np.unique(np.stack((measured, predicted)), axis=1).T),
            "seed": SEED,
        }
        for quantity, ours, reference in (
            ("score", score, _reference_scores),
            ("heat map", heat_map, _reference_heat_map),
        ):
            seconds, megabytes = _cost(partial(ours, measured, predicted))
            other_seconds, other_megabytes = _cost(partial(reference, measured, predicted))
            yield Result(f"{quantity}, {case}, time", seconds, "s", other_seconds, more)
            yield Result(f"{quantity}, {case}, memory", megabytes, "MB", other_megabytes, more)


def _check(scores: Scores, mape: float, pearson: float, kendall: float) -> None:
    """Assert that both compute the same scores: Kendall's tau exactly, the others up to rounding."""
    assert scores.kendall == kendall, (scores, kendall)
    assert scores.mape is not None
    assert scores.pearson is not None
    assert np.allclose([scores.mape, scores.pearson], [mape, pearson], rtol=1e-9)


def _reference_scores(measured: Floats, predicted: Floats) -> tuple[float, float, float]:
    """MAPE in percent, Pearson's r and Kendall's tau-b; measurements are rounded as `score` rounds them."""
    from scipy.stats import kendalltau

    mape = float(np.mean(np.abs(predicted - measured) / measured)) * 100
    pearson = float(np.corrcoef(measured, predicted)[0, 1])
    return mape, pearson, float(kendalltau(np.round(measured, 2), predicted, variant="b").statistic)


def _reference_heat_map(measured: Floats, predicted: Floats) -> Floats:
    """Counts per bin up to the limit that `COVERED` of the points lie below."""
    limit = float(np.quantile(np.maximum(measured, predicted), COVERED, method="higher"))
    return np.histogram2d(predicted, measured, bins=BINS, range=((0, limit), (0, limit)))[0]


def _cost(work: Callable[[], object], repeats: int = 3) -> tuple[float, float]:
    """Median CPU seconds, and peak megabytes allocated by numpy and Python in a run of its own."""
    seconds = statistics.median(cost_of(work).cpu for _ in range(repeats))
    return round(seconds, 4), _megabytes(work)


def _megabytes(work: Callable[[], object]) -> float:
    """Peak megabytes that the work allocates; tracing slows it down, so that it is not timed."""
    tracemalloc.start()
    try:
        work()
        return round(tracemalloc.get_traced_memory()[1] / 1e6, 1)
    finally:
        tracemalloc.stop()


def _streaming(n: int) -> Iterator[Result]:
    """Cost of evaluating a stored set of `n` measurements, streamed and with an object per row."""
    from inference.storage.evaluations import compare
    from inference.storage.rows import load_measurements

    with temporary_database():
        began = time.monotonic()
        generated = generate_set(n)
        predictor = PortMappingModel(generated_mapping())
        more = {"rows": n, "seed": SEED, "built_in_seconds": round(time.monotonic() - began, 1)}

        def streamed() -> Scores:
            compared = compare(predictor, generated, Unit.CYCLES).with_cached_properties()
            return compared.scores

        def as_objects() -> Scores:
            return (
                compare(predictor, load_measurements(generated), Unit.CYCLES).with_cached_properties().scores
            )

        assert streamed() == as_objects()  # which also imports everything before the clock runs
        for quantity, cost in (("time", lambda work: _cost(work, 1)[0]), ("memory", _megabytes)):
            unit = "s" if quantity == "time" else "MB"
            yield Result(f"streamed set, {quantity}", cost(streamed), unit, cost(as_objects), more)
