"""What cannot be a table, a population or a score is refused by a named error.

One row per wrong input and entry point: what is called, and the words in which the message names the culprit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from inference.core.errors import InvalidInputError, as_written
from inference.core.evaluator import Evaluator
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.metrics import convert, score
from inference.core.sampling import split
from inference.core.tables import ExperimentTable, Population

NAN, INFINITY = math.nan, math.inf
NO_RATES: tuple[Any, ...] = (0, -4, NAN, INFINITY, -INFINITY, 1e-4, 1e4, True, "4")

MAPPING = PortMapping(("p0", "p1"), {"add": ((0b11, 1),), "mul": ((0b01, 1),)})
TABLE = ExperimentTable.from_experiments([Experiment.of(["add"]), Experiment.of({"add": 1, "mul": 2})])
POPULATION = Population.from_mappings([MAPPING], TABLE.schemes)
EVALUATORS = {
    kind: Evaluator(TABLE, 2, compiled=compiled) for kind, compiled in (("compiled", True), ("numpy", False))
}

Case = tuple[str, Callable[[], object], str]


def int64s(*values: int) -> Any:
    return np.array(values, dtype=np.int64)


def table(scheme: Any, count: Any, lengths: Any = (1,), offsets: Any = (0, 1)) -> ExperimentTable:
    return ExperimentTable(
        ("add", "mul"), int64s(*offsets), np.array(scheme), np.array(count), int64s(*lengths)
    )


def population(masks: Any, counts: Any, offsets: Any = (0, 1), n_ports: Any = 2) -> Population:
    return Population(int64s(*offsets), int64s(*masks), np.array(counts, np.int32), 1, 1, n_ports)


def population_of(masks: Any, counts: Any) -> Population:
    return Population(int64s(0, 1), masks, counts, 1, 1, 2)


TABLES: list[Case] = [
    (
        "the same scheme twice in a table",
        lambda: ExperimentTable.from_experiments([], ["add", "add"]),
        "must differ",
    ),
    (
        "a multiplicity beyond 32 bits",
        lambda: ExperimentTable.from_experiments([Experiment.of({"add": 1 << 31})]),
        "at most 2147483647",
    ),
    ("a population of nobody", lambda: Population.from_mappings([], ["add"]), "number of ports"),
    (
        "a population of different widths",
        lambda: Population.from_mappings(
            [MAPPING, PortMapping(("a",), {**MAPPING.usage, "add": ((1, 1),)})], []
        ),
        r"same number of ports, not \[1, 2\]",
    ),
    (
        "rows that do not divide",
        lambda: Population.from_rows([(), (), ()], 2, 1),
        "3 rows do not divide into 2",
    ),
    ("rows of no mapping", lambda: Population.from_rows([()], 0, 1), "into 0 mappings"),
    (
        "a µop count beyond 32 bits",
        lambda: Population.from_rows([((1, 1 << 31),)], 1, 1),
        "at most 2147483647",
    ),
    ("an empty set in a population", lambda: population([0], [1]), "port set is empty"),
    ("a port beyond in a population", lambda: population([4], [1]), "beyond the 2"),
    ("no µop in a population", lambda: population([1], [0]), "at least 1"),
    ("less than no µop in a population", lambda: population([1], [-3]), "at least 1"),
    ("falling offsets", lambda: population([1], [1], offsets=(1, 0)), "offsets of a population must rise"),
    ("too few offsets", lambda: population([1], [1], offsets=(0,)), "needs 2 offsets"),
    ("more masks than counts", lambda: population([1, 2], [1], offsets=(0, 2)), "as many masks as counts"),
    *[
        (f"a population on {n} ports", lambda n=n: population([1], [1], n_ports=n), f"not {n}")
        for n in (0, -1, 64, 65, 2.5, True)
    ],
    *[
        (f"the row {uops!r}", lambda uops=uops: Population.from_rows([(uops,)], 1, 2), message)
        for uops, message in (
            ((0, 1), "port set is empty"),
            ((1.5, 1), "a port set must be a whole number.*not 1.5"),
            ((True, 1), "a port set must be a whole number.*not True"),
            ((1 << 63, 1), "a port set must be a whole number.*not 9223372036854775808"),
            ((1 << 64, 1), "a port set must be a whole number.*not 18446744073709551616"),
            ((1, 1.5), "a µop count must be a whole number.*not 1.5"),
            ((1, NAN), "a µop count must be a whole number.*not nan"),
            ((1, -1), "at least 1"),
        )
    ],
    (
        "sets that are not whole",
        lambda: population_of(np.array([1.0]), int64s(1)),
        "port sets .* not float64",
    ),
    ("counts that are not whole", lambda: population_of(int64s(1), np.array([1.0])), "counts .* not float64"),
    ("a scheme beyond the table's", lambda: table([3], [1]), "from 0 to 1, not 3 to 3"),
    ("a scheme before the table's", lambda: table([-1], [1]), "from 0 to 1, not -1 to -1"),
    ("schemes that are not whole", lambda: table([0.0], [1]), "scheme numbers .* not float64"),
    (
        "a multiplicity of 0 in a table",
        lambda: table([0], [0], (0,)),
        "multiplicity must be at least 1, not 0",
    ),
    ("a scheme twice in an experiment", lambda: table([0, 0], [1, 1], (2,), (0, 2)), "must rise within"),
    ("falling schemes", lambda: table([1, 0], [1, 1], (2,), (0, 2)), "must rise within"),
    ("a multiplicity beyond 32 bits", lambda: table([0], [1 << 31], (1 << 31,)), "at most 2147483647, not"),
    ("a count beyond 32 bits", lambda: population_of(int64s(1), int64s(1 << 62)), "at most 2147483647, not"),
    ("multiplicities that are not whole", lambda: table([0], [1.0]), "multiplicities .* not float64"),
    ("wrong lengths", lambda: table([0], [2]), "the sums of its multiplicities"),
    ("more schemes than multiplicities", lambda: table([0, 1], [1], offsets=(0, 2)), r"not \(1,\)"),
    ("offsets beyond a table", lambda: table([0], [1], offsets=(0, 7)), "rise from 0 to its 1 entries"),
    ("too few offsets of a table", lambda: table([0], [1], offsets=(0,)), "needs 2 offsets"),
]

EVALUATIONS: list[Case] = [
    *[
        (f"an evaluator for {n!r} ports", lambda n=n: Evaluator(TABLE, n), f"not {n!r}")
        for n in (0, -1, 64, 65, 2.5, True, "2")
    ],
    *[
        (
            f"an evaluator with R_max {rate!r}",
            lambda rate=rate: Evaluator(TABLE, 2, rate),
            f"not {as_written(rate)}",
        )
        for rate in (*NO_RATES, 1e-300)
    ],
    *[
        (f"the row of mapping {m!r}, scheme {s!r}", lambda m=m, s=s: POPULATION.row(m, s), message)
        for m, s, message in (
            (1, 0, "number of a mapping .* 0 to 0, not 1"),
            (-1, 0, "number of a mapping .* not -1"),
            (0, 7, "number of a scheme .* 0 to 1, not 7"),
            (0, -1, "number of a scheme .* not -1"),
            (0, True, "number of a scheme .* not true"),
            (0, 0.0, "number of a scheme .* not 0.0"),
        )
    ],
    *[
        case
        for kind, evaluator in EVALUATORS.items()
        for case in (
            (
                f"{kind}, a population of another width",
                lambda e=evaluator: e.cycles(Population.from_rows([(), ()], 1, 3)),
                "2 ports, the population has 2 schemes and 3 ports",
            ),
            (
                f"{kind}, a population of other schemes",
                lambda e=evaluator: e.cycles(Population.from_rows([()], 1, 2)),
                "for 2 schemes and 2 ports, the population has 1 schemes",
            ),
            *[
                (
                    f"{kind}, {n!r} threads",
                    lambda e=evaluator, n=n: e.cycles(POPULATION, n),
                    f"threads.* not {as_written(n)}",
                )
                for n in (0, -1, 1.5, True, "2", None)
            ],
            (
                f"{kind}, too few measurements",
                lambda e=evaluator: e.mean_relative_error(POPULATION, np.ones(1)),
                r"2 experiments need as many measurements, not \(1,\)",
            ),
            *[
                (
                    f"{kind}, measured {cycles}",
                    lambda e=evaluator, cycles=cycles: e.mean_relative_error(
                        POPULATION, np.array([1, cycles])
                    ),
                    f"experiment 1 has {cycles:.1f}",
                )
                for cycles in (0, -1, NAN, INFINITY)
            ],
        )
    ],
]

METRICS: list[Case] = [
    ("an unknown unit", lambda: convert([1], [1], "hours"), "'hours'; known: cycles, cpi, ipc"),
    *[
        (f"{x} instructions", lambda x=x: convert([1, 1], [1, x], "cpi"), f"length of experiment 1: {x:.1f}")
        for x in (0, -1, 1.5, NAN, INFINITY)
    ],
    *[
        (
            f"{x} cycles to convert",
            lambda x=x: convert([1, x], [1, 1], "cycles"),
            f"cycles of experiment 1: {x:.1f}",
        )
        for x in (-1, NAN, -INFINITY)
    ],
    ("cycles in words", lambda: convert(["a"], [1], "cpi"), "cycles must be numbers: .*'a'"),
    ("lengths in words", lambda: convert([1], ["a"], "cpi"), "lengths must be numbers: .*'a'"),
    ("cycles that are lists", lambda: convert([[1], [1, 2]], [1], "cpi"), "cycles must be numbers"),  # type: ignore[list-item]
    ("measured in words", lambda: score(["a"], [1]), "measurements must be numbers: .*'a'"),
    ("predicted in words", lambda: score([1], ["a"]), "predictions must be numbers: .*'a'"),
    ("fewer lengths than cycles", lambda: convert([1, 2], [1], "cpi"), r"\(2,\) need .* not \(1,\)"),
    ("fewer predictions", lambda: score([1, 2], [1]), r"\(2,\) and \(1,\)"),
    *[
        (f"measured {x} to be scored", lambda x=x: score([1, x], [1, 1]), f"measurement 1: {x:.1f}")
        for x in (0, -1, NAN, INFINITY)
    ],
    *[
        (f"predicted {x} to be scored", lambda x=x: score([1, 1], [1, x]), f"prediction 1: {x:.1f}")
        for x in (-1, NAN, -INFINITY)
    ],
    *[
        (f"a split of {n!r}", lambda n=n: split(n, 0.5, 0), f"not {as_written(n)}")
        for n in (-1, 2.5, NAN, True, "3")
    ],
    *[
        (f"a share of {x!r}", lambda x=x: split(3, x, 0), f"not {x!r}")
        for x in (-0.1, 1, 1.5, NAN, INFINITY, "0.5", False, None)
    ],
]


@pytest.mark.parametrize(
    ("call", "message"),
    [pytest.param(call, message, id=name) for name, call, message in [*TABLES, *EVALUATIONS, *METRICS]],
)
def test_a_wrong_input_is_refused_by_name(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        call()
