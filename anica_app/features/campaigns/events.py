"""Loads the events of a campaign's search."""

from anica_app.core.search import state

__all__ = ["state"]
