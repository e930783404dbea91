"""The picture of a core."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from inference.core.core_model import CoreModel, FrontEndLimits, core_overview
from inference.core.mapping import PortMapping
from inference.figures.core_diagram import core_drawing, latency_span

SVG = "{http://www.w3.org/2000/svg}"


def overview(ports: int):
    usage = {f"s{port}": ((1 << port, 1),) for port in range(ports)} | {"all": (((1 << ports) - 1, 1),)}
    mapping = PortMapping(tuple(map(str, range(ports))), usage, issue_width=6.0)
    kinds = {scheme: f"kind <{scheme}>" for scheme in usage}
    latencies = {scheme: {("1", "1"): 3.0} for scheme in usage}
    front_end = FrontEndLimits(slots=6.0, straight_bytes=16.0, loop_capacity=4096.0)
    model = CoreModel(mapping, latencies, front_end=front_end)
    return core_overview(model, kinds, tuple(kinds.values()), ())


@pytest.mark.parametrize("ports", [1, 3, 10, 13, 63])
@pytest.mark.parametrize("narrow", [False, True])
def test_every_port_has_a_box_inside_the_picture(ports: int, narrow: bool) -> None:
    drawing = core_drawing(overview(ports), {"0": "A<L>U"}, narrow=narrow)
    root = ElementTree.fromstring(drawing.file())
    heads = [shape for shape in root.iter(f"{SVG}rect") if "port-fill" in shape.get("class", "")]
    assert len(heads) == ports
    for shape in root.iter(f"{SVG}rect"):
        assert (
            0 <= float(shape.get("x")) <= float(shape.get("x")) + float(shape.get("width")) <= drawing.width
        )
        assert (
            0 <= float(shape.get("y")) <= float(shape.get("y")) + float(shape.get("height")) <= drawing.height
        )
    texts = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    assert any(text.startswith("A<L>U") for text in texts)
    assert any("16 bytes per cycle" in text for text in texts)
    assert any("4,096" in text for text in texts)
    if narrow:
        assert drawing.width <= 356


def test_the_words_name_the_ports_and_what_they_run() -> None:
    assert (
        "port ALU0: kind <s0>, kind <all>; port 1: kind <s1>"
        in core_drawing(overview(2), {"0": "ALU0"}).label
    )


@pytest.mark.parametrize(
    ("latencies", "text"), [((1.0, 1.0), "1"), ((2.96, 5.4), "3–5.5"), ((0.0, 1.0), "0–1")]
)
def test_latencies_are_rounded_to_half_cycles(latencies: tuple[float, float], text: str) -> None:
    assert latency_span(latencies) == text


def test_a_front_end_alone_can_be_drawn() -> None:
    core = core_overview(CoreModel(front_end=FrontEndLimits(taken=1.0)), {}, (), ())
    assert "1 taken branch per cycle" in core_drawing(core, {}).file()
