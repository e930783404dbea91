"""Frequency of garbage collection."""

from __future__ import annotations

import gc

_NEW_OBJECTS = 50_000


def collect_rarely() -> None:
    """Collect less often than the default, which suits programs of few objects.

    With the default, collections take a tenth of the time of a start, though the loaded modules stay.
    """
    gc.set_threshold(_NEW_OBJECTS, 10, 10)
