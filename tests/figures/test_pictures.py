"""Curves, tripartite graphs, bucket pictures and the palette."""

from __future__ import annotations

import json
import re

import pytest
from django.conf import settings
from hypothesis import given
from hypothesis import strategies as st

from inference.core.errors import UnknownSchemeError
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.metrics import LengthError
from inference.core.schedule import schedule
from inference.figures.colours import DARK, LIGHT
from inference.figures.curves import (
    MIN_ERROR,
    FrontPlotPoint,
    cloud_figure,
    fitness_curve,
    front_figure,
    sweep_curve,
)
from inference.figures.length_maps import length_figure
from inference.figures.plotly_json import figure_json
from inference.figures.tripartite import buckets, tripartite
from tests.core.strategies import experiments, mappings
from tests.drawn import examples

MAPPING = PortMapping(
    ("0", "1", "2"),
    {"add": ((3, 1),), "sub": ((3, 1),), "load": ((4, 1),), "addm": ((3, 1), (4, 2)), "nop": ()},
)


def test_schemes_with_equal_uops_are_one_group() -> None:
    graph = tripartite(MAPPING)
    assert graph["ports"] == ["0", "1", "2"]
    assert [uop["label"] for uop in graph["uops"]] == ["[0,1]", "[2]"]
    assert [group["schemes"] for group in graph["groups"]] == [["add", "sub"], ["addm"], ["load"], ["nop"]]
    addm = graph["groups"][1]
    assert addm["uops"] == [{"uop": 0, "count": 1}, {"uop": 1, "count": 2}]
    assert addm["usage"] == "1×[0,1] + 2×[2]"
    assert graph["groups"][3]["usage"] == "no ports"


def test_a_graph_can_show_some_schemes_only() -> None:
    graph = tripartite(MAPPING, ["load", "load"])
    assert [group["schemes"] for group in graph["groups"]] == [["load"]]
    assert [uop["label"] for uop in graph["uops"]] == ["[2]"]
    with pytest.raises(UnknownSchemeError, match="div"):
        tripartite(MAPPING, ["div"])


@examples(30)
@given(mappings(st.sampled_from((4, 9, 63))))
def test_a_graph_says_all_of_the_mapping(mapping: PortMapping) -> None:
    graph = json.loads(json.dumps(tripartite(mapping)))
    masks = [int(uop["mask"], 16) for uop in graph["uops"]]
    assert [sum(1 << port for port in uop["ports"]) for uop in graph["uops"]] == masks
    rebuilt = {
        scheme: tuple(sorted((masks[use["uop"]], use["count"]) for use in group["uops"]))
        for group in graph["groups"]
        for scheme in group["schemes"]
    }
    assert rebuilt == mapping.usage


@examples(30)
@given(mapping=mappings(st.integers(1, 8)), experiment=experiments())
def test_buckets_are_stacked_without_gaps_up_to_the_load(
    mapping: PortMapping, experiment: Experiment
) -> None:
    picture = json.loads(json.dumps(buckets(schedule(mapping, experiment))))
    assert len(picture["ports"]) == len(mapping.ports)
    for port in picture["ports"]:
        top = 0.0
        for block in port["blocks"]:
            assert block["bottom"] == pytest.approx(top, abs=1e-6)
            top += block["height"]
        assert top == pytest.approx(port["load"], abs=1e-6)
        assert port["least"] <= port["load"] <= port["greatest"] <= picture["cycles"]
        if port["bottleneck"]:
            assert port["load"] == picture["port_cycles"]


def test_a_bucket_picture_names_the_bottleneck() -> None:
    mapping = PortMapping(("a", "b"), {"x": ((1, 1),), "y": ((3, 1),)}, r_max=1)
    picture = buckets(schedule(mapping, Experiment.of({"x": 3, "y": 1})))
    assert picture["limited_by"] == "instructions"
    assert picture["limits"] == [
        {
            "name": "instructions",
            "cycles": 4,
            "blocks": [
                {"scheme": 0, "bottom": 0, "height": 3},
                {"scheme": 1, "bottom": 3, "height": 1},
            ],
        }
    ]
    assert (picture["cycles"], picture["port_cycles"]) == (4, 3)
    assert [port["bottleneck"] for port in picture["ports"]] == [True, False]
    assert picture["schemes"] == ["x", "y"]
    assert picture["ports"][1]["blocks"] == [{"scheme": 1, "uop": 1, "bottom": 0, "height": 1}]
    assert picture["uops"][1] == {"mask": "0x3", "ports": [0, 1], "label": "[a,b]"}


def generation(number: int) -> dict[str, float]:
    return {
        "generation": number,
        "best_error": 0.5 / (number + 1),
        "mean_error": 0.9,
        "best_volume": 40,
        "mean_volume": 77.5,
    }


def test_a_fitness_curve_shows_errors_in_per_cent_over_generations() -> None:
    figure = fitness_curve([generation(1), generation(0)])
    best, mean, best_volume, mean_volume = figure["data"]
    assert best["x"] == [0, 1]
    assert best["y"] == [50, 25]
    assert mean["y"] == [90, 90]
    assert (best_volume["y"], mean_volume["y"]) == ([40, 40], [77.5, 77.5])
    assert best_volume["yaxis"] == "y2"


