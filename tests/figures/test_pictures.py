"""Curves, tripartite graphs, bucket pictures and the palette."""

from __future__ import annotations

import json
import re

import pytest
from django.conf import settings
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

from inference.core.errors import UnknownSchemeError
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.schedule import schedule
from inference.figures.buckets import buckets
from inference.figures.curves import fitness_curve
from inference.figures.palette import DARK, LIGHT
from inference.figures.plotly_json import figure_json
from inference.figures.tripartite import tripartite
from tests.core.strategies import experiments, mappings

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


@effort(max_examples=30, deadline=None)
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


@effort(max_examples=30, deadline=None)
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
    assert picture["limited_by"] == "r_max"
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
