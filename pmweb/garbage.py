"""How often a process looks for garbage."""

from __future__ import annotations

import gc

_NEW_OBJECTS = 50_000


def look_seldom() -> None:
    """Less often than suits a program of few objects: what a start loads stays, and is much.

    Looking through it again and again while it is loaded takes a tenth of the time of a start.
    """
    gc.set_threshold(_NEW_OBJECTS, 10, 10)
