"""Loads the events of a campaign's search."""

from anica_app.core.search import events as search

__all__ = ["search"]
