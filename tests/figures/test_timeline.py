"""The picture of a timeline and its data."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from defusedxml.ElementTree import fromstring

from inference.figures.timeline import timeline_drawing, timeline_json
from tests.timelines import TEXTS, mixed_loop

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("iterations", [1, 3, 50])
def test_the_drawing_has_every_uop_with_its_port(iterations: int) -> None:
    loop = mixed_loop(iterations)
    root = fromstring(timeline_drawing(loop).file())
    numbers = [text.text for text in root.iter(f"{SVG}text") if "on-port" in text.get("class", "")]
    ports = set(loop.timeline.port.ravel().tolist()) - {-1}
    assert len(numbers) == 5 * iterations + len(ports), "five µops with ports, and the legend"
    texts = [text.text or "" for text in root.iter(f"{SVG}text")]
    assert texts.count(TEXTS[2]) == iterations
    assert texts[-1] == f"{loop.title}: {loop.pace}"
    assert root.findtext(f"{SVG}title") == f"Timeline of {texts[-1]}"
    assert not any("style" in element.attrib for element in root.iter())


def test_a_long_timeline_is_no_wider_than_a_page_can_show() -> None:
    loop = mixed_loop(2)
    timeline = loop.timeline
    late = replace(timeline, retired=timeline.retired + 100_000)
    assert timeline_drawing(replace(loop, timeline=late)).width < 7000


def test_instructions_that_are_too_long_are_cut() -> None:
    loop = replace(mixed_loop(1), instructions=("x" * 500, *TEXTS[1:]))
    assert "x" * 47 + "…" in timeline_drawing(loop).body
    assert "x" * 50 not in timeline_drawing(loop).body


def test_the_data_has_a_number_per_uop_and_iteration() -> None:
    loop = mixed_loop(7)
    document = json.loads(json.dumps(timeline_json(loop)))
    for name in ("dispatched", "issued", "retired", "port", "operand"):
        assert len(document[name]) == 7 * 6, name
    assert document["waits"][0] == [[0, 1, 3, "rax"]]
    assert [uop[0] for uop in document["uops"]] == [0, 1, 1, 2, 3, 4]
    assert all(kind > 0 for _, kind, _ in document["stalls"] + document["delays"])
