"""The published Skylake mappings score what was published for them (thesis Table 5.3, on the smaller set)."""

from __future__ import annotations

import pytest

from inference.core.evaluator import Evaluator
from inference.core.metrics import score
from inference.core.tables import ExperimentTable
from inference.core.throughput import inverse_throughput
from tests.core.published import EVALUATION, published_experiments, published_mapping

pytestmark = pytest.mark.shared


@pytest.mark.parametrize(
    ("name", "mape", "pearson", "kendall"),
    [("mapping_uops_info.json", 9.55, 0.913, 0.793), ("mapping_pmevo.json", 14.67, 0.978, 0.757)],
)
def test_a_published_mapping_scores_its_published_numbers(
    name: str, mape: float, pearson: float, kendall: float
) -> None:
    mapping = published_mapping(name)
    published = published_experiments(EVALUATION)
    table = ExperimentTable.from_experiments(published.mixes)
    predicted = Evaluator(table, len(mapping.ports)).mapping_cycles(mapping)
    some = published.mixes[::50]
    assert predicted[::50].tolist() == [inverse_throughput(mapping, mix) for mix in some]
    scores = score(published.cycles, predicted)
    assert scores.n == 2000
    assert scores.mape is not None
    assert round(scores.mape, 2) == mape
    assert scores.pearson == pytest.approx(pearson, abs=5e-4)
    assert scores.kendall == pytest.approx(kendall, abs=5e-4)
