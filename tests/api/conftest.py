"""Rows and programs that the tests of the API start from."""

from tests.rows.shared import *  # noqa: F403  pytest finds fixtures by their names here
