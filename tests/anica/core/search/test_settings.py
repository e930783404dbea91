"""What the settings of a search mean together."""

from __future__ import annotations

import pytest

from anica_app.core.search.settings import SearchSettings
from inference.core.errors import InvalidInputError


@pytest.mark.parametrize(
    ("settings", "looks", "confirms"),
    [
        ({"samples": 50, "first_look": 10}, [10, 40], None),
        ({"samples": 50, "first_look": 50}, [50], None),
        ({"share_evidence": True, "confirming": 1}, None, True),
        ({"share_evidence": True, "confirming": 0}, None, False),
        ({"share_evidence": False, "confirming": 5}, None, False),
    ],
)
def test_samples_are_looked_at_in_turn_and_confirmed_where_evidence_is_shared(
    settings: dict[str, object], looks: list[int] | None, confirms: bool | None
):
    found = SearchSettings.parse(settings)
    if looks is not None:
        assert found.batch_sizes() == looks
    if confirms is not None:
        assert found.confirms is confirms


def test_of_so_many_samples_a_share_is_forgiven():
    assert [SearchSettings(exceptions=0.05).allowed_exceptions(n) for n in (10, 19, 20, 100)] == [0, 0, 1, 5]
    assert SearchSettings(exceptions=0.29).allowed_exceptions(100) == 29
    assert SearchSettings().allowed_exceptions(1000) == 0
    with pytest.raises(InvalidInputError, match="exceptions"):
        SearchSettings(exceptions=0.6)
