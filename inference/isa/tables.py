"""Tables of an instruction set, as TOML files beside the modules that read them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any


def table_of_module(module: str) -> dict[str, Any]:
    """The TOML file with the name of a module, from the module's `__file__`."""
    return tomllib.loads(Path(module).with_suffix(".toml").read_text("utf-8"))
