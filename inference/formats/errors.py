"""What is wrong with a file, or with what shall become one, in words: what, where, what would be right."""

from __future__ import annotations


class ExchangeError(Exception):
    """Anything the exchange raises on purpose; `inference.storage.errors` draws the tree."""
