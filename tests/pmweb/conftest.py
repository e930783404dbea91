"""Rows, a browser and programs that the tests of the site as a whole start from."""

from tests.rows.library import experiment_set, isa, mapping, visitor
from tests.rows.programs import program, reader, session

__all__ = ["experiment_set", "isa", "mapping", "program", "reader", "session", "visitor"]
