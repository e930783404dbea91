"""Which predictor a list of comparisons calls the most accurate."""

from __future__ import annotations

from inference.features.judging.engine.pages import _most_accurate
from inference.models import Run


def test_a_small_error_on_few_blocks_does_not_win() -> None:
    """A model of a few schemes describes the blocks that are easy to predict."""
    scores = [
        {"name": "again", "n": 400, "mape": 1.0},
        {"name": "narrow", "n": 39, "mape": 11.0},
        {"name": "broad", "n": 328, "mape": 13.0},
        {"name": "silent", "n": 0, "mape": None},
    ]
    run = Run(result={"scores": scores, "check": {"again": {"name": "again"}}})
    best = _most_accurate(run)
    assert best is not None
    assert best["name"] == "broad"
    run.result["scores"] = scores[1:2]
    assert _most_accurate(run) == scores[1]
    run.result["scores"] = []
    assert _most_accurate(run) is None
