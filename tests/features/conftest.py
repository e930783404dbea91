"""Rows, programs and sites that the tests of features start from."""

from tests.rows.shared import *  # noqa: F403  pytest finds fixtures by their names here
