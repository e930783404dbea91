"""The examples in docstrings print what they say."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest
from django.conf import settings

ROOMS = ("pmweb", "inference", "anica_app")
FILES = (file for room in ROOMS for file in sorted((Path(settings.BASE_DIR) / room).rglob("*.py")))
MODULES = [
    ".".join(file.relative_to(settings.BASE_DIR).with_suffix("").parts).removesuffix(".__init__")
    for file in FILES
    if ">>> " in file.read_text()
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_print_what_they_say(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.attempted > 0
    assert outcome.failed == 0
