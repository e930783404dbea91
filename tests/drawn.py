"""How many examples property tests draw: all where people look on, a third in continuous integration.

There they are the same every time, so that more of them would find nothing new after the first run.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

USUAL = 100
"""Of tests that say no number."""


def fewer(number: int) -> int:
    """How many of so many examples are drawn here."""
    return max(number // 3, 1) if os.environ.get("CI") else number


def examples(number: int, *, suppress: tuple[HealthCheck, ...] = ()) -> settings:
    """The settings of a test that draws so many; `suppress`: health checks that it fails on purpose."""
    return settings(max_examples=fewer(number), suppress_health_check=[HealthCheck.too_slow, *suppress])
