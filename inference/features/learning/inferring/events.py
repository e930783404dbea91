"""Loads the events of the algorithms, each of which declares its own."""

from inference.core.cegar import events as cegar
from inference.core.explain import events as explain
from inference.core.pmevo import events as pmevo

__all__ = ["cegar", "explain", "pmevo"]
