"""Tables of an instruction set that are data: TOML files, each beside the module that reads it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any


def table_beside(module: str) -> dict[str, Any]:
    """The table of the module with this file (`__file__`), which has its name and ends with `.toml`."""
    return tomllib.loads(Path(module).with_suffix(".toml").read_text("utf-8"))
