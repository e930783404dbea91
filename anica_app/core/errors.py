"""What can go wrong in a search for inconsistencies."""

from __future__ import annotations


class AnicaError(Exception):
    """Says what is wrong, where, and what would be right."""