def test_a_lone_generation_is_a_visible_point() -> None:
    assert all(trace["mode"] == "markers" for trace in fitness_curve([generation(0)])["data"])
    assert fitness_curve([])["data"][0]["y"] == []


def test_plotly_refuses_what_it_does_not_know() -> None:
    with pytest.raises(ValueError, match="rangemod"):
        figure_json([], {"xaxis": {"rangemod": "tozero"}})


def test_the_style_sheet_has_the_same_port_colours() -> None:
    css = (settings.BASE_DIR / "static" / "css" / "tokens.css").read_text().lower()
    pairs = re.findall(r"--port-(\d+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", css)
    assert [int(port) for port, _, _ in pairs] == list(range(12))
    assert tuple(light for _, light, _ in pairs) == LIGHT
    assert tuple(dark for _, _, dark in pairs) == DARK


def test_the_colours_of_the_ports_differ() -> None:
    assert len(set(LIGHT)) == len(set(DARK)) == 12


FRAMES = [
    {"generation": 0, "population": 3, "errors": [0.5, 0.9, 2.0], "volumes": [40, 20, 60]},
    {"generation": 9, "population": 3, "errors": [0.0, 0.1, 0.3], "volumes": [10, 12, 9]},
]


def test_a_cloud_shows_the_newest_population_and_the_way_of_the_fittest() -> None:
    way, population, fittest = cloud_figure(FRAMES)["data"]
    assert population["x"] == [10, 12, 9]
    assert population["y"] == pytest.approx([MIN_ERROR, 10.0, 30.0]), "a logarithmic axis has no zero"
    assert (fittest["x"], fittest["y"]) == ([10], [MIN_ERROR])
    assert (way["x"], way["y"]) == ([40, 10], [50.0, MIN_ERROR])
    assert cloud_figure([])["data"][1]["x"] == []


def test_a_front_shows_its_points_in_their_order_with_their_volumes_as_areas() -> None:
    points = [
        FrontPlotPoint(30, 500, 6.5, 7.0),
        FrontPlotPoint(20, 300, 7.5, None),
        FrontPlotPoint(10, 100, 9.0, 9.9),
    ]
    learnt, judged, _ = front_figure(points)["data"]
    assert (learnt["x"], learnt["y"], learnt["customdata"]) == (
        [30, 20, 10],
        [6.5, 7.5, 9.0],
        [500, 300, 100],
    )
    large, middle, small = (size**2 for size in learnt["marker"]["size"])
    assert large - middle == pytest.approx(middle - small, rel=0.02)
    assert (judged["x"], judged["y"]) == ([30, 10], [7.0, 9.9])
    assert len(front_figure([FrontPlotPoint(3, 9, 1.0, None)])["data"]) == 2
    assert front_figure([])["data"][0]["x"] == []


def test_the_line_of_a_front_leads_along_the_best_for_each_number_of_kinds() -> None:
    points = [
        FrontPlotPoint(5, 13, 1.0, None),
        FrontPlotPoint(3, 18, 3.4, None),
        FrontPlotPoint(2, 21, 5.3, None),
    ]
    worse = [FrontPlotPoint(3, 11, 5.8, None), FrontPlotPoint(4, 9, 3.5, None)]
    *_, line = front_figure([*points, *worse])["data"]
    assert (line["x"], line["y"]) == ([2, 3, 5], [5.3, 3.4, 1.0])


def test_errors_by_length_come_with_the_number_of_experiments() -> None:
    figure = length_figure([LengthError(2, 100, 5.0), LengthError(5, 7, 9.5)])
    mape, counts = figure["data"]
    assert (mape["x"], mape["y"]) == ([2, 5], [5.0, 9.5])
    assert (counts["x"], counts["y"]) == ([2, 5], [100, 7])
    assert figure["layout"]["xaxis"]["tickvals"] == [2, 5]
    many = length_figure([LengthError(k, 1, 1.0) for k in range(1, 40)])
    assert "tickvals" not in many["layout"]["xaxis"]


def test_sweeps_are_drawn_in_order_with_errors_in_per_cent_and_a_colour_per_start() -> None:
    told = [
        {
            "start": start,
            "sweep": k,
            "changed": 9 - k,
            "error": (k + start) / 100,
            "volume": 5,
            "kinds": 20 + k,
        }
        for k in (2, 1)
        for start in (1, 0)
    ]
    error, kinds, other, _ = sweep_curve(told)["data"]
    assert (error["x"], error["y"]) == ([1, 2], pytest.approx([1.0, 2.0]))
    assert kinds["y"] == [21, 22]
    assert other["y"] == pytest.approx([2.0, 3.0])
    assert error["meta"] == kinds["meta"] != other["meta"]


def test_a_graph_says_what_no_experiment_can_show() -> None:
    mapping = PortMapping(("0", "1"), {"add": ((3, 1),), "mul": ((1, 1),), "nop": ()}, issue_width=2.0)
    model = tripartite(mapping)
    assert {each["label"]: each["hidden"] for each in model["uops"]} == {"[0]": False, "[0,1]": True}
    assert {each["schemes"][0]: each["hidden"] for each in model["groups"]} == {
        "add": "1 µop on 2 or more ports",
        "mul": "",
        "nop": "1 µop on 2 or more ports, or none",
    }
