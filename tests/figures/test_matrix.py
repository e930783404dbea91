"""Two mappings as matrices: the same names for the same ports, every difference marked, and nothing else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping, uops_of
from inference.figures.matrix import alone, side_by_side

masks = st.integers(1, 15)
usages = st.dictionaries(
    st.sampled_from("abcde"),
    st.lists(st.tuples(masks, st.integers(1, 2)), max_size=2).map(uops_of),
    min_size=1,
)


def mapping(usage):
    return PortMapping(tuple("0123"), usage)


def drawn(matrix):
    """{scheme: µops} as the cells show them."""
    return {
        row.scheme: uops_of(
            (sum(1 << c.port for c in line.cells if c.used), line.count) for line in row.lines
        )
        for row in matrix.rows
    }


@given(usages)
def test_a_matrix_shows_the_mapping_and_marks_nothing(usage):
    matrix = alone(mapping(usage))
    assert drawn(matrix) == usage
    assert not any(
        row.differs or any(c.differs for line in row.lines for c in line.cells) for row in matrix.rows
    )


@given(usages, st.permutations(range(4)))
def test_mappings_that_differ_by_port_names_alone_look_the_same(usage, order):
    swapped = {
        scheme: uops_of((sum(1 << order[k] for k in range(4) if mask >> k & 1), n) for mask, n in uops)
        for scheme, uops in usage.items()
    }
    first, second = side_by_side(mapping(usage), mapping(swapped))
    assert first == second


def test_the_ports_that_differ_are_marked_on_both_sides_and_the_experiment_in_the_rows():
    first, second = side_by_side(
        mapping({"a": ((3, 1),), "b": ((1, 1),), "c": ((12, 1),)}),
        mapping({"a": ((3, 1),), "b": ((1, 1),), "c": ((14, 1),)}),
        Experiment.of({"a": 2, "c": 1}),
    )
    assert [row.differs for row in first.rows] == [row.differs for row in second.rows] == [False, False, True]
    assert [row.times for row in first.rows] == [2, 0, 1]
    marked = [
        [cell.name for cell in matrix.rows[2].lines[0].cells if cell.differs] for matrix in (first, second)
    ]
    assert marked == [["1"], ["1"]]


def test_a_scheme_that_the_other_does_not_describe_is_told_as_such():
    _, second = side_by_side(mapping({"a": ((1, 1),), "b": ((2, 1),)}), mapping({"a": ((1, 1),)}))
    assert [row.described for row in second.rows] == [True, False]
