"""A heat map loses no experiment in silence, and its figure is one that plotly accepts."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.errors import InvalidInputError
from inference.core.experiment import Unit
from inference.figures.heatmap import BINS, BinCounts, HeatMap, Reach, bins_of, heat_map
from tests.drawn import examples

CYCLES = st.one_of(
    st.floats(0, 40), st.floats(0, 1e9), st.floats(0, allow_infinity=False), st.integers(0, 30).map(float)
)


@examples(100)
@given(st.lists(st.tuples(CYCLES, st.one_of(CYCLES, st.just(math.inf))), max_size=300))
def test_every_experiment_is_in_the_bin_that_bins_of_names_or_counted_outside(
    points: list[tuple[float, float]],
) -> None:
    measured, predicted = [m for m, _ in points], [p for _, p in points]
    heat = heat_map(measured, predicted)
    assert heat.n == len(points) == heat.outside + sum(map(sum, heat.counts))
    counts = np.zeros((BINS, BINS), dtype=int)
    outside = 0
    for place in zip(*heat.bins_of(measured, predicted), strict=True):
        if place == (-1, -1):
            outside += 1
        else:
            counts[place] += 1
    assert counts.tolist() == [list(row) for row in heat.counts]
    assert outside == heat.outside


def limit_by_order(measured: np.ndarray, predicted: np.ndarray) -> float:
    """Where the axes end, by sorting all points: the definition."""
    largest = np.maximum(measured, predicted)
    finite = largest[np.isfinite(largest) & (largest > 0)]
    if not len(finite):
        return 1.0
    farthest, most = (
        next(step * unit for step in STEPS if step * unit >= value)
        for value in (float(finite.max()), float(np.quantile(finite, 0.995, method="higher")))
        for unit in [10.0 ** math.floor(math.log10(value))]
    )
    return farthest if farthest <= 1.5 * most else most


STEPS = (1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 20.0)
DRAWN = st.one_of(st.floats(0.002, 40), st.floats(0.01, 1e9), st.integers(0, 30).map(float))


@examples(150)
@given(
    st.lists(st.tuples(DRAWN, st.one_of(DRAWN, st.just(math.inf))), max_size=300),
    st.lists(st.integers(0, 300), max_size=6),
)
def test_a_map_of_parts_is_that_of_the_whole(points: list[tuple[float, float]], cuts: list[int]) -> None:
    measured, predicted = (np.array([point[k] for point in points]) for k in (0, 1))
    parts = list(zip(np.split(measured, sorted(cuts)), np.split(predicted, sorted(cuts)), strict=True))
    reach = Reach()
    for part in reversed(parts):
        one = Reach()
        one.add(*part)
        reach.merge(one)
    assert reach.limit == limit_by_order(measured, predicted)
    counted = BinCounts(reach.limit)
    for part in reversed(parts):
        some = BinCounts(reach.limit)
        some.add(*part)
        counted.merge(some)
    assert counted.heat_map == heat_map(measured, predicted)


def test_maps_with_other_axes_are_not_merged() -> None:
    with pytest.raises(InvalidInputError, match="35 bins up to 10 and of 35 bins up to 12 cannot be merged"):
        BinCounts(10).merge(BinCounts(12))


def place_of(heat: HeatMap, measured: float, predicted: float) -> tuple[int, int]:
    """(row, column) of one experiment."""
    rows, columns = heat.bins_of([measured], [predicted])
    return int(rows[0]), int(columns[0])


def test_rows_are_predictions_and_columns_measurements() -> None:
    heat = heat_map([1.0, 3.0], [9.5, 0.0], limit=10, bins=10)
    assert heat.counts[9][1] == 1
    assert heat.counts[0][3] == 1
    assert place_of(heat, 1.0, 9.5) == (9, 1)
    assert heat.edges(9) == (9, 10)


def test_bins_are_closed_below_and_the_last_above() -> None:
    heat = heat_map([], [], limit=10, bins=10)
    assert place_of(heat, 1.0, 0.0) == (0, 1)
    assert place_of(heat, 10.0, 10.0) == (9, 9)
    assert place_of(heat, 10.001, 5.0) == (-1, -1)


def test_single_points_far_out_do_not_squeeze_the_rest() -> None:
    measured = [*np.linspace(0.5, 9.7, 999), 400.0]
    heat = heat_map(measured, measured)
    assert heat.limit == 10
    assert heat.outside == 1
    assert heat.figure()["layout"]["annotations"][0]["text"] == "1 of 1,000 lie outside"


def test_the_axes_reach_everything_where_that_costs_little_room() -> None:
    heat = heat_map([*np.linspace(0.5, 9.7, 999), 11.9], np.zeros(1000))
    assert (heat.limit, heat.outside) == (12, 0)
    assert "annotations" not in heat.figure()["layout"]


def test_the_json_of_a_heat_map_reads_back() -> None:
    heat = heat_map([1, 2, 2.5], [1, 2, 99])
    assert HeatMap.from_json(json.loads(json.dumps(heat.as_json()))) == heat


def test_the_figure_has_a_logarithmic_colour_scale_and_the_diagonal() -> None:
    heat = heat_map([1.0] * 1000 + [2.0], [1.0] * 1000 + [1.0], limit=35)
    figure = heat.figure(Unit.CPI)
    (trace,) = figure["data"]
    assert trace["z"][1][1] == pytest.approx(3)
    assert trace["z"][1][2] == 0
    assert trace["z"][0][0] is None
    assert trace["customdata"][1][1] == 1000
    assert trace["colorbar"]["ticktext"] == ["1", "3", "10", "30", "100", "300", "1,000"]
    (diagonal,) = figure["layout"]["shapes"]
    assert (diagonal["x0"], diagonal["y0"], diagonal["x1"], diagonal["y1"]) == (0, 0, 35, 35)
    assert figure["layout"]["xaxis"]["title"]["text"] == "measured (cycles per instruction)"
    json.dumps(figure, allow_nan=False)


@pytest.mark.parametrize(
    ("limit", "index", "words"),
    [
        (9.0, 7, "1.80 to 2.06"),
        (0.2, 7, "0.040 to 0.046"),
        (350.0, 34, "340.00 to 350.00"),
        (3.5e7, 1, "1e+06 to 2e+06"),
    ],
)
def test_bounds_are_said_with_enough_digits(limit: float, index: int, words: str) -> None:
    heat = heat_map([0.1], [0.1], limit=limit)
    assert heat.bounds(index) == words
    assert heat.figure()["data"][0]["meta"][index] == words


def test_a_figure_leaves_backgrounds_and_text_colours_to_the_page() -> None:
    text = json.dumps(heat_map([1], [1]).figure()["layout"])
    assert "bgcolor" not in text
    assert "template" not in text
    assert '"font"' not in text


def test_an_empty_heat_map_can_be_drawn() -> None:
    heat = heat_map([], [])
    assert (heat.n, heat.limit, heat.outside) == (0, 1.0, 0)
    assert heat.figure()["data"][0]["z"][0][0] is None


@pytest.mark.parametrize(("value", "limit"), [(5e-324, 1e-3), (1e-9, 1e-3), (1.7e308, 1e300)])
def test_absurd_numbers_still_have_axes(value: float, limit: float) -> None:
    heat = heat_map([value], [value])
    assert heat.limit == pytest.approx(limit)
    assert heat.n == 1 == heat.outside + sum(map(sum, heat.counts))
    json.dumps(heat.figure(), allow_nan=False)


@pytest.mark.parametrize(
    ("measured", "predicted"),
    [([1], []), ([math.nan], [1]), ([1], [math.nan]), ([-1], [1]), ([math.inf], [1])],
)
def test_numbers_that_cannot_be_drawn_are_refused(measured: list[float], predicted: list[float]) -> None:
    with pytest.raises(InvalidInputError):
        heat_map(measured, predicted)


@pytest.mark.parametrize("limit", [0, -1, math.inf, math.nan])
def test_impossible_axes_are_refused(limit: float) -> None:
    with pytest.raises(InvalidInputError, match="axes"):
        bins_of([1], [1], limit=limit)


def test_a_bin_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="0 to 34, not 35"):
        heat_map([], []).edges(35)
    with pytest.raises(InvalidInputError, match="at least one bin"):
        heat_map([], [], bins=0)
