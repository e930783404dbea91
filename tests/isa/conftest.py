"""The x86-64 schemes by their texts, and the names in published files."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from django.conf import settings

from inference.isa.scheme import Scheme
from inference.isa.x86 import schemes


@pytest.fixture(scope="session")
def by_text() -> dict[str, Scheme]:
    return {scheme.text: scheme for scheme in schemes()}


@pytest.fixture
def shared_names() -> Callable[[str], list[str]]:
    """Reads the scheme names in a file of the published data; only for tests marked `shared`."""

    def read(relative: str) -> list[str]:
        content = (settings.SHARED / "data" / relative).read_text()
        if relative.endswith(".txt"):
            return [line.strip() for line in content.splitlines() if line.strip()]
        document = json.loads(content)
        return document["arch"]["insns"] if "arch" in document else list(document.get("data", document))

    return read
