"""What cannot be a mapping, an experiment or a question is refused by a named error.

One row per wrong input and entry point: what is called, and the words in which the message names the culprit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from inference.core.errors import InvalidInputError, UnknownSchemeError, as_written
from inference.core.evaluator import Evaluator, PortMappingModel
from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.core.mapping import PortMapping
from inference.core.pmevo import PMEvoSettings
from inference.core.schedule import load_intervals, schedule
from inference.core.tables import ExperimentTable, Population
from inference.core.throughput import densest_ports, inverse_throughput, port_bound, union_bound, work_of
from tests.core.oracle import lp_inverse_throughput, lp_port_bounds, over_ports

NAN, INFINITY = math.nan, math.inf
NO_COUNTS: tuple[Any, ...] = (0, -1, 1.5, 2.0, True, NAN, INFINITY, "2", None)
NO_SETS: tuple[Any, ...] = (0, -1, 1.5, True, NAN, INFINITY, "1", None)
NO_RATES: tuple[Any, ...] = (0, -4, NAN, INFINITY, -INFINITY, 1e-4, 1e4, True, "4")

MAPPING = PortMapping(("p0", "p1"), {"add": ((0b11, 1),), "mul": ((0b01, 1),)})
DIV = Experiment.of({"add": 1, "div": 2})

LONG = Fraction(99)
Case = tuple[str, Callable[[], object], str]


def ports(number: int) -> tuple[str, ...]:
    return tuple(f"p{k}" for k in range(number))


def usage(mask: Any, count: Any) -> PortMapping:
    return PortMapping(("p0", "p1"), {"add": ((mask, count),)})


MAPPINGS: list[Case] = [
    ("a port that is no text", lambda: PortMapping((1,), {}), "name of a port .* not 1"),  # type: ignore[arg-type]
    ("a port without a name", lambda: PortMapping(("a", ""), {}), "name of a port .* not ''"),
    ("no ports", lambda: PortMapping((), {}), "1 to 63 ports, not 0"),
    ("64 ports", lambda: PortMapping(ports(64), {}), "1 to 63 ports, not 64"),
    ("65 ports", lambda: PortMapping(ports(65), {}), "1 to 63 ports, not 65"),
    ("a port twice", lambda: PortMapping(("a", "b", "a"), {}), "port names must differ: a, b, a"),
    ("a port beyond", lambda: usage(0b100, 1), "'add': port set 0x4 names a port beyond the 2"),
    ("a port set twice", lambda: PortMapping(("a",), {"x": ((1, 1), (1, 2))}), "'x' must be sorted"),
    ("port sets unsorted", lambda: PortMapping(("a", "b"), {"x": ((2, 1), (1, 1))}), "'x' must be sorted"),
    *[(f"the set {mask!r}", lambda mask=mask: usage(mask, 1), f"'add'.*mask {mask!r}") for mask in NO_SETS],
    *[
        (f"µops {count!r}", lambda count=count: usage(1, count), f"'add'.*not {count!r}")
        for count in NO_COUNTS
    ],
    *[
        (
            f"R_max {rate!r}",
            lambda rate=rate: PortMapping(("a",), {}, r_max=rate),
            f"R_max.* not {as_written(rate)}",
        )
        for rate in NO_RATES
    ],
]

EXPERIMENTS: list[Case] = [
    ("no scheme", lambda: Experiment.of([]), "at least one"),
    ("no scheme in a dictionary", lambda: Experiment.of({}), "at least one"),
    ("no term", lambda: Experiment(()), "at least one"),
    ("a scheme that is no text", lambda: Experiment.of([3]), "a text, not 3"),  # type: ignore[list-item]
    ("a scheme twice", lambda: Experiment((("a", 1), ("a", 1))), "without repeats: a; a"),
    ("terms unsorted", lambda: Experiment((("b", 1), ("a", 1))), "must be sorted by scheme.*: b; a"),
    *[
        (
            f"multiplicity {count!r}",
            lambda count=count: Experiment.of({"add": count}),
            f"'add'.*not {count!r}",
        )
        for count in NO_COUNTS
    ],
    *[
        (
            f"a term {count!r} times",
            lambda count=count: Experiment((("add", count),)),
            f"'add'.*not {count!r}",
        )
        for count in NO_COUNTS
    ],
    *[
        (f"{cycles!r} cycles", lambda cycles=cycles: Measured(DIV, cycles), f"add; 2\\*div.*not {cycles!r}")
        for cycles in (0, -1.0, NAN, INFINITY, None, "2", True)
    ],
    *[
        (f"a spread of {x!r}", lambda x=x: Measured(DIV, 1.0, spread=x), f"spread of add; 2\\*div.*not {x!r}")
        for x in (-0.5, NAN, INFINITY, "2")
    ],
    (
        "cycles of a failure",
        lambda: Measured(DIV, 2.0, MeasurementState.FAILED),
        r"add; 2\*div cannot have cycles",
    ),
]

WORK_TAKERS: dict[str, Callable[[Any], object]] = {
    "port_bound": port_bound,
    "over_uops": union_bound,
    "over_ports": lambda work: over_ports(work, 3),
    "load_intervals": lambda work: load_intervals(work, 3, LONG),
    "lp_port_bounds": lambda work: lp_port_bounds([{1: 1}, work]),
}
WORK: list[Case] = [
    case
    for name, take in WORK_TAKERS.items()
    for case in (
        *[
            (f"{name}, the set {mask!r}", lambda take=take, mask=mask: take({mask: 1}), f"mask {mask!r}")
            for mask in (*NO_SETS, 1 << 63, 1 << 64)
        ],
        *[
            (f"{name}, µops {n!r}", lambda take=take, n=n: take({1: n}), f"0x1 must be whole.*not {n!r}")
            for n in NO_COUNTS[1:]  # none of a kind is fine here
        ],
        (f"{name}, 2^53 µops", lambda take=take: take({1: 1 << 52, 2: 1 << 52}), "fewer than 2"),
    )
]
QUESTIONS: list[Case] = [
    ("no work at all", lambda: densest_ports({}), "not none"),
    ("work on no port", lambda: densest_ports({1: 2, 0: 3}), "not 3 on 0"),
    ("no work on a port", lambda: densest_ports({1: 2, 2: 0}), "not 0 on 2"),
    ("work beyond the ports", lambda: over_ports({0b100: 1}, 2), "0x4 names a port beyond the 2"),
    (
        "intervals beyond the ports",
        lambda: load_intervals({0b100: 1}, 2, LONG),
        "0x4 names a port beyond the 2",
    ),
    *[
        (
            f"intervals on {n!r} ports",
            lambda n=n: load_intervals({1: 1}, n, LONG),
            f"1 to 63 ports, not {n!r}",
        )
        for n in (0, -1, 64, 65, 2.0, True)
    ],
    *[
        (f"all sets of {n!r} ports", lambda n=n: over_ports({1: 1}, n), f"1 to 20 ports, not for {n!r}")
        for n in (0, -1, 21, 64)
    ],
    *[
        (f"intervals in {t!r} cycles", lambda t=t: load_intervals({1: 2}, 1, t), f"{t}|not {t!r}")
        for t in (Fraction(0), Fraction(19, 10), Fraction(-1))
    ],
]

CASES = [*MAPPINGS, *EXPERIMENTS, *WORK, *QUESTIONS]

UNKNOWN: dict[str, Callable[[], object]] = {
    "work_of": lambda: work_of(MAPPING, DIV),
    "inverse_throughput": lambda: inverse_throughput(MAPPING, DIV),
    "lp_inverse_throughput": lambda: lp_inverse_throughput(MAPPING, DIV),
    "schedule": lambda: schedule(MAPPING, DIV),
    "describe": lambda: MAPPING.describe("div"),
    "a table": lambda: ExperimentTable.from_experiments([DIV], ["add", "mul"]),
    "a population": lambda: Population.from_mappings([MAPPING], ["add", "div"]),
    "a predictor": lambda: PortMappingModel(MAPPING).cycles(ExperimentTable.from_experiments([DIV])),
    **{
        f"an evaluator, {kind}": lambda compiled=compiled: Evaluator(  # type: ignore[misc]
            ExperimentTable.from_experiments([DIV]), 2, compiled=compiled
        ).mapping_cycles(MAPPING)
        for kind, compiled in (("compiled", True), ("numpy", False))
    },
}


@pytest.mark.parametrize(
    ("call", "message"),
    [pytest.param(call, message, id=name) for name, call, message in CASES],
)
def test_a_wrong_input_is_refused_by_name(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        call()


@pytest.mark.parametrize("call", UNKNOWN.values(), ids=UNKNOWN)
def test_a_scheme_that_is_not_described_is_named(call: Callable[[], object]) -> None:
    with pytest.raises(UnknownSchemeError, match=r"1 scheme.*: div") as refusal:
        call()
    assert refusal.value.schemes == ("div",)
    assert isinstance(refusal.value, ValueError)


def test_a_limit_itself_is_no_wrong_input() -> None:
    widest = PortMapping(ports(63), {"add": (((1 << 63) - 1, 1),)}, r_max=1000)
    assert inverse_throughput(widest, Experiment.of({"add": 63})) == 1
    assert PortMapping(("p",), {}, r_max=0.001).r_max == 0.001
    assert port_bound({1: (1 << 53) - 1}) == (1 << 53) - 1


@pytest.mark.parametrize("name", ["perturbations", "rounds", "sweeps", "starts"])
def test_numbers_below_their_limits_are_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match=name):
        PMEvoSettings(**{name: -1})
