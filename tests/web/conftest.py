"""Rows that the tests of what doors share start from."""

from tests.rows.library import experiment_set, isa, mapping, visitor

__all__ = [
    "experiment_set",
    "isa",
    "mapping",
    "visitor",
]
