"""Predictors of fakes, which lie in the directory of their test."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def everything_allowed(trusting_operator: None) -> None:
    """By whoever operates the site."""
