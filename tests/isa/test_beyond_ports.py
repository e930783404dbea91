"""What documented port usages do not tell of a scheme's time."""

from __future__ import annotations

import pytest

from inference.isa.x86.scheme_set import scheme_and_form
from inference.isa.x86.textbook_facet import beyond_ports

SKYLAKE = tuple("01234567")
ZEN_3 = ("FP0", "FP1", "FP2", "FP3", "FP4", "FP5")


def reason(text: str, ports: tuple[str, ...]) -> str:
    found = scheme_and_form(text)
    assert found is not None
    return beyond_ports(found[0], ports)


@pytest.mark.parametrize("ports", [SKYLAKE, ZEN_3, ()])
@pytest.mark.parametrize(
    "text", ["vdivpd XMM:W, XMM:R, XMM:R", "vsqrtss XMM:W, XMM:R, XMM:R", "idiv GPR[32]:R"]
)
def test_a_divider_is_busy_for_longer_than_its_port(text: str, ports: tuple[str, ...]):
    assert "divider" in reason(text, ports)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("vpaddb XMM:W, XMM:R, MEM[128]:R", "memory"),
        ("vmovapd MEM[128]:W, XMM:R", "memory"),
        ("vmovd GPR[32]:W, XMM:R", "integer"),
        ("vptest XMM:R, XMM:R", "integer"),
        ("vpcmpistri XMM:R, XMM:R, IMM[8]:R", "integer"),
    ],
)
def test_a_reference_of_the_vector_unit_alone_does_not_tell_of_other_units(text: str, unit: str):
    assert unit in reason(text, ZEN_3)
    assert reason(text, SKYLAKE) == ""


@pytest.mark.parametrize("ports", [SKYLAKE, ZEN_3])
def test_vector_instructions_on_registers_are_told_by_either(ports: tuple[str, ...]):
    assert reason("vpaddb XMM:W, XMM:R, XMM:R", ports) == ""
