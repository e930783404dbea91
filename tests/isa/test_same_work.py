"""Schemes that are known by others, which do their work."""

from __future__ import annotations

import pytest

from inference.isa.x86.same_work import WORK_OF_OTHERS
from inference.isa.x86.scheme_set import described


@pytest.mark.parametrize("text", WORK_OF_OTHERS)
def test_both_are_schemes_and_the_others_can_be_measured(text: str) -> None:
    found = described(text)
    assert found is not None
    assert found[0].exclusion  # else it is known by itself
    for other in WORK_OF_OTHERS[text]:
        known = described(other)
        assert known is not None
        assert not known[0].exclusion, known[0].exclusion
