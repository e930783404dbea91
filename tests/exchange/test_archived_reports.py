"""What a mapping's report may hold when it comes from another site: pages look into it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from inference.exchange.run_archive.reports import ReportTold


@pytest.mark.parametrize(
    "damage", [{"assumptions": 5}, {"assumptions": [1]}, {"excess": "many"}, {"excess": -1}]
)
def test_what_a_page_could_not_show_is_refused(damage: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ReportTold.model_validate(damage)


def test_what_a_search_goes_by_is_taken_over() -> None:
    told = ReportTold.model_validate({"assumptions": ["fewer µops"], "excess": 3})
    assert (told.assumptions, told.excess) == (["fewer µops"], 3)
