"""Resource mappings: what they refuse, and what they predict."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.errors import InvalidInputError, UnknownSchemeError
from inference.core.evaluator import ThroughputModel
from inference.core.experiment import Experiment
from inference.core.resources import MAX_RESOURCES, ResourceMapping
from inference.core.tables import ExperimentTable
from tests.core.strategies import SCHEMES, experiments
from tests.drawn import examples

FIG_7_1 = ResourceMapping(
    resources=("R1", "R12", "R3"),
    loads={
        "mul": ((0, 2.0), (1, 1.0)),
        "add": ((1, 0.5),),
        "sub": ((1, 0.5),),
        "store": ((1, 0.5), (2, 1.0)),
    },
)


@st.composite
def resource_mappings(draw: st.DrawFn) -> ResourceMapping:
    n = draw(st.integers(0, 5))
    row = st.dictionaries(st.integers(0, n - 1), st.floats(1e-3, 1e3)) if n else st.just({})
    loads = {scheme: tuple(sorted(draw(row).items())) for scheme in SCHEMES}
    return ResourceMapping(tuple(f"R{k}" for k in range(n)), loads)


def test_the_example_of_the_thesis_takes_two_and_a_half_cycles() -> None:
    experiment = Experiment.of({"mul": 1, "add": 2, "store": 1})
    assert FIG_7_1.pressure(experiment) == (2.0, 2.5, 1.0)
    assert FIG_7_1.inverse_throughput(experiment) == 2.5
    assert FIG_7_1.cycles(ExperimentTable.from_experiments([experiment])).tolist() == [2.5]


def test_schemes_with_equal_rows_are_one_class() -> None:
    assert FIG_7_1.classes == 3


def test_a_description_names_each_resource_with_its_cycles() -> None:
    assert FIG_7_1.describe("mul") == "R1: 2, R12: 1"
    assert ResourceMapping((), {"nop": ()}).describe("nop") == "no resources"


@examples(40)
@given(resource_mappings(), st.lists(experiments(), max_size=8))
def test_many_experiments_at_once_are_predicted_like_each_alone(
    mapping: ResourceMapping, several: list[Experiment]
) -> None:
    predictor: ThroughputModel = mapping
    alone = [mapping.inverse_throughput(experiment) for experiment in several]
    together = predictor.cycles(ExperimentTable.from_experiments(several, SCHEMES))
    assert together.dtype == np.float64
    np.testing.assert_allclose(together, alone, rtol=1e-12)


def test_more_experiments_and_resources_than_fit_into_a_block_are_all_predicted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("inference.core.resources._BLOCK", 8)
    monkeypatch.setattr("inference.core.resources._COLUMNS", 3)
    mapping = ResourceMapping(tuple("abcdefg"), {str(k): ((k, k + 1.0),) for k in range(7)})
    several = [Experiment.of({str(k): 2, str(0): 1}) if k else Experiment.of({"0": 3}) for k in range(7)]
    predicted = mapping.cycles(ExperimentTable.from_experiments(several))
    assert predicted.tolist() == [3, 4, 6, 8, 10, 12, 14]


def test_a_scheme_that_is_not_described_is_named() -> None:
    experiment = Experiment.of({"div": 1, "mul": 1})
    with pytest.raises(UnknownSchemeError, match="div"):
        FIG_7_1.inverse_throughput(experiment)
    with pytest.raises(UnknownSchemeError, match="div"):
        FIG_7_1.cycles(ExperimentTable.from_experiments([experiment]))


@pytest.mark.parametrize(
    ("resources", "loads", "message"),
    [
        (("R", "R"), {}, "resource names must differ"),
        (("",), {}, "must not be empty"),
        (tuple(map(str, range(MAX_RESOURCES + 1))), {}, f"at most {MAX_RESOURCES} resources"),
        (("R",), {"a": ((1, 1.0),)}, "'a': a load names resource 1, but there are 1"),
        (("R",), {"a": ((-1, 1.0),)}, "names resource -1"),
        (("R",), {"a": ((True, 1.0),)}, "names resource True"),
        (("R",), {"a": ((0, 1.0), (0, 2.0))}, "loads of 'a' must be sorted"),
        (("R", "S"), {"a": ((1, 1.0), (0, 2.0))}, "loads of 'a' must be sorted"),
        (("R",), {"a": ((0, 0.0),)}, "must be 1e-09 to 1e\\+09 cycles, not 0.0"),
        (("R",), {"a": ((0, -1.0),)}, "not -1.0"),
        (("R",), {"a": ((0, float("nan")),)}, "not nan"),
        (("R",), {"a": ((0, float("inf")),)}, "not inf"),
    ],
)
def test_what_no_resource_mapping_can_have_is_refused(
    resources: tuple[str, ...], loads: dict[str, tuple[tuple[int, float], ...]], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        ResourceMapping(resources, loads)
