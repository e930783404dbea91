"""The fixtures themselves, which are tried here."""

from tests.rows.shared import *  # noqa: F403  pytest finds fixtures by their names here
