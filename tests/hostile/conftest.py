"""Rows and programs that hostile texts and files are tried on."""

from tests.rows.shared import *  # noqa: F403  pytest finds fixtures by their names here
