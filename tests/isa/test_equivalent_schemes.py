"""Schemes that are known by others, which do their work."""

from __future__ import annotations

import pytest

from inference.isa.x86.equivalent_schemes import EQUIVALENT_SCHEMES
from inference.isa.x86.scheme_set import scheme_and_form


@pytest.mark.parametrize("text", EQUIVALENT_SCHEMES)
def test_both_are_schemes_and_the_others_can_be_measured(text: str) -> None:
    found = scheme_and_form(text)
    assert found is not None
    assert found[0].exclusion  # else it is known by itself
    for other in EQUIVALENT_SCHEMES[text]:
        known = scheme_and_form(other)
        assert known is not None
        assert not known[0].exclusion, known[0].exclusion
