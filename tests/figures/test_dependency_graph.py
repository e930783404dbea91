"""The dependency graph of a block as a drawing."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.figures.dependency_graph import FOLDED_FROM, dependency_drawing, edge_text, usual_places
from tests.loop_analyses import dependence, known_loop, random_loop, unknown_loop, unmapped_loop

SVG = "{http://www.w3.org/2000/svg}"


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)


def edges_of(root: ElementTree.Element) -> dict[str, str]:
    """{key: classes} of the edges in a drawing."""
    return {
        shape.get("data-edge", ""): shape.get("class", "") for shape in root.iter() if shape.get("data-edge")
    }


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 100), st.integers(0, 2**32))
def test_every_dependence_is_an_edge_inside_the_picture(length: int, seed: int) -> None:
    analysis = random_loop(length, seed)
    drawing = dependency_drawing(analysis, address_of=lambda edge: f"?without={edge.key}&a=b")
    root = parsed(drawing.file())
    assert edges_of(root).keys() == {edge.key for edge in analysis.dependences}
    assert len([node for node in root.iter() if node.get("data-node")]) == length
    for shape in root.iter(f"{SVG}rect"):
        assert (
            0 <= float(shape.get("x")) <= float(shape.get("x")) + float(shape.get("width")) <= drawing.width
        )
        assert float(shape.get("y")) + float(shape.get("height")) <= drawing.height
    for shape in root.iter(f"{SVG}path"):
        if shape.get("class") == "edge":
            lane = float(shape.get("d").partition("H")[2].partition("V")[0])
            assert 0 < lane < drawing.width


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 60), st.integers(0, 2**32))
def test_lines_of_different_values_never_lie_on_each_other(length: int, seed: int) -> None:
    root = parsed(dependency_drawing(random_loop(length, seed)).file())
    lines: dict[str, list[tuple[float, float, str]]] = {}
    for group in root.iter(f"{SVG}g"):
        if not group.get("data-edge"):
            continue
        value = group.get("data-from")
        path = next(shape for shape in group if shape.get("class") == "edge").get("d")
        begin, _, behind = path.partition("H")
        lane, _, behind = behind.partition("V")
        ends = sorted((float(begin.split()[1]), float(behind.partition("H")[0])))
        for low, high, other in lines.setdefault(lane, []):
            assert other == value or ends[1] < low or ends[0] > high
        lines[lane].append((*ends, value))


def test_carried_critical_and_removed_edges_differ_by_more_than_colour() -> None:
    analysis = known_loop()
    within, carried, *_ = analysis.dependences
    text = dependency_drawing(analysis, removed=[within], address_of=lambda edge: f"#{edge.key}").file()
    root = parsed(text)
    assert "removed" in edges_of(root)[within.key]
    assert "critical" not in edges_of(root)[within.key]
    assert "critical carried" in edges_of(root)[carried.key]
    links = {link.get("data-edge"): link for link in root.iter(f"{SVG}a")}
    assert links[within.key].get("aria-label") == "rax 1 from instruction 1 to 2: restore it"
    assert links[carried.key].get("href") == f"#{carried.key}"
    widths = {key: link.find(f"{SVG}path").get("stroke-width") for key, link in links.items()}
    assert widths[carried.key] > widths["0-1-CF"]
    assert links[carried.key].find(f"{SVG}path").get("stroke-dasharray")
    assert any("struck" in shape.get("class", "") for shape in links[within.key])


def test_an_edge_says_what_is_unknown_and_how_much_later() -> None:
    assert edge_text(dependence(0, 0, "rax", cycles=None)) == "rax ?"
    assert edge_text(dependence(0, 0, "rax", cycles=0.0, iterations=2)) == "rax 0 ↻2"
    assert "unknown latency" in dependency_drawing(unknown_loop()).file()


@pytest.mark.parametrize("length", [1, FOLDED_FROM - 1, FOLDED_FROM, 100])
def test_long_blocks_are_folded_and_say_how_much_is_missing(length: int) -> None:
    analysis = random_loop(length, 7)
    places = usual_places(analysis)
    assert (len(places) == length) == (length < FOLDED_FROM)
    root = parsed(dependency_drawing(analysis, places=places).file())
    texts = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    hidden = sum(int(text.split()[1]) for text in texts if text.startswith("⋮"))
    assert hidden + len(places) == length


def test_a_block_without_dependences_is_a_column_of_instructions() -> None:
    drawing = dependency_drawing(unmapped_loop())
    assert edges_of(parsed(drawing.inline("group"))) == {}
    assert drawing.label == "Dependency graph of 1 instruction with 0 dependences"
