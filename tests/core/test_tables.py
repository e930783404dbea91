"""Experiments and mappings survive the way into arrays and back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.errors import InvalidInputError, UnknownSchemeError
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.tables import ExperimentTable, Population
from tests.core.strategies import SCHEMES, experiments, mappings
from tests.drawn import examples


@examples(25)
@given(st.lists(experiments(6), max_size=8))
def test_a_table_holds_its_experiments(mixes: list[Experiment]) -> None:
    table = ExperimentTable.from_experiments(mixes, SCHEMES)
    assert len(table) == len(mixes)
    for k, mix in enumerate(mixes):
        span = slice(table.offsets[k], table.offsets[k + 1])
        terms = zip(table.scheme[span].tolist(), table.count[span].tolist(), strict=True)
        assert Experiment.of({SCHEMES[scheme]: count for scheme, count in terms}) == mix
        assert table.lengths[k] == mix.length
    for number, scheme in enumerate(SCHEMES):
        expected = [k for k, mix in enumerate(mixes) if scheme in mix.schemes]
        assert table.containing(number).tolist() == expected
    assert table.occurring.tolist() == [
        k for k, scheme in enumerate(SCHEMES) if any(scheme in mix.schemes for mix in mixes)
    ]


def test_schemes_are_numbered_in_order_of_their_texts_unless_told_otherwise() -> None:
    mixes = [Experiment.of(["b", "c"]), Experiment.of(["a"])]
    assert ExperimentTable.from_experiments(mixes).schemes == ("a", "b", "c")
    assert ExperimentTable.from_experiments(mixes, ["c", "b", "a"]).scheme.tolist() == [0, 1, 2]


def test_a_table_refuses_what_it_cannot_number() -> None:
    with pytest.raises(UnknownSchemeError, match="b"):
        ExperimentTable.from_experiments([Experiment.of(["a", "b"])], ["a"])
    with pytest.raises(InvalidInputError, match="must differ"):
        ExperimentTable.from_experiments([], ["a", "a"])
    with pytest.raises(InvalidInputError, match="multiplicity"):
        ExperimentTable.from_experiments([Experiment.of({"a": 1 << 31})])


@examples(25)
@given(st.lists(mappings(st.just(5)), min_size=1, max_size=4))
def test_a_population_holds_its_mappings(members: list[PortMapping]) -> None:
    population = Population.from_mappings(members, SCHEMES)
    for k, mapping in enumerate(members):
        without_slots = replace(mapping, issue_width=None, slots={})
        assert population.mapping(k, SCHEMES, mapping.ports, mapping.r_max) == without_slots
    assert population.volumes().tolist() == [mapping.volume for mapping in members]


def test_repeated_port_sets_of_a_row_add_up() -> None:
    population = Population(
        offsets=np.array([0, 3]),
        masks=np.array([2, 1, 2]),
        counts=np.array([1, 1, 4], dtype=np.int32),
        n_mappings=1,
        n_schemes=1,
        n_ports=2,
    )
    assert population.row(0, 0) == ((1, 1), (2, 5))


def population_of(**changes: object) -> Population:
    fields = {
        "offsets": np.array([0, 1, 2]),
        "masks": np.array([1, 2]),
        "counts": np.array([1, 1], dtype=np.int32),
        "n_mappings": 1,
        "n_schemes": 2,
        "n_ports": 2,
    }
    return Population(**{**fields, **changes})


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"n_ports": 64}, "1 to 63 ports"),
        ({"n_schemes": 3}, "4 offsets"),
        ({"counts": np.array([1], dtype=np.int32)}, "as many masks"),
        ({"offsets": np.array([0, 2, 1])}, "must rise"),
        ({"offsets": np.array([1, 1, 2])}, "must rise"),
        ({"masks": np.array([0, 2])}, "empty"),
        ({"masks": np.array([1, 4])}, "beyond the 2"),
        ({"counts": np.array([1, 0], dtype=np.int32)}, "at least 1"),
    ],
)
def test_arrays_that_are_no_population_are_refused(changes: dict[str, object], complaint: str) -> None:
    population_of()
    with pytest.raises(InvalidInputError, match=complaint):
        population_of(**changes)


def test_mappings_of_a_population_fit_together() -> None:
    one, two = PortMapping(("x",), {"a": ()}), PortMapping(("x", "y"), {"a": ()})
    with pytest.raises(InvalidInputError, match=r"same number of ports, not \[1, 2\]"):
        Population.from_mappings([one, two], ["a"])
    with pytest.raises(InvalidInputError, match=r"not \[\]"):
        Population.from_mappings([], ["a"])
    with pytest.raises(UnknownSchemeError, match="b"):
        Population.from_mappings([one], ["a", "b"])
    with pytest.raises(InvalidInputError, match="3 rows"):
        Population.from_rows([(), (), ()], 2, 1)
    with pytest.raises(InvalidInputError, match=r"a µop count must be .*at most"):
        Population.from_rows([((1, 1 << 31),)], 1, 1)
