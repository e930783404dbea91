"""Rows and programs that hostile texts and files are tried on, and the process that reads texts."""

import pytest

from inference.web import code_reading
from tests.rows.shared import *  # noqa: F403  pytest finds fixtures by their names here


@pytest.fixture(autouse=True, scope="session")
def reader() -> None:
    """Start the process that reads pasted text before tests watch what is started."""
    code_reading.read("nop", 1)
