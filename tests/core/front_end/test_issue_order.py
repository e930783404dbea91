"""Whether a core issues in order, read from code in two orders."""

from __future__ import annotations

import pytest

from inference.core.front_end import Reading, read_front_end
from inference.isa.bodies import front_end_maker
from inference.isa.front_end import Aspect, FrontEndCode, order_codes
from inference.isa.targets import targets

MAKERS = {target.name: front_end_maker(target.name) for target in targets() if target.front_end is not None}


def readings(**cycles: tuple[float, float]) -> list[Reading]:
    """{kind of results: cycles with early and with late uses} as timed codes."""
    return [
        (code, cycles_of)
        for name, pair in cycles.items()
        for code, cycles_of in zip(order_codes(name, [b"\x90"], [b"\x90"]), pair, strict=True)
    ]


@pytest.mark.parametrize(
    ("cycles", "ratio", "in_order"),
    [
        ({"load": (12.0, 5.0), "multiplication": (4.0, 4.0)}, 2.4, True),
        ({"load": (4.0, 4.0), "multiplication": (4.1, 4.0)}, 1.025, False),
        ({"load": (5.0, 4.0)}, 1.25, None),
        ({}, None, None),
    ],
)
def test_the_clearest_kind_of_results_decides(
    cycles: dict[str, tuple[float, float]], ratio: float | None, in_order: bool | None
) -> None:
    front_end = read_front_end(readings(**cycles))
    assert front_end.number("early_use").value == (None if ratio is None else pytest.approx(ratio))
    assert (front_end.issue and front_end.issue.in_order) == in_order


def test_a_code_without_its_counterpart_says_nothing() -> None:
    (early, _) = readings(load=(12.0, 4.0))
    assert read_front_end([early]).issue is None


@pytest.mark.parametrize("isa", MAKERS)
def test_both_orders_have_the_same_instructions(isa: str) -> None:
    maker = MAKERS[isa]
    codes: dict[str, list[FrontEndCode]] = {}
    for code in maker.front_end_codes(offsets=False):
        if code.aspect is Aspect.ORDER:
            codes.setdefault(code.name, []).append(code)
    assert {"load", "multiplication"} <= codes.keys()
    for early, late in codes.values():
        fetched = [sorted(map(str, maker.fetched_instructions(code.code.code))) for code in (early, late)]
        assert fetched[0] == fetched[1]
        assert early.code.code != late.code.code
        assert early.code.instructions == late.code.instructions == len(fetched[0])
